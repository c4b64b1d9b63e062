"""Original lines that a changed line may replace: those that share its rarer words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from drafts.align.indentation import definition_name
from drafts.align.lines import Lines
from drafts.align.words import Words, words_of

_WIDE = 64
"""Words in more lines than this do not nominate candidates; they still count in the comparison."""
_LIMIT = 8
_THRESHOLD = 0.56
_RENAMED = 0.85
"""A definition with another name is more often a new one than a renamed one."""


class Similar:
    """For a snippet line, up to 8 original lines that resemble it, ascending: (line, how much).

    Resemblance is the shared part of both lines' words, each word counting by its rarity in the original: 0 to 1, and
    `same_name` for a definition of the same name. Found when first asked for.
    """

    def __init__(self, original: Lines, snippet: Lines, words: Words, same_name: float = 1.0) -> None:
        self.original, self.snippet, self.words, self.same_name = original, snippet, words, same_name
        self._found: dict[int, Sequence[tuple[int, float]]] = {}

    def lines(self, index: int) -> Sequence[tuple[int, float]]:
        """None for a line that stands in the original."""
        found = self._found.get(index)
        if found is None:
            stripped = self.snippet.stripped[index]
            found = self._search(stripped) if stripped and stripped not in self.original.positions else ()
            self._found[index] = found
        return found

    def _search(self, line: str) -> Sequence[tuple[int, float]]:
        words = self.words
        mine = words_of([line])
        nominees: Counter[int] = Counter()
        for word in mine:
            nominees.update(words.lines(word, _WIDE))
        name = definition_name(line)
        ranked: list[tuple[float, int]] = []
        for place, _ in nominees.most_common(4 * _LIMIT):
            alike = words.resemblance(mine, words_of([self.original.stripped[place]]))
            if name is not None and definition_name(self.original.stripped[place]) == name:
                alike = self.same_name
            if alike >= (_THRESHOLD if name is None else _RENAMED):
                ranked.append((-alike, place))
        return sorted((place, -alike) for alike, place in sorted(ranked)[:_LIMIT])
