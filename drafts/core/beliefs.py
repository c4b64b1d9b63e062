"""What one request has taught about acceptance: by kind of source, by region, and by the rule that chose a place."""

from __future__ import annotations

from drafts.core.adaptive import Beta, Stretch, draft_length, steady_length
from drafts.core.resume import Place
from drafts.core.source import Cursor
from drafts.core.step_cost import StepCost
from drafts.core.tally import Outcome, Segment
from drafts.core.types import SourceKind

# Beliefs before anything is seen. A token after an accepted one, by kind of source:
_TOKEN_PRIOR = {
    SourceKind.KEPT: (80.0, 0.4),
    SourceKind.EDITED: (30.0, 1.0),
    SourceKind.ORIGINAL: (60.0, 0.6),
    SourceKind.EDIT: (30.0, 1.0),
    SourceKind.OUTPUT: (4.0, 1.0),
}
_TOKEN_MEMORY = 600.0
_MAX_CONFIDENCE = 0.99
# How much of a region's outcomes goes into the belief about its kind, which is the prior of the regions to come.
_SHARED = 0.5

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


class Beliefs:
    """Beta posteriors of one request; nothing here grows but by a region's first outcome.

    confidence: the chance that all of the predicted text, `length` tokens, is accepted. It holds until the first
    rejection: then the plan is wrong somewhere, and what is left of it is believed no more than any other.
    """

    def __init__(self, confidence: float = 0.0, length: int = 0) -> None:
        self._kinds = {kind: Beta(*prior) for kind, prior in _TOKEN_PRIOR.items()}
        self._trusted = confidence > 0
        if self._trusted:
            for kind in (SourceKind.KEPT, SourceKind.EDITED):
                belief = self._kinds[kind]
                # survival(length) = confidence, nearly: (accepted / (accepted + length)) ** rejected
                kept = min(confidence, _MAX_CONFIDENCE) ** (1 / belief.rejected)
                belief.accepted = max(belief.accepted, length * kept / (1 - kept))
        self._regions: dict[int, Beta] = {}
        self._guesses: dict[tuple[Place, SourceKind, int], Beta] = {}

    def length(self, segments: list[Segment], cost: StepCost, limit: int, most: int) -> int:
        """The k for the draft tokens of `segments`, which follow a sure cursor; at most `limit`.

        most: the limit of every pass.
        """
        region, kind, tokens = segments[0]
        alone = steady_length(*self._token_belief(region, kind), cost.rounded_marginal, most)
        if alone <= tokens or len(segments) == 1:  # by far the most frequent case
            return min(alone, tokens, limit)
        stretches = [Stretch(*self._token_belief(region, kind), tokens) for region, kind, tokens in segments]
        return draft_length(stretches, cost.marginal, limit, alone)

    def _token_belief(self, region: int, kind: SourceKind) -> tuple[float, float]:
        """Accepted and rejected."""
        belief, own = self._kinds[kind], self._regions.get(region)
        if own is None:
            return belief.accepted, belief.rejected
        return belief.accepted + own.accepted, belief.rejected + own.rejected

    def learn(self, outcome: Outcome) -> None:
        (region, kind, _), accepted, failed = outcome
        if self._trusted:
            if not failed:
                return
            self._trusted = False
            self._kinds = {kind: Beta(*prior) for kind, prior in _TOKEN_PRIOR.items()}
        self._kinds[kind].update(_SHARED * accepted, _SHARED * failed, _TOKEN_MEMORY)
        if region >= 0:
            own = self._regions.get(region)
            if own is None:
                own = self._regions[region] = Beta(0.0, 0.0)
            own.update(accepted, failed, _TOKEN_MEMORY)

    def guess(self, cursor: Cursor) -> Beta:
        """The belief about the next token at a place that is not sure."""
        run = _RUN_CLASS[cursor.run] if cursor.run < 5 else 4
        key = (cursor.place, cursor.source.kind, run)
        belief = self._guesses.get(key)
        if belief is None:
            chance = _GUESS_PRIOR[cursor.place][run]
            belief = self._guesses[key] = Beta(_GUESS_WEIGHT * chance, _GUESS_WEIGHT * (1 - chance))
        return belief
