"""Texts as lines: byte offsets, the two equalities of lines, and how much a line says about its place."""

from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

TAB_WIDTH = 4


def byte_length(text: str) -> int:
    """Length in UTF-8. A lone surrogate, which no real text has, counts as the three bytes it would take."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def indent_width(line: str) -> int:
    """Columns of leading blanks, a tab counting as TAB_WIDTH."""
    blanks = len(line) - len(line.lstrip(" \t"))
    return len(line[:blanks].expandtabs(TAB_WIDTH)) if "\t" in line[:blanks] else blanks


@dataclass(frozen=True)
class Lines:
    """A text as its lines, without their LF. Only LF ends a line.

    `text` is the lines joined by LF, plus one LF when `final_newline`.
    """

    contents: tuple[str, ...]
    final_newline: bool

    @classmethod
    def of(cls, text: str) -> Lines:
        if not text:
            return cls((), False)
        parts = text.split("\n")
        if parts[-1]:
            return cls(tuple(parts), False)
        return cls(tuple(parts[:-1]), True)

    def __len__(self) -> int:
        return len(self.contents)

    @cached_property
    def stripped(self) -> tuple[str, ...]:
        return tuple(map(str.strip, self.contents))

    @cached_property
    def indents(self) -> tuple[int | None, ...]:
        """Indentation width of each line, None for a blank one."""
        return tuple(
            indent_width(line) if stripped else None
            for line, stripped in zip(self.contents, self.stripped, strict=True)
        )

    @cached_property
    def offsets(self) -> list[int]:
        """Byte offset of the start of each line, and of the end of the text."""
        measure = len if all(map(str.isascii, self.contents)) else byte_length
        sizes = [measure(line) + 1 for line in self.contents]
        if sizes and not self.final_newline:
            sizes[-1] -= 1
        return [0, *itertools.accumulate(sizes)]

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        """Where each stripped line occurs, in ascending order."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for index, line in enumerate(self.stripped):
            found[line].append(index)
        return dict(found)

    def places(self, block: tuple[str, ...]) -> list[int]:
        """Where the lines of a block, at least one, stand one after the other as they are; ascending."""
        contents, size = self.contents, len(block)
        return [at for at in self.positions.get(block[0].strip(), ()) if contents[at : at + size] == block]

    def weight(self, stripped: str) -> float:
        """How much it says that a stripped line matches: about 1 for a unique line, little for a common brace."""
        found = self.positions.get(stripped)
        return 0.0 if found is None else _weight(stripped, len(found))


def _weight(line: str, count: int) -> float:
    if not line:
        return 0.06 + 0.1 / math.sqrt(count)
    words = sum(1 for character in line if character.isalnum())
    base = 0.35 if words == 0 else min(1.0, 0.55 + 0.05 * words)
    return base * (0.25 + 0.75 / math.sqrt(count))


def matching_blocks(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """Runs (old start, new start, length) that two sequences share, in order, found in about linear time.

    The common ends first, then lines that are unique on both sides (patience), then within each gap the same
    again; a gap without unique lines is compared line by line when it is small and left unmatched when it is not.
    """
    blocks: list[tuple[int, int, int]] = []
    stack = [(0, len(old), 0, len(new))]
    while stack:
        old_low, old_high, new_low, new_high = stack.pop()
        size = 0
        limit = min(old_high - old_low, new_high - new_low)
        while size < limit and old[old_low + size] == new[new_low + size]:
            size += 1
        if size:
            blocks.append((old_low, new_low, size))
            old_low, new_low = old_low + size, new_low + size
        size, limit = 0, limit - size
        while size < limit and old[old_high - 1 - size] == new[new_high - 1 - size]:
            size += 1
        if size:
            blocks.append((old_high - size, new_high - size, size))
            old_high, new_high = old_high - size, new_high - size
        if old_low == old_high or new_low == new_high:
            continue
        anchors = _unique_anchors(old, new, old_low, old_high, new_low, new_high)
        if anchors:
            edges = [(old_low - 1, new_low - 1), *anchors, (old_high, new_high)]
            for (left_old, left_new), (right_old, right_new) in itertools.pairwise(edges):
                stack.append((left_old + 1, right_old, left_new + 1, right_new))
            blocks.extend((anchor_old, anchor_new, 1) for anchor_old, anchor_new in anchors)
        elif (old_high - old_low) * (new_high - new_low) <= _SMALL_GAP:
            blocks.extend(_longest_common(old, new, old_low, old_high, new_low, new_high))
    return _merge(sorted(blocks))


_SMALL_GAP = 40_000


def _merge(blocks: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    merged: list[tuple[int, int, int]] = []
    for old, new, size in blocks:
        if merged:
            last_old, last_new, last_size = merged[-1]
            if last_old + last_size == old and last_new + last_size == new:
                merged[-1] = (last_old, last_new, last_size + size)
                continue
        merged.append((old, new, size))
    return merged


def _unique_anchors(
    old: Sequence[str], new: Sequence[str], old_low: int, old_high: int, new_low: int, new_high: int
) -> list[tuple[int, int]]:
    old_counts = Counter(old[old_low:old_high])
    new_counts = Counter(new[new_low:new_high])
    where = {line: index for index, line in enumerate(old[old_low:old_high], old_low) if old_counts[line] == 1}
    pairs = [
        (where[line], index)
        for index, line in enumerate(new[new_low:new_high], new_low)
        if new_counts[line] == 1 and line in where and line.strip()
    ]
    return longest_increasing(pairs)


def longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs, given in the order of their second part, whose first parts ascend."""
    tails: list[int] = []
    tail_pairs: list[int] = []
    previous: list[int] = []
    for index, (position, _) in enumerate(pairs):
        slot = bisect.bisect_left(tails, position)
        previous.append(tail_pairs[slot - 1] if slot else -1)
        if slot == len(tails):
            tails.append(position)
            tail_pairs.append(index)
        else:
            tails[slot], tail_pairs[slot] = position, index
    chosen: list[tuple[int, int]] = []
    index = tail_pairs[-1] if tail_pairs else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = previous[index]
    return chosen[::-1]


def _longest_common(
    old: Sequence[str], new: Sequence[str], old_low: int, old_high: int, new_low: int, new_high: int
) -> list[tuple[int, int, int]]:
    """Longest common subsequence of a small gap, by the textbook table."""
    rows, columns = old_high - old_low, new_high - new_low
    table = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows - 1, -1, -1):
        line, below, here = old[old_low + row], table[row + 1], table[row]
        for column in range(columns - 1, -1, -1):
            here[column] = (
                below[column + 1] + 1 if line == new[new_low + column] else max(below[column], here[column + 1])
            )
    blocks: list[tuple[int, int, int]] = []
    row = column = 0
    while row < rows and column < columns:
        if old[old_low + row] == new[new_low + column]:
            blocks.append((old_low + row, new_low + column, 1))
            row, column = row + 1, column + 1
        elif table[row + 1][column] >= table[row][column + 1]:
            row += 1
        else:
            column += 1
    return blocks
