"""Any instruct model, by its chat template: the answer is one fenced block that holds the whole file."""

from __future__ import annotations

import re
from pathlib import Path

from drafts.align.plan import Edit, Instruction, Plan, SearchReplace, UnifiedDiff, UpdateSnippet
from service.prompts.base import Answer, RenderedPrompt, TokenSpan, expect
from service.prompts.chat_template import ChatTemplate, Slot
from service.prompts.cutters import Fenced
from service.text_stream import TextStream
from service.types import ApplyRequest

_INFO = re.compile(r"[A-Za-z0-9+#_.-]+")
_SYSTEM = "You apply edits to files. You answer with the whole edited file and nothing else."
_FORM = {
    UpdateSnippet: (
        "The edit is a snippet of the edited file. A line such as `... existing code ...` in it stands for lines of "
        "the file that stay as they are; it must not appear in your answer."
    ),
    UnifiedDiff: "The edit is a unified diff. Its line numbers may be wrong: go by its text.",
    SearchReplace: "The edit is a list of blocks: replace the text of each SEARCH part by its REPLACE part, in order.",
}


class ChatFormat:
    """All forms of edit. The fence is longer than any run of backticks in the file, the edit and the instruction."""

    def __init__(self, template: ChatTemplate) -> None:
        self._template = template

    @classmethod
    def load(cls, model_path: Path) -> ChatFormat:
        return cls(ChatTemplate.load(model_path))

    def render(self, request: ApplyRequest, plan: Plan) -> RenderedPrompt:
        file, edit = request.file, edit_text(request.edit)
        instruction = request.edit.text if isinstance(request.edit, Instruction) else request.instruction
        fence = "`" * _fence_length(file.text, edit, instruction, file.path, nested=file.language == "markdown")
        opening = fence + (file.language if _INFO.fullmatch(file.language) else "") + "\n"
        message: list[str | Slot] = ["Here is the file ", Slot("path", file.path), ":\n\n", opening]
        message += [Slot("original", file.text), _line_break_after(file.text), fence, "\n\n"]
        form = _FORM.get(type(request.edit))
        if form is not None:
            message += [form, "\n\n", fence, "\n", Slot("edit", edit), _line_break_after(edit), fence, "\n\n"]
        if instruction:
            message += ["What the edit is to do: ", Slot("instruction", instruction), "\n\n"]
        message += [
            "Apply the edit. Keep every other line exactly as it is. Answer with the whole edited file in one code "
            f"block that opens and closes with a line of {len(fence)} backticks, and write nothing before or after it."
        ]
        token_ids, spans = self._template.render(message, system=_SYSTEM)
        tokenizer, stop = self._template.tokenizer, self._template.stop_token_ids
        predicted, minimum = plan.predicted, len(fence)
        suffix = _line_break_after(predicted) + fence
        return RenderedPrompt(
            token_ids=token_ids,
            original=spans["original"],
            edit=spans.get("edit", TokenSpan(spans["original"].end, spans["original"].end)),
            stop_token_ids=stop,
            expected=expect(tokenizer, plan, request.file.language, end_token=stop[0], prefix=opening, suffix=suffix),
            new_answer=lambda: Answer(TextStream(tokenizer), Fenced(minimum, predicted)),
        )


def edit_text(edit: Edit) -> str:
    """The edit as the model reads it; empty for an instruction, which has a place of its own."""
    if isinstance(edit, SearchReplace):
        return "".join(
            f"<<<<<<< SEARCH\n{_closed(block.search)}=======\n{_closed(block.replace)}>>>>>>> REPLACE\n"
            for block in edit.blocks
        )
    return "" if isinstance(edit, Instruction) else edit.text


def _closed(text: str) -> str:
    return text + _line_break_after(text) if text else text


def _line_break_after(text: str) -> str:
    """What is missing for the next line to begin on its own."""
    return "" if text.endswith("\n") else "\n"


def _fence_length(*texts: str, nested: bool) -> int:
    """One more than the longest run of backticks; 3 at least, 4 where new fences are likely to be written."""
    longest = max((len(run) for text in texts for run in re.findall("`+", text)), default=0)
    return max(4 if nested else 3, longest + 1)
