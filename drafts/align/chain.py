"""The best chain of candidates, one a segment or none, whose ranges follow each other."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from drafts.align.candidates import Candidate
from drafts.align.evidence import NO_ELISION, UNPLACED

_NEVER = float("-inf")
_FAR = 8.0
"""Rivals this much worse do not count."""


class _Front:
    """Scores by position, of which the best up to a position counts. Positions ascend."""

    def __init__(self, entries: Sequence[tuple[int, float]]) -> None:
        self.at: list[int] = []
        self.score: list[float] = []
        self.best: list[float] = []
        self.where: list[int] = []
        """For each entry, the index of the best one up to it."""
        for at, score in sorted(entries):
            self.at.append(at)
            self.score.append(score)
            better = not self.best or score > self.best[-1]
            self.best.append(score if better else self.best[-1])
            self.where.append(len(self.at) - 1 if better else self.where[-1])

    def upto(self, at: int, touching: float) -> tuple[float, int]:
        """The best score at or before a position, less `touching` where it is at the position; and its entry's own."""
        before, until = bisect_left(self.at, at), bisect_right(self.at, at)
        score, place = (self.best[before - 1], self.at[self.where[before - 1]]) if before else (_NEVER, -1)
        for index in range(before, until):
            if self.score[index] - touching > score:
                score, place = self.score[index] - touching, at
        return score, place


class Chain:
    """choices[i]: the candidates of segment i, in any order. Leaving a segment without a place costs."""

    def __init__(self, choices: Sequence[Sequence[Candidate]]) -> None:
        self.choices = choices
        self.before = self._fronts(range(len(choices)), forward=True)
        self.after = self._fronts(range(len(choices) - 1, -1, -1), forward=False)

    def _fronts(self, order: range, *, forward: bool) -> list[_Front]:
        """For each segment, the best chains of all the segments before it (or, not forward, after it)."""
        fronts: list[_Front] = [_Front(())] * len(self.choices)
        # The file's own end touches nothing: -1.
        entries: dict[int, float] = {-1: 0.0} if forward else {-(1 << 60): 0.0}
        for number in order:
            front = _Front(list(entries.items()))
            fronts[number] = front
            following = {at: score - UNPLACED for at, score in entries.items()}
            for candidate in self.choices[number]:
                enters, leaves = (candidate.low, candidate.high) if forward else (-candidate.high, -candidate.low)
                score = candidate.score + front.upto(enters, NO_ELISION)[0]
                if score > following.get(leaves, _NEVER):
                    following[leaves] = score
            entries = following
        return fronts

    def _total(self, number: int, candidate: Candidate) -> float:
        touching = NO_ELISION
        before = self.before[number].upto(candidate.low, touching)[0]
        after = self.after[number].upto(-candidate.high, touching)[0]
        return before + candidate.score + after

    def _without(self, number: int) -> float:
        """The best chain that leaves the segment without a place."""
        after = self.after[number]
        best = _NEVER
        for at, score in zip(self.before[number].at, self.before[number].score, strict=True):
            best = max(best, score + after.upto(-at, NO_ELISION)[0] - UNPLACED)
        return best

    def best(self) -> list[Candidate | None]:
        """The best chain; None for a segment without a place."""
        chosen: list[Candidate | None] = []
        limit = -1
        for number in range(len(self.choices)):
            after, touching = self.after[number], NO_ELISION
            best = after.upto(-limit if limit >= 0 else 0, touching)[0] - UNPLACED
            found: Candidate | None = None
            for candidate in self.choices[number]:
                if candidate.low < limit:
                    continue
                score = candidate.score + after.upto(-candidate.high, touching)[0]
                score -= touching if candidate.low == limit else 0.0
                if score > best:
                    best, found = score, candidate
            chosen.append(found)
            if found is not None:
                limit = found.high
        return chosen

    def margin(self, number: int, found: Candidate | None, same: Callable[[Candidate, Candidate], bool]) -> float:
        """The log-odds of the chain with `found` against all those that put another text in the segment's place."""
        if found is None:
            return 0.0
        rivals = [self._without(number)]
        total = self._total(number, found)
        for other in self.choices[number]:
            rival = self._total(number, other)
            if rival > total - _FAR and not same(found, other):
                rivals.append(rival)
        highest = max(rivals)
        if highest == _NEVER:
            return _FAR
        return total - highest - math.log(sum(math.exp(rival - highest) for rival in rivals))
