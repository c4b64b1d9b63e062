"""How much to draft from a place that is sure: the schedule that costs least until the copy is left.

Edits come in clusters. Measured on real edits, a copy that has held for d tokens holds for n more with about the chance
(d / (d + n)) ** r, with the same r for short copies and for long ones: what a Beta posterior predicts after d accepted
tokens and r rejected ones. So drafts grow with the run, and r and the price of a draft token say how steeply: to draft
k tokens costs a pass and what is drafted in vain, and not to have drafted them costs another pass.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from drafts.core.guesses import pays

# Besides, every token is the first of an edit far away with this chance.
_FAR = 0.0003
# A file is edited at about so many places, one of which may be after so many tokens more: that is, nowhere.
_EDITS, _NOWHERE = 4.0, 300
# Runs are told apart by a quarter; no copy is longer than the last.
_RATIO = 1.25
_LONGEST = 1 << 17
_RUNS = _RATIO ** np.arange(round(log(_LONGEST, _RATIO)) + 1)
_RUN_LIST = _RUNS.tolist()
# How finely rates are told apart: so many classes for each factor of e. Near its minimum the cost hardly changes.
_CLASSES = 4


def held(run: float, rate: float, length: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance that a copy which has held for `run` tokens holds for each of `length` more, in any shape."""
    chance: NDArray[np.float64] = (run / (run + length)) ** rate * np.exp(-_FAR * length)
    return chance


def draft_length(run: float, rate: float, rest: int, price: float, most: int) -> int:
    """The k for a copy that has held for `run` tokens, of a source of which `rest` are left.

    rate: the Beta posterior's rejected, above 0. price: of a draft token in vain (StepCost.price). most: the largest k
    of every pass.
    """
    lengths = _lengths(round(_CLASSES * log(rate)), price, most)
    length = lengths[max(bisect_right(_RUN_LIST, run) - 1, 0)]
    if length < rest <= most and pays(float(held(run, rate, np.array(length + 1.0))), rest - length, price):
        return rest
    return min(length, rest)


def first_length(rest: int, price: float) -> int:
    """The k for a copy from the source's first token on that will be left, equally likely anywhere in the `rest`.

    To come to the first of n edits in drafts of k costs rest / n / k passes, and k / 2 tokens in vain.
    """
    return min(max(round(sqrt(2.0 * (rest + _NOWHERE) / (_EDITS * price))), 1), rest)


@lru_cache(maxsize=512)
def _lengths(rate_class: int, price: float, most: int) -> list[int]:
    """For each of _RUNS the k of least expected cost, by dynamic programming from the longest run down:

    cost(d) = min over k of 1 + price * (k - tokens accepted of k) + P(all k are accepted) * cost(d + k), in passes.
    """
    rate = exp(rate_class / _CLASSES)
    costs = np.zeros(len(_RUNS))
    lengths = [most] * len(_RUNS)
    for at in range(len(_RUNS) - 2, -1, -1):
        run = _RUNS[at]
        steps = _RUNS[at:] - run
        steps = steps[: max(int(np.searchsorted(steps, most, side="right")), 2)]
        chances = held(run, rate, steps)
        accepted = np.cumsum(np.diff(steps) * (chances[1:] + chances[:-1]) / 2.0)
        reached = costs[at + 1 : at + len(steps)]
        whole = 1.0 + price * (steps[1:] - accepted) + chances[1:] * reached
        best = int(np.argmin(whole))
        costs[at] = whole[best]
        step = steps[best + 1]
        lengths[at] = most if step * _RATIO > most else max(round(step), 1)
    return lengths
