"""A record in one of the forms that its edit can take: what a run sends. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from drafts.align.plan import Edit, Instruction, UnifiedDiff, UpdateSnippet
from evals.corpus.records import EditRecord
from evals.forms import search_replace, unified_diff, update_snippet
from service.client import EditCall

FORMS: Final = ("update", "diff", "search-replace", "instruction")
_CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True)
class Case:
    """One edit in one form."""

    record: EditRecord
    form: str
    edit: Edit

    @property
    def id(self) -> str:
        return f"{self.record.id} [{self.form}]"

    def call(self) -> EditCall:
        """As a client sends it, without options."""
        record = self.record
        return EditCall(path=record.path, content=record.before, edit=self.edit, language=record.language)


def parse_forms(names: str) -> tuple[str, ...]:
    """Comma-separated names, each once. Raises ValueError, which lists those there are."""
    forms = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    unknown = [form for form in forms if form not in FORMS]
    if unknown or not forms:
        raise ValueError(f"there is no form {', '.join(map(repr, unknown)) or repr(names)}; use {', '.join(FORMS)}")
    return forms


def derive(record: EditRecord, form: str, seed: int) -> Edit | None:
    """The record's edit in that form; None when the form cannot express it."""
    before, after = lf(record.before), lf(record.after)
    match form:
        case "update":
            snippet = update_snippet(before, after, record.language, _CONTEXT_LINES, seed)
            return None if snippet is None else UpdateSnippet(snippet)
        case "diff":
            diff = unified_diff(before, after, record.path, _CONTEXT_LINES)
            return None if diff is None else UnifiedDiff(diff)
        case "search-replace":
            return search_replace(before, after)
        case "instruction":
            return Instruction(record.instruction) if record.instruction.strip() else None
    raise ValueError(f"there is no form {form!r}; use {', '.join(FORMS)}")


def cases(records: Iterable[EditRecord], form: str, seed: int) -> tuple[list[Case], int]:
    """The cases of one form, in the records' order, and how many edits it cannot express."""
    found: list[Case] = []
    left_out = 0
    for record in records:
        edit = derive(record, form, seed)
        if edit is None:
            left_out += 1
        else:
            found.append(Case(record, form, edit))
    return found, left_out


def lf(text: str) -> str:
    """As models see a file's text: no byte-order mark, LF line ends."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")
