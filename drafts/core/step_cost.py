"""What a target pass costs by its draft tokens: given, or fitted to the engine's own steps."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class StepCost:
    """Time of one target pass over a batch: c0 + c1 * (draft tokens in the batch), in any unit.

    `ratio` is g = c1 / c0. With `fit`, it follows the engine's own steps. Both c0 and c1 grow with the context, so
    steps are compared with others of the same batch only: within a batch the slope is that of least squares over
    (tokens, seconds), batches meet in g, and old steps are forgotten. It is used once the widths were different enough,
    and bounded.

    A price at which nobody drafts would never be put right, as no step would tell. So once in a while one narrow draft
    is made in spite of it (`probe_due`); in all that costs at most a hundredth of the passes.
    """

    MIN_RATIO = 0.0005
    MAX_RATIO = 0.25
    PROBE = 8
    """Draft tokens of a probe."""

    _FORGET = 0.99
    _MIN_STEPS = 24
    _MIN_SPREAD = 128.0
    # Steps of a batch that its means remember: its context grows.
    _MEMORY = 64
    # A draft that is sure to be accepted is made below this price whatever else is true.
    _PROHIBITIVE = 0.2
    _PROBE_INTERVAL = 32
    _PROBE_SHARE = 0.01

    def __init__(self, ratio: float = 0.05, *, fit: bool = False) -> None:
        if not ratio > 0:
            raise ValueError(f"the cost ratio c1/c0 must be positive, got {ratio}")
        self.ratio = ratio
        self.batch_size = 1
        self._price_of = self._price = 0.0
        self._fit = fit
        self._steps = 0
        self._seconds = 0.0  # of a step, in the mean
        # The batch that is running: steps and means, and sums of squares and products around the means.
        self._batch: Hashable = None
        self._count = 0
        self._tokens_mean = self._seconds_mean = self._spread = self._product = 0.0
        # The batches before it: the same sums, the time in passes without a draft.
        self._past_spread = self._past_product = 0.0
        # Steps without a draft in a row, and passes that probes have cost beyond their share.
        self._idle = 0
        self._debt = 0.0
        self._charged = 0.0

    @property
    def marginal(self) -> float:
        """g as one request of the batch must see it.

        A draft token makes the step longer for everyone in the batch. With n requests alike, the rule
        P >= c1 * (n E) / (c0 + c1 n j) is the rule of a request alone with g * n in place of g.
        """
        return self.ratio * self.batch_size

    @property
    def price(self) -> float:
        """What a draft token in vain costs, in passes that drafts save: g / (1 - g), infinite from g = 1 on.

        The token that a pass gives of its own must be drafted when the pass is saved, so that saves 1 - g. Rounded to
        about two digits, so that what depends on it can be looked up.
        """
        marginal = self.marginal
        if marginal != self._price_of:
            self._price_of = marginal
            self._price = float(f"{marginal / (1.0 - marginal):.1e}") if marginal < 1.0 else math.inf
        return self._price

    def record(self, tokens: int, seconds: float, batch: Hashable = None) -> None:
        """A step of `tokens` draft tokens took `seconds`. batch: tells the requests of the step from others; of one
        batch the contexts are about the same. Outliers (a pause, a compilation) are left out."""
        if not self._fit or seconds <= 0:
            return
        self._settle(tokens, seconds)
        if self._steps >= self._MIN_STEPS and seconds > 8 * self._seconds + 0.001:
            return
        self._steps += 1
        self._seconds += (seconds - self._seconds) / min(self._steps, self._MEMORY)
        if batch != self._batch:
            self._close(batch)
        if tokens:
            self._past_spread *= self._FORGET
            self._past_product *= self._FORGET
            self._spread *= self._FORGET
            self._product *= self._FORGET
        self._count = min(self._count + 1, self._MEMORY)
        apart = tokens - self._tokens_mean
        self._tokens_mean += apart / self._count
        self._seconds_mean += (seconds - self._seconds_mean) / self._count
        self._spread += apart * (tokens - self._tokens_mean)
        self._product += apart * (seconds - self._seconds_mean)
        if self._steps >= self._MIN_STEPS:
            self._refit()

    # -- probes ----------------------------------------------------------------------------------------------------

    @property
    def probe_due(self) -> bool:
        """Whether a draft should be made, of `PROBE` tokens at most and by one request, only to learn its price."""
        return (
            self._fit and self._idle >= self._PROBE_INTERVAL and self._debt <= 0 and self.marginal >= self._PROHIBITIVE
        )

    @contextmanager
    def probing(self) -> Iterator[None]:
        """Within it, a draft token costs next to nothing."""
        ratio, batch_size = self.ratio, self.batch_size
        self.ratio, self.batch_size = self.MIN_RATIO, 1
        try:
            yield
        finally:
            self.ratio, self.batch_size = ratio, batch_size

    def probed(self, tokens: int) -> None:
        """A probe of `tokens` tokens is on its way: what it costs is guessed until its step is recorded."""
        self._charged = tokens * min(self.ratio, self.MAX_RATIO)
        self._debt += self._charged
        self._idle = 0

    def _settle(self, tokens: int, seconds: float) -> None:
        self._debt = max(self._debt - self._PROBE_SHARE, 0.0)
        if self._charged and tokens:
            self._debt += max(seconds / self._seconds - 1.0, 0.0) - self._charged
        self._charged = 0.0
        self._idle = 0 if tokens else self._idle + 1

    # -- fitting ---------------------------------------------------------------------------------------------------

    def _close(self, batch: Hashable) -> None:
        if self._count:
            base = self._seconds_mean / (1 + self.ratio * self._tokens_mean)
            self._past_spread += self._spread
            self._past_product += self._product / base
        self._batch = batch
        self._count = 0
        self._tokens_mean = self._seconds_mean = self._spread = self._product = 0.0

    def _refit(self) -> None:
        """g from all batches: the slope of each over its own c0, which follows from g: g = (past + product / c0) /
        (past spread + spread) with c0 = mean seconds / (1 + g * mean tokens), solved for g."""
        if self._past_spread + self._spread < self._MIN_SPREAD:
            return
        product = self._product / self._seconds_mean
        rest = self._past_spread + self._spread - product * self._tokens_mean
        ratio = (self._past_product + product) / rest if rest > 0 else self.MAX_RATIO
        self.ratio = min(max(ratio, self.MIN_RATIO), self.MAX_RATIO)
