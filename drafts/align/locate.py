"""Finding a block of lines in a text: exactly, else but for blanks, else by most of its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drafts.align.candidates import Segment
from drafts.align.evidence import Evidence
from drafts.align.lines import Lines, indent_of
from drafts.align.place import place
from drafts.align.words import Words


@dataclass(frozen=True, slots=True)
class Located:
    """Where a block was found: the text's lines [start, end).

    matches[i]: the line that the block's line i stands for, or -1 when it has none.
    confidence: how sure the place is. exact: every line equal, blanks included.
    """

    start: int
    end: int
    matches: tuple[int, ...]
    confidence: float
    exact: bool


def locate(
    text: Lines, block: Sequence[str], low: int = 0, hint: int | None = None, *, after: int = 0
) -> Located | None:
    """The best place of `block` at or after line `low`; None: not found.

    Of several equal places it is the one nearest to `hint`, which is trusted when it is one of them; without a hint the
    first at or after line `after`, or else the first.
    """
    if not block:
        return None
    for found, base in ((_exact(text, block, low), 1.0), (_loose(text, block, low), 0.85)):
        if found:
            if hint is None:
                start = next((at for at in found if at >= after), found[0])
            else:
                start = min(found, key=lambda at: (abs(at - hint), at))
            confidence = base if len(found) == 1 or start == hint else base * 0.6
            matches = tuple(range(start, start + len(block)))
            return Located(start, start + len(block), matches, confidence, base == 1.0)
    return _by_most_lines(text, block, low)


def shift_of(text: Lines, block: Sequence[str], matches: Sequence[int]) -> tuple[str, str] | None:
    """The indentation prefix to cut from the block's lines and the one to put there, when all matches agree on it."""
    shift: tuple[str, str] | None = None
    for line, match in zip(block, matches, strict=True):
        if match < 0 or not line.strip():
            continue
        here, there = indent_of(line), indent_of(text.contents[match])
        if there.endswith(here):
            found = ("", there[: len(there) - len(here)])
        elif here.endswith(there):
            found = (here[: len(here) - len(there)], "")
        else:
            found = (here, there)
        if shift is not None and found != shift:
            return None
        shift = found
    return shift


def indents_of(text: Lines, block: Sequence[str], matches: Sequence[int]) -> dict[str, str]:
    """What indentation of the text stands for which of the block's, where they are one for one."""
    found: dict[str, str] = {}
    for line, match in zip(block, matches, strict=True):
        if match >= 0 and line.strip():
            here, there = indent_of(line), indent_of(text.contents[match])
            if found.setdefault(here, there) != there:
                return {}
    return found


def reindent(line: str, shift: tuple[str, str] | None) -> str:
    """Apply a shift to one line; a line that does not have the prefix to cut stays as it is."""
    if shift is None or not line.strip():
        return line
    cut, put = shift
    return put + line[len(cut) :] if line.startswith(cut) else line


def find_all(text: Lines, block: Sequence[str]) -> list[int]:
    """Every line of the text where `block` stands exactly."""
    return _find_all(text.contents, block, 0)


def _exact(text: Lines, block: Sequence[str], low: int) -> list[int]:
    return _find_all(text.contents, block, low)


def _loose(text: Lines, block: Sequence[str], low: int) -> list[int]:
    return _find_all(text.stripped, [line.strip() for line in block], low)


def _find_all(lines: Sequence[str], block: Sequence[str], low: int) -> list[int]:
    """Every start at or after `low` where `lines` has `block`, found by substring search."""
    if len(lines) - low < len(block):
        return []
    haystack = "\n" + "\n".join(lines[low:]) + "\n"
    needle = "\n" + "\n".join(block) + "\n"
    found: list[int] = []
    line = low
    position = 0
    while (at := haystack.find(needle, position)) >= 0:
        line += haystack.count("\n", position, at)
        found.append(line)
        line, position = line + 1, at + 1
    return found


def _by_most_lines(text: Lines, block: Sequence[str], low: int) -> Located | None:
    """Accept a place that explains most of the block's telling lines in few lines of the text."""
    window = Lines(text.contents[low:], True)
    lines = Lines(tuple(block), True)
    filled = [index for index, line in enumerate(lines.stripped) if line]
    if not filled or not len(window):
        return None
    placement = place([Segment(0, len(block), True, True)], Evidence(window, lines, None, Words(window)))
    matched = [index for index in filled if placement.matches[index] >= 0]
    if placement.ends[0] is None:
        return None
    start, end = placement.ends[0]
    share = len(matched) / len(filled)
    if share < 0.6 or end - start > 2 * len(block) + 4:
        return None
    told = sum(window.weight(lines.stripped[index]) for index in matched)
    if told < 0.5:
        return None
    matches = tuple(match + low if match >= 0 else -1 for match in placement.matches)
    return Located(start + low, end + low, matches, 0.6 * share, False)
