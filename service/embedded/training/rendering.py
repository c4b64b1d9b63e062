"""How changes of a file become an update snippet: hunks with context, an elision wherever lines are left out."""

from __future__ import annotations

import difflib
import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """Lines [start, end) of the original are replaced by `lines`."""

    start: int
    end: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RenderedEdit:
    """pieces: the snippet's; an elision stands between two, before the first or after the last when flagged."""

    before: str
    after: str
    pieces: tuple[str, ...]
    elided_start: bool
    elided_end: bool


def text_lines(text: str) -> list[str]:
    """Without their ends; a final newline ends the last line and starts none."""
    return text.removesuffix("\n").split("\n")


def applied(lines: Sequence[str], changes: Sequence[Change]) -> list[str]:
    """The result of changes that are in order and do not overlap."""
    result: list[str] = []
    done = 0
    for change in changes:
        result += [*lines[done : change.start], *change.lines]
        done = change.end
    return [*result, *lines[done:]]


def changes_between(before: Sequence[str], after: Sequence[str]) -> list[Change]:
    """In order, at least one unchanged line apart."""
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [Change(start, end, tuple(after[low:high])) for tag, start, end, low, high in codes if tag != "equal"]


def changed_share(lines: Sequence[str], changes: Sequence[Change]) -> float:
    """Lines removed and added, over the lines of both versions: 0 for the same, 1 for nothing in common."""
    removed = sum(change.end - change.start for change in changes)
    added = sum(len(change.lines) for change in changes)
    return (removed + added) / max(1, 2 * len(lines) - removed + added)


def render(rng: random.Random, lines: Sequence[str], changes: Sequence[Change]) -> RenderedEdit:
    """With one to six lines of context, mostly three. The result must have a line."""
    after = applied(lines, changes)
    context = rng.choices((1, 2, 3, 4, 6), (1, 3, 8, 2, 1))[0]
    shown: list[list[int]] = []  # half-open ranges of lines of the result
    shift = 0
    for change in changes:
        start = change.start + shift
        end = start + len(change.lines)
        shift += len(change.lines) - (change.end - change.start)
        low, high = max(0, start - context), min(len(after), end + context)
        if rng.random() < 0.15:
            low = max(0, low - rng.randint(1, 5))
        if shown and low <= shown[-1][1]:
            shown[-1][1] = max(high, shown[-1][1])
        else:
            shown.append([low, high])
    if rng.random() < 0.15:
        shown = _with_headings(after, shown)
    pieces = tuple("\n".join(after[low:high]) for low, high in shown)
    ending = "\n" if rng.random() < 0.9 else ""
    return RenderedEdit(
        before="\n".join(lines) + ending,
        after="\n".join(after) + ending,
        pieces=pieces if shown[-1][1] < len(after) else (*pieces[:-1], pieces[-1] + ending),
        elided_start=shown[0][0] > 0,
        elided_end=shown[-1][1] < len(after),
    )


def _with_headings(lines: list[str], shown: list[list[int]]) -> list[list[int]]:
    """Adds the line that opens the enclosing block before each range, where it is not shown already."""
    result: list[list[int]] = []
    for low, high in shown:
        depth = _depth(lines[low])
        for i in range(low - 1, result[-1][1] if result else -1, -1):
            if lines[i].strip() and _depth(lines[i]) < depth:
                if i < low - 1:
                    result.append([i, i + 1])
                break
        result.append([low, high])
    return result


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
