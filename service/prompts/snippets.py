"""Any edit as an update snippet: what models that know nothing but snippets are given."""

from __future__ import annotations

from drafts.align import (
    Instruction,
    Plan,
    SnippetPart,
    SnippetText,
    UpdateSnippet,
    marker_line,
    render_snippet,
    snippet_from_plan,
    split_snippet,
)
from service.errors import EditNotApplicable
from service.types import ApplyRequest

CONTEXT_LINES = 3
# At most this is the confidence of a plan of which a part found no place (see plan_edit).
_UNPLACED = 0.1


def snippet_parts(request: ApplyRequest, plan: Plan, *, prompt_format: str) -> list[SnippetPart]:
    """The edit as text and elisions: the caller's own snippet, or one made from the plan of a diff or of blocks.

    Raises EditNotApplicable for an instruction alone, and for a diff or blocks of which a part found no place: the
    model sees only what the plan placed, and must not be made to drop the rest unsaid.
    """
    edit = request.edit
    if isinstance(edit, Instruction):
        raise EditNotApplicable(
            f"the model's prompt format ({prompt_format}) applies update snippets, unified diffs and search/replace "
            "blocks, not an instruction alone; send the change itself, or serve an instruct model with prompt_format "
            '"chat"',
            reason="FORM_NOT_SUPPORTED_BY_MODEL",
        )
    if isinstance(edit, UpdateSnippet):
        return split_snippet(edit.text, request.file.text)
    parts = snippet_from_plan(request.file.text, plan, CONTEXT_LINES)
    if plan.confidence <= _UNPLACED or not any(isinstance(part, SnippetText) for part in parts):
        raise EditNotApplicable(
            "a part of the edit has no place in this file; make the edit against the text sent",
            reason="EDIT_NOT_PLACED",
        )
    return parts


def snippet_text(request: ApplyRequest, plan: Plan, *, prompt_format: str) -> str:
    """The same as one text, elisions as comments in the file's language; a caller's snippet stays as it was sent."""
    parts = snippet_parts(request, plan, prompt_format=prompt_format)
    if isinstance(request.edit, UpdateSnippet):
        return request.edit.text
    return render_snippet(parts, marker_line(request.file.language))
