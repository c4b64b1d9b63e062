"""Shares of a sample, and what they say about the share of the whole. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

_Z: Final = 1.959963984540054  # the 97.5% quantile of the normal distribution


@dataclass(frozen=True, slots=True)
class Proportion:
    """count of total. rate, low, high: None for a total of 0.

    low, high: the 95% score interval (Wilson 1927, "Probable inference, the law of succession, and statistical
    inference"), which is also right near 0 and 1: of 200 without a failure it says 98.1% to 100%.
    """

    count: int
    total: int

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.total:
            raise ValueError(f"{self.count} of {self.total} is no proportion")

    @property
    def rate(self) -> float | None:
        return self.count / self.total if self.total else None

    @property
    def low(self) -> float | None:
        return self._bound(-1)

    @property
    def high(self) -> float | None:
        return self._bound(1)

    def _bound(self, sign: int) -> float | None:
        if not self.total:
            return None
        if self.count == (0 if sign < 0 else self.total):
            return float(self.count > 0)  # exactly, which rounding would miss
        n, rate = self.total, self.count / self.total
        centre = rate + _Z**2 / (2 * n)
        spread = _Z * math.sqrt(rate * (1 - rate) / n + _Z**2 / (4 * n**2))
        return (centre + sign * spread) / (1 + _Z**2 / n)

    def percent(self) -> str:
        """For a table: "98.5% (95.7 to 99.5)", "-" for a total of 0. A rate below 1 is never shown as 100%."""
        if self.rate is None or self.low is None or self.high is None:
            return "-"
        return f"{_percent(self.rate)}% ({_percent(self.low)} to {_percent(self.high)})"


def _percent(share: float) -> str:
    """One decimal; 0 and 100 are exact, everything between stays between."""
    if share in (0, 1):
        return f"{100 * share:.0f}"
    return f"{min(max(100 * share, 0.1), 99.9):.1f}"
