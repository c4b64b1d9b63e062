"""How many tokens to draft: posteriors of acceptance, and the rule that weighs them against the price of a step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma, log
from typing import NamedTuple

# The weight of the belief in a guess as its tokens come: the smaller it is, the more does each acceptance promise.
GUESS_WEIGHT = 1.0

# How finely beliefs are told apart by `steady_length`: so many classes for each factor of e.
_CLASSES = 8
_LEAST = 1e-9


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
        accepted += self.accepted
        rejected += self.rejected
        total = accepted + rejected
        if total > memory:
            accepted *= memory / total
            rejected *= memory / total
        self.accepted = accepted
        self.rejected = rejected


class Stretch(NamedTuple):
    """`tokens` draft tokens in a row with one belief: after i accepted ones the next is accepted with the chance
    (accepted + i) / (accepted + i + rejected), the Beta posterior's own prediction."""

    accepted: float
    rejected: float
    tokens: int

    def survival(self, length: int) -> float:
        """The chance that the first `length` tokens are all accepted. O(1)."""
        a, c = self.accepted, self.accepted + self.rejected
        return exp(lgamma(a + length) - lgamma(c + length) + lgamma(c) - lgamma(a))

    def expected(self, length: int, survival: float) -> float:
        """How many of the first `length` tokens are accepted in the mean: the sum of survival(1..length), which
        telescopes. `survival` is survival(length)."""
        slope = 1.0 - self.rejected
        if abs(slope) < 1e-4:  # the sum of a / (a + i), nearly
            return self.accepted * log((self.accepted + length + 0.5) / (self.accepted + 0.5))
        return ((self.accepted + length) * survival - self.accepted) / slope


def draft_length(stretches: Iterable[Stretch], cost_ratio: float, limit: int, likely: int = 0) -> int:
    """The k that makes (expected tokens) / (step time) largest.

    Token j is added while P(survive to j) >= c1 / (c0 + c1 * j) * E(tokens so far), where cost_ratio = c1 / c0.
    The chance to survive only falls, so the first token that does not pay ends the draft; within a stretch it is found
    by bisection, from `likely` on: a k that may be near the answer, which does not depend on it.
    """
    survive = 1.0
    expected = 1.0  # the target's own token
    length = 0
    for stretch in stretches:
        count = min(stretch.tokens, limit - length)
        if count <= 0:
            break
        a, c = stretch.accepted, stretch.accepted + stretch.rejected

        # No token of the stretch, if its first does not pay.
        if survive * a / c < cost_ratio * expected / (1.0 + cost_ratio * length):
            return length
        # All of it, if its last token pays: by far the most frequent case.
        reached = stretch.survival(count)
        before = reached * (c + count - 1) / (a + count - 1)
        so_far = expected + survive * stretch.expected(count - 1, before)
        if survive * reached < cost_ratio * so_far / (1.0 + cost_ratio * (length + count - 1)):
            return length + _paying(stretch, count, cost_ratio, survive, expected, length, likely - length)
        survive *= reached
        expected = so_far + survive
        length += count
    return length


def _paying(
    stretch: Stretch, count: int, cost_ratio: float, survive: float, expected: float, length: int, likely: int
) -> int:
    """How many of a stretch's tokens pay, fewer than `count`, the draft before it being `length` long."""
    a, c = stretch.accepted, stretch.accepted + stretch.rejected
    log_a, log_c = lgamma(a), lgamma(c)
    low, high = 1, count  # token `low` pays, token `high` does not
    # The answer is mostly near that of the pass before: steps from there, each twice as long as the one before.
    middle, step = likely, 1
    while high - low > 1:
        if not low < middle < high:
            middle = (low + high) // 2
        done = middle - 1
        reached = exp(lgamma(a + done) - lgamma(c + done) + log_c - log_a)
        so_far = expected + survive * stretch.expected(done, reached)
        if survive * (reached * (a + done) / (c + done)) >= cost_ratio * so_far / (1.0 + cost_ratio * (length + done)):
            low = middle
            middle += step
        else:
            high = middle
            middle -= step
        step *= 2
    return low


def steady_length(accepted: float, rejected: float, cost_ratio: float, limit: int) -> int:
    """draft_length for a single stretch as long as it may be, of a belief that is rounded to about 6 per cent.

    The number of tokens per unit of time hardly changes around its maximum, so the rounding costs nothing that could be
    measured; and what is rounded need be computed only once.
    """
    accepted_class, rejected_class = _CLASSES * log(accepted + _LEAST), _CLASSES * log(rejected + _LEAST)
    return _class_length(round(accepted_class), round(rejected_class), cost_ratio, limit)


@lru_cache(maxsize=8192)
def _class_length(accepted: int, rejected: int, cost_ratio: float, limit: int) -> int:
    return draft_length([Stretch(exp(accepted / _CLASSES), exp(rejected / _CLASSES), limit)], cost_ratio, limit)


@lru_cache(maxsize=4096)
def guess_length(chance: float, cost_ratio: float, limit: int) -> int:
    """The k for a place that is only guessed, `chance` being the chance that its first token is accepted.

    The target's next token proves a guess whether or not it was drafted, and the pass after that can draft the rest.
    So a draft on a guess saves a pass only if it covers all of what agrees; of a longer agreement it saves k / limit
    of a pass. With S(k) the chance that k tokens are accepted, the gain in passes is

        S(1) - S(k + 1) * (1 - k / limit) - c1 / c0 * (k - (S(1) + ... + S(k)))

    and k is where it is largest, 0 where it is nowhere above 0.
    """
    best, length = 0.0, 0
    reached, accepted = 1.0, 0.0
    following = chance
    for k in range(1, limit + 1):
        reached *= following
        accepted += reached
        following = (chance + k / GUESS_WEIGHT) / (1.0 + k / GUESS_WEIGHT)
        gain = chance - reached * following * (1.0 - k / limit) - cost_ratio * (k - accepted)
        if gain > best:
            best, length = gain, k
        if cost_ratio * (k - accepted) > chance:  # more than any length can gain
            break
    return length
