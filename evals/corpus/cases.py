"""A record in one of the forms that its edit can take: what a run sends. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from drafts.align.plan import Edit
from evals.corpus.records import EditRecord
from evals.replay.forms import form_edit
from service.client import EditCall


@dataclass(frozen=True, slots=True)
class Case:
    """One edit in one form."""

    record: EditRecord
    form: str
    edit: Edit

    @property
    def id(self) -> str:
        """The record's: within one form it names the case."""
        return self.record.id

    def call(self) -> EditCall:
        """As a client sends it, without options."""
        record = self.record
        return EditCall(path=record.path, content=record.before, edit=self.edit, language=record.language)


def cases(records: Iterable[EditRecord], form: str, seed: int) -> tuple[list[Case], int]:
    """The cases of one form, in the records' order, and how many edits it cannot express."""
    found: list[Case] = []
    left_out = 0
    for record in records:
        edit = form_edit(record, form, seed)
        if edit is None:
            left_out += 1
        else:
            found.append(Case(record, form, edit))
    return found, left_out
