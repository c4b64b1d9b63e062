from __future__ import annotations

import itertools
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafts.core.guesses import GUESS_WEIGHT, Beta, guess_length


def survival(chance: float, limit: int) -> list[float]:
    """The chance that the first 1, 2, ... tokens of a guess are all accepted."""
    accepted, rejected = GUESS_WEIGHT * chance, GUESS_WEIGHT * (1 - chance)
    chances = [(accepted + i) / (accepted + i + rejected) for i in range(limit)]
    return list(itertools.accumulate(chances, operator.mul))


def gain(chance: float, cost_ratio: float, limit: int, length: int) -> float:
    """Passes gained by drafting `length` tokens on a guess, by counting over all lengths of the agreement."""
    reached = survival(chance, limit + 1)
    passes = 0.0
    for agreed in range(1, limit + 1):
        ends_there = reached[agreed - 1] - (reached[agreed] if agreed < limit else 0)
        passes += ends_there * (1 if agreed <= length else length / limit)
    return passes - cost_ratio * (length - sum(reached[:length]))


def test_hopeless_guess_is_not_drafted() -> None:
    assert guess_length(0.01, 0.05, 128) == 0


def test_sure_guess_is_as_long_as_allowed() -> None:
    assert guess_length(1.0, 0.05, 128) == 128


@given(st.floats(0.02, 0.98), st.floats(0.001, 0.2), st.integers(1, 60))
def test_no_other_draft_on_a_guess_gains_more_passes(chance: float, cost_ratio: float, limit: int) -> None:
    length = guess_length(chance, cost_ratio, limit)
    assert 0 <= length <= limit
    best = max(gain(chance, cost_ratio, limit, k) for k in range(limit + 1))
    assert gain(chance, cost_ratio, limit, length) == pytest.approx(best)


def test_belief_follows_a_change() -> None:
    belief = Beta(1.0, 1.0)
    for _ in range(200):
        belief.update(1.0, 0.0, memory=50)
    assert belief.mean > 0.95
    for _ in range(50):
        belief.update(0.0, 1.0, memory=50)
    assert belief.mean < 0.45
