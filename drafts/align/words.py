"""The words of a text's lines, where each stands, and how rare it is."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

from drafts.align.lines import Lines

_WORD: Final = re.compile(r"[A-Za-z0-9\x80-\U0010ffff]+|[^A-Za-z0-9\x80-\U0010ffff\s]")
_PARTED: Final = bytes(code if code >= 0x80 or chr(code).isalnum() or code == 0x0A else 0x20 for code in range(256))
"""What parts the words of UTF-8 as blanks, LF as it is."""


def words_of(lines: Iterable[str]) -> Counter[str]:
    """Runs of letters and digits, and single signs."""
    return Counter(_WORD.findall("\n".join(lines)))


class Words:
    """All of it is found when first asked for: where equal lines leave doubt."""

    def __init__(self, lines: Lines) -> None:
        self._text = lines
        self._rarities: dict[str, float] = {}

    @cached_property
    def _joined(self) -> str:
        return "\n".join(self._text.stripped)

    @cached_property
    def _places(self) -> dict[str, list[Sequence[int]]]:
        """For each word that is no sign, where each of the different lines that have it stands."""
        found: defaultdict[str, list[Sequence[int]]] = defaultdict(list)
        positions = self._text.positions
        joined = "\n".join(positions).encode("utf-8", "surrogatepass").translate(_PARTED)
        for line, where in zip(joined.decode("utf-8", "surrogatepass").split("\n"), positions.values(), strict=False):
            for word in set(line.split()):
                found[word].append(where)
        return dict(found)

    def lines(self, word: str, most: int) -> list[int]:
        """The lines that have a word, ascending; none for a sign, and for a word that more than `most` have."""
        places = self._places.get(word, ())
        return sorted(chain.from_iterable(places)) if sum(map(len, places)) <= most else []

    def rarity(self, word: str) -> float:
        """The word's information, in nats; most for one that the text does not have."""
        found = self._rarities.get(word)
        if found is None:
            size = len(self._text)
            count = sum(map(len, self._places.get(word, ()))) if word.isalnum() else self._joined.count(word)
            found = self._rarities[word] = math.log(1.5 * (size + 1) / min(max(count, 1), size + 1))
        return found

    def weigh(self, counter: Counter[str]) -> float:
        known = self._rarities
        return sum([(known.get(word) or self.rarity(word)) * count for word, count in counter.items()])

    def resemblance(self, one: Counter[str], other: Counter[str]) -> float:
        """The shared part of both, each word counting by its rarity: 0 to 1."""
        size = self.weigh(one) + self.weigh(other)
        shared = 0.0
        for word, count in one.items():
            others = other.get(word)
            if others is not None:
                shared += self.rarity(word) * min(count, others)
        return 2.0 * shared / size if size else 0.0
