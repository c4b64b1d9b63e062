"""What one request has taught about acceptance: by kind of source, by region, and by the rule that chose a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from drafts.core.guesses import Beta
from drafts.core.resume import Place
from drafts.core.schedule import draft_length, first_length
from drafts.core.source import SURE, Cursor
from drafts.core.step_cost import StepCost
from drafts.core.tally import Outcome, Segment
from drafts.core.trust import Trust
from drafts.core.types import DraftRegion, SourceKind

# How often a copy is left, by kind of source, before anything is seen: departures, and the logarithm of the factor by
# which copies grew meanwhile. Measured on real edits by replay.
_RATE_PRIOR = {
    SourceKind.KEPT: (1.0, 4.0),
    SourceKind.EDITED: (1.0, 4.0),
    SourceKind.ORIGINAL: (1.0, 4.0),
    SourceKind.EDIT: (2.0, 3.0),
    SourceKind.OUTPUT: (3.0, 3.0),
}
# How much of a rate a region takes from the request's.
_SHARED = 3.0
# A plan this sure, and without a doubt of its own anywhere, is drafted whole.
_CERTAIN = 0.98
# What a confidence in all of a text weighs, as exposure.
_SAID = 3.0
# An answer that has begun well goes on well: so many tokens count as held when it begins.
_BEGUN = 30

# The first token at a place that is not sure yet, by the rule that chose it and by how many tokens agree with it so
# far: 0, 1, 2, 3 to 4, 5 or more. Measured on real edits by replay.
_GUESS_PRIOR = {
    Place.START: (0.9, 0.9, 0.9, 0.9, 0.9),
    Place.NEAR: (0.3, 0.33, 0.48, 0.63, 0.75),
    Place.FAR: (0.2, 0.28, 0.38, 0.55, 0.7),
    Place.REALIGNED: (0.9, 0.9, 0.9, 0.9, 0.9),
    Place.SUBSTITUTION: (0.2, 0.8, 0.9, 0.9, 0.95),
    Place.SAME_LINE: (0.45, 0.6, 0.8, 0.85, 0.9),
    Place.NEXT_LINE: (0.35, 0.5, 0.7, 0.8, 0.9),
    Place.NODE_END: (0.25, 0.5, 0.7, 0.8, 0.9),
    Place.OUTER_END: (0.1, 0.4, 0.6, 0.8, 0.9),
}
_RUN_CLASS = (0, 1, 2, 3, 3)
_GUESS_WEIGHT = 4.0
GUESS_MEMORY = 24.0


@dataclass(slots=True)
class Rate:
    """A Gamma(departures, exposure) posterior of how often a copy is left, in departures by factor of e in length."""

    departures: float
    exposure: float

    @property
    def mean(self) -> float:
        return self.departures / self.exposure

    def count(self, departures: float, exposure: float) -> None:
        self.departures += departures
        self.exposure += exposure


class Beliefs:
    """Posteriors of one request; nothing here grows but by a region's first outcome.

    confidence: the chance that all of the predicted text, `length` tokens, is accepted. It holds until the first
    rejection: then the plan is wrong somewhere, and what is left of it is believed no more than any other.
    regions: of the predicted text. Where they have doubts of their own, these are weighed one by one.
    """

    def __init__(self, confidence: float = 0.0, length: int = 0, regions: Sequence[DraftRegion] = ()) -> None:
        self._rates = {kind: Rate(*prior) for kind, prior in _RATE_PRIOR.items()}
        self._confident = confidence > 0
        self._trust: Trust | None = None
        if confidence >= _CERTAIN or (confidence > 0 and any(region.confidence < 1 for region in regions)):
            self._trust = Trust(regions)
        elif self._confident and length:
            # The rate at which all of the text is held with this chance.
            rate = -log(confidence) / log(1 + length / _BEGUN)
            self._rates[SourceKind.KEPT] = Rate(rate * _SAID, _SAID)
        self._regions: dict[int, Rate] = {}
        self._guesses: dict[tuple[Place, SourceKind, int], Beta] = {}

    def length(self, segments: list[Segment], cursor: Cursor, cost: StepCost, limit: int, most: int) -> int:
        """The k for the draft tokens of `segments`, which follow a sure cursor; at most `limit`.

        most: the limit of every pass.
        """
        region, kind, _ = segments[0]
        price = cost.price
        if self._trust is not None and region >= 0:
            return self._trust.length(cursor.position, limit, most, price)
        rest = len(cursor.source.tokens) - cursor.position
        if self._is_first(cursor):
            return min(first_length(rest, price), limit)
        return min(draft_length(self._run(cursor), self._rate(region, kind), rest, price, most), limit)

    def _is_first(self, cursor: Cursor) -> bool:
        """Whether nothing was edited yet although something will be: the source is the original."""
        return cursor.place is Place.START and not self._confident

    def _run(self, cursor: Cursor) -> int:
        return cursor.run + _BEGUN if cursor.place is Place.START else cursor.run

    def _rate(self, region: int, kind: SourceKind) -> float:
        rate = self._rates[kind].mean
        own = self._regions.get(region)
        return rate if own is None else (_SHARED * rate + own.departures) / (_SHARED + own.exposure)

    def learn(self, outcomes: Sequence[Outcome], cursor: Cursor) -> None:
        """cursor: where the tokens were drafted from, as it was then."""
        if self._is_first(cursor):
            return
        run = self._run(cursor)
        for (region, kind, _), accepted, failed in outcomes:
            began = max(run, SURE)
            run += accepted
            departures = float(failed and run >= SURE)
            if departures and self._trust is not None and region >= 0:
                self._trust = None
                return
            exposure = log(run / began) if run > began else 0.0
            self._rates[kind].count(departures, exposure)
            if region >= 0:
                self._regions.setdefault(region, Rate(0.0, 0.0)).count(departures, exposure)

    def guess(self, cursor: Cursor) -> Beta:
        """The belief about the next token at a place that is not sure."""
        run = _RUN_CLASS[cursor.run] if cursor.run < 5 else 4
        key = (cursor.place, cursor.source.kind, run)
        belief = self._guesses.get(key)
        if belief is None:
            chance = _GUESS_PRIOR[cursor.place][run]
            belief = self._guesses[key] = Beta(_GUESS_WEIGHT * chance, _GUESS_WEIGHT * (1 - chance))
        return belief
