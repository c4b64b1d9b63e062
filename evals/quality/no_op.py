"""Edits that change nothing: the service must give the same bytes back. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from drafts.align.plan import Edit, SearchReplace, SearchReplaceBlock, UpdateSnippet
from evals.corpus.records import EditRecord
from evals.corpus.selection import turn
from evals.replay.forms import form_edit, lf

_STAND_IN: Final = "\x00redraft\x00"


def no_op_edit(record: EditRecord, form: str, seed: int) -> Edit | None:
    """An edit in that form that shows some lines of the file as they are. None where the form cannot say that: a
    diff that changes nothing is empty, and an instruction to change nothing is no edit at all.

    It is made as an edit of one line would be, with that line put back.
    """
    lines = lf(record.before).split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if not filled or _STAND_IN in record.before:
        return None
    chosen = filled[int.from_bytes(turn(seed, record.id)[:8]) % len(filled)]
    line = lines[chosen]
    lines[chosen] = line + _STAND_IN
    edit = form_edit(replace(record, after="\n".join(lines)), form, seed)
    match edit:
        case UpdateSnippet(text):
            return UpdateSnippet(text.replace(_STAND_IN, ""))
        case SearchReplace(blocks):
            return SearchReplace(
                tuple(SearchReplaceBlock(block.search, block.replace.replace(_STAND_IN, "")) for block in blocks)
            )
        case _:
            return None
