"""Original lines that a changed line may replace: those that share its rarer words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from drafts.align.indentation import definition_name
from drafts.align.lines import Lines

_WORD = re.compile(r"[A-Za-z]+|\d+|[^\W\da-zA-Z]+|[^\w\s]")
_WIDE = 64
"""Words in more lines than this do not nominate candidates; they still count in the comparison."""
_LIMIT = 8
_THRESHOLD = 0.56
_RENAMED = 0.85
"""A definition with another name is more often a new one than a renamed one."""


def similar_lines(
    original: Lines, snippet: Lines, wanted: Iterable[int], *, same_name: float = 1.0
) -> dict[int, list[tuple[int, float]]]:
    """For each wanted snippet line, up to 8 original lines that resemble it, ascending: (line, how much).

    Resemblance is the shared part of both lines' words, each word counting by its rarity in the original: 0
    to 1, and `same_name` for a definition of the same name.
    """
    lines = list(wanted)
    if not lines:
        return {}
    words = [Counter(_WORD.findall(line)) for line in original.stripped]
    where: dict[str, list[int]] = {}
    for index, counter in enumerate(words):
        for word in counter:
            where.setdefault(word, []).append(index)
    total = len(original) + 1
    rarity = {word: math.log(1.5 * total / len(found)) for word, found in where.items()}
    unknown = math.log(1.5 * total)
    sizes = [sum(rarity[word] * count for word, count in counter.items()) for counter in words]
    found: dict[int, list[tuple[int, float]]] = {}
    for index in lines:
        mine = Counter(_WORD.findall(snippet.stripped[index]))
        size = sum(rarity.get(word, unknown) * count for word, count in mine.items())
        nominees: Counter[int] = Counter()
        for word in mine:
            places = where.get(word, ())
            if len(places) <= _WIDE:
                for place in places:
                    nominees[place] += 1
        name = definition_name(snippet.stripped[index])
        ranked: list[tuple[float, int]] = []
        for place, _ in nominees.most_common(4 * _LIMIT):
            shared = sum(
                rarity[word] * min(count, words[place][word]) for word, count in mine.items() if word in rarity
            )
            alike = 2.0 * shared / (size + sizes[place]) if size + sizes[place] else 0.0
            if name is not None and definition_name(original.stripped[place]) == name:
                alike = same_name
            if alike >= (_THRESHOLD if name is None else _RENAMED):
                ranked.append((-alike, place))
        found[index] = sorted((place, -alike) for alike, place in sorted(ranked)[:_LIMIT])
    return found
