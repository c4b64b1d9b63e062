"""The words of a text's lines, where each stands, and how rare it is."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property

from drafts.align.lines import Lines

_WORD = re.compile(r"[A-Za-z]+|\d+|[^\W\da-zA-Z]+|[^\w\s]")


def words_of(lines: Iterable[str]) -> Counter[str]:
    """Runs of letters, runs of digits, and single signs."""
    return Counter(_WORD.findall("\n".join(lines)))


class Words:
    """All of it is found when first asked for: where equal lines leave doubt. It costs more than the rest."""

    def __init__(self, lines: Lines) -> None:
        self._text = lines
        self.unknown = math.log(1.5 * (len(lines) + 1))
        """The rarity of a word that the text does not have."""

    @cached_property
    def where(self) -> dict[str, list[int]]:
        """The lines that have a word, ascending."""
        found: dict[str, list[int]] = {}
        find = _WORD.findall
        for index, line in enumerate(self._text.stripped):
            for word in set(find(line)):
                if word in found:
                    found[word].append(index)
                else:
                    found[word] = [index]
        return found

    @cached_property
    def rarity(self) -> dict[str, float]:
        total = 1.5 * (len(self._text) + 1)
        return {word: math.log(total / len(found)) for word, found in self.where.items()}

    def weigh(self, counter: Counter[str]) -> float:
        rarity, unknown = self.rarity, self.unknown
        return sum(rarity.get(word, unknown) * count for word, count in counter.items())

    def resemblance(self, one: Counter[str], other: Counter[str]) -> float:
        """The shared part of both, each word counting by its rarity: 0 to 1."""
        size = self.weigh(one) + self.weigh(other)
        rarity, unknown = self.rarity, self.unknown
        shared = sum(
            rarity.get(word, unknown) * min(count, other[word]) for word, count in one.items() if word in other
        )
        return 2.0 * shared / size if size else 0.0
