"""How many tokens to draft: posteriors of acceptance, the price of a step, and the rule that weighs them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(slots=True)
class Beta:
    """A Beta(accepted, rejected) belief about the chance that a draft token is accepted."""

    accepted: float
    rejected: float

    @property
    def mean(self) -> float:
        return self.accepted / (self.accepted + self.rejected)

    def update(self, accepted: float, rejected: float, memory: float) -> None:
        """Count an outcome; only about `memory` outcomes are remembered, so that the belief can follow a change."""
        self.accepted += accepted
        self.rejected += rejected
        total = self.accepted + self.rejected
        if total > memory:
            self.accepted *= memory / total
            self.rejected *= memory / total


class StepCost:
    """Time of one target pass over a batch: c0 + c1 * (draft tokens in the batch), in any unit.

    `ratio` is g = c1 / c0. With `fit`, it follows the engine's own steps: a recursive least-squares line over
    (tokens, seconds) that forgets old steps, used once it has seen enough different widths, and bounded.
    """

    MIN_RATIO = 0.0005
    MAX_RATIO = 0.25
    _FORGET = 0.99
    _MIN_STEPS = 24

    def __init__(self, ratio: float = 0.05, *, fit: bool = False) -> None:
        if not ratio > 0:
            raise ValueError(f"the cost ratio c1/c0 must be positive, got {ratio}")
        self.ratio = ratio
        self.batch_size = 1
        self._fit = fit
        self._steps = 0
        self._weight = self._x = self._y = self._xx = self._xy = 0.0

    @property
    def marginal(self) -> float:
        """g as one request of the batch must see it.

        A draft token makes the step longer for everyone in the batch. With n requests alike, the rule
        P >= c1 * (n E) / (c0 + c1 n j) is the rule of a request alone with g * n in place of g.
        """
        return self.ratio * self.batch_size

    def record(self, tokens: int, seconds: float) -> None:
        """A step of `tokens` tokens took `seconds`. Outliers (a pause, a compilation) are left out."""
        if not self._fit or seconds <= 0:
            return
        if self._steps >= self._MIN_STEPS:
            expected = self._y / self._weight
            if seconds > 8 * expected + 0.001:
                return
        self._steps += 1
        forget = self._FORGET
        self._weight = self._weight * forget + 1
        self._x = self._x * forget + tokens
        self._y = self._y * forget + seconds
        self._xx = self._xx * forget + tokens * tokens
        self._xy = self._xy * forget + tokens * seconds
        if self._steps >= self._MIN_STEPS:
            self._refit()

    def _refit(self) -> None:
        spread = self._xx - self._x * self._x / self._weight
        if spread < 16 * self._weight:  # widths within 4 tokens of each other say nothing about a slope
            return
        slope = (self._xy - self._x * self._y / self._weight) / spread
        base = (self._y - slope * self._x) / self._weight
        if base <= 0:
            self.ratio = self.MAX_RATIO
            return
        self.ratio = min(max(slope / base, self.MIN_RATIO), self.MAX_RATIO)


def draft_length(chances: Iterable[float], cost_ratio: float, limit: int) -> int:
    """The k that makes (expected tokens) / (step time) largest.

    chances: for each next draft token, the chance that it is accepted given that all before it were.
    Token j is added while P(survive to j) >= c1 / (c0 + c1 * j) * E(tokens so far), where cost_ratio = c1 / c0.
    The chance to survive only falls, so the first token that does not pay ends the draft.
    """
    survive = 1.0
    expected = 1.0  # the target's own token
    length = 0
    for chance in chances:
        if length >= limit:
            break
        survive *= chance
        if survive < cost_ratio * expected / (1.0 + cost_ratio * length):
            break
        expected += survive
        length += 1
    return length
