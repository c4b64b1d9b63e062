"""Applying one hunk (context, removed and added lines) to a text at the place where its old lines were found."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from drafts.align.lines import Lines, indent_of, matching_blocks
from drafts.align.locate import Located, indents_of, reindent, shift_of


class Op(enum.Enum):
    CONTEXT = " "
    REMOVE = "-"
    ADD = "+"


@dataclass(frozen=True, slots=True)
class HunkLine:
    op: Op
    text: str


def old_lines(hunk: Sequence[HunkLine]) -> list[str]:
    return [line.text for line in hunk if line.op is not Op.ADD]


def hunk_between(search: Sequence[str], replace: Sequence[str]) -> list[HunkLine]:
    """The hunk that turns `search` into `replace`; lines in both are context."""
    hunk: list[HunkLine] = []
    old = new = 0
    for block_old, block_new, size in [*matching_blocks(search, replace), (len(search), len(replace), 0)]:
        hunk.extend(HunkLine(Op.REMOVE, line) for line in search[old:block_old])
        hunk.extend(HunkLine(Op.ADD, line) for line in replace[new:block_new])
        hunk.extend(HunkLine(Op.CONTEXT, line) for line in search[block_old : block_old + size])
        old, new = block_old + size, block_new + size
    return hunk


def apply_hunk(text: Lines, hunk: Sequence[HunkLine], found: Located) -> list[tuple[str, int]]:
    """What the text's lines [found.start, found.end) become: (line, its line in the text, or -1 for a new one).

    Context keeps the text's own bytes. Lines of the text between two matched ones that the hunk does not know
    (drifted context) stay, unless the hunk removes a line there that it could not find.
    """
    shift = None if found.exact else shift_of(text, old_lines(hunk), found.matches)
    indents = {} if found.exact or shift is not None else indents_of(text, old_lines(hunk), found.matches)
    result: list[tuple[str, int]] = []
    position = found.start
    number = 0
    missing_removed = False
    for line in hunk:
        if line.op is Op.ADD:
            indent = indent_of(line.text)
            own = indents.get(indent, indent) + line.text[len(indent) :]
            result.append((reindent(own, shift) if line.text.strip() else line.text, -1))
            continue
        match = found.matches[number]
        number += 1
        if match < 0:
            missing_removed = missing_removed or line.op is Op.REMOVE
            continue
        if not missing_removed:
            added = _pop_trailing_new(result) if position < match else []
            result.extend((text.contents[k], k) for k in range(position, match))
            result.extend(added)
        if line.op is Op.CONTEXT:
            result.append((text.contents[match], match))
        position, missing_removed = match + 1, False
    if not missing_removed:
        result.extend((text.contents[k], k) for k in range(position, found.end))
    return result


def _pop_trailing_new(result: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Take added lines back, so that drifted lines that stay come before them."""
    popped: list[tuple[str, int]] = []
    while result and result[-1][1] < 0:
        popped.insert(0, result.pop())
    return popped
