"""Original lines that a changed line may replace: those that share its rarer words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from drafts.align.indentation import definition_name
from drafts.align.lines import Lines
from drafts.align.words import Words, words_of

_WIDE = 64
"""Words in more lines than this do not nominate candidates; they still count in the comparison."""
_LIMIT = 8
_THRESHOLD = 0.56
_RENAMED = 0.85
"""A definition with another name is more often a new one than a renamed one."""


def similar_lines(
    original: Lines, snippet: Lines, words: Words, wanted: Iterable[int], *, same_name: float = 1.0
) -> dict[int, list[tuple[int, float]]]:
    """For each wanted snippet line, up to 8 original lines that resemble it, ascending: (line, how much).

    Resemblance is the shared part of both lines' words, each word counting by its rarity in the original: 0
    to 1, and `same_name` for a definition of the same name.
    """
    lines = list(wanted)
    if not lines:
        return {}
    found: dict[int, list[tuple[int, float]]] = {}
    for index in lines:
        mine = words_of([snippet.stripped[index]])
        size = words.weigh(mine)
        nominees: Counter[int] = Counter()
        for word in mine:
            places = words.where.get(word, ())
            if len(places) <= _WIDE:
                for place in places:
                    nominees[place] += 1
        name = definition_name(snippet.stripped[index])
        ranked: list[tuple[float, int]] = []
        for place, _ in nominees.most_common(4 * _LIMIT):
            shared = sum(
                words.rarity[word] * min(count, words.lines[place][word])
                for word, count in mine.items()
                if word in words.rarity
            )
            total = size + words.sizes[place]
            alike = 2.0 * shared / total if total else 0.0
            if name is not None and definition_name(original.stripped[place]) == name:
                alike = same_name
            if alike >= (_THRESHOLD if name is None else _RENAMED):
                ranked.append((-alike, place))
        found[index] = sorted((place, -alike) for alike, place in sorted(ranked)[:_LIMIT])
    return found
