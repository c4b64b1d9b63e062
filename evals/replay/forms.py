"""The forms of edit that are replayed, by name."""

from __future__ import annotations

from typing import Final

from drafts.align.plan import Edit, Instruction, UnifiedDiff, UpdateSnippet
from evals.corpus.records import EditRecord
from evals.forms import search_replace, unified_diff, update_snippet

FORMS: Final = ("update", "update-1", "update-0", "diff", "search-replace", "instruction")
"""update: a snippet with 3 lines of context around each change; update-1, update-0: with 1 and with none."""

_ALIASES: Final = {"update-3": "update", "blocks": "search-replace"}
_CONTEXT: Final = {"update": 3, "update-1": 1, "update-0": 0}


class UnknownFormError(ValueError):
    """No form has this name; the message lists the names there are."""


def parse_forms(names: str) -> tuple[str, ...]:
    """Comma-separated names, each once. Raises UnknownFormError."""
    forms = tuple(dict.fromkeys(_ALIASES.get(name.strip(), name.strip()) for name in names.split(",")))
    unknown = [form for form in forms if form not in FORMS]
    if unknown:
        raise UnknownFormError(f"there is no form {', '.join(map(repr, unknown))}; use {', '.join(FORMS)}")
    return forms


def form_edit(record: EditRecord, form: str, seed: int) -> Edit | None:
    """The record's edit in that form; None when the form cannot express it."""
    before, after = lf(record.before), lf(record.after)
    match form:
        case "diff":
            diff = unified_diff(before, after, record.path)
            return None if diff is None else UnifiedDiff(diff)
        case "search-replace":
            return search_replace(before, after)
        case "instruction":
            return Instruction(record.instruction) if record.instruction.strip() else None
        case _:
            snippet = update_snippet(before, after, record.language, _CONTEXT[form], seed)
            return None if snippet is None else UpdateSnippet(snippet)


def lf(text: str) -> str:
    """As models see a file's text: no byte-order mark, LF line ends."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")
