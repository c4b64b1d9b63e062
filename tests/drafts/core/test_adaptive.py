from __future__ import annotations

import itertools
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafts.core.adaptive import GUESS_WEIGHT, Beta, Stretch, draft_length, guess_length, steady_length


def chances(stretches: list[Stretch]) -> list[float]:
    """Token by token: the chance that it is accepted after all those before it."""
    return [
        (stretch.accepted + i) / (stretch.accepted + i + stretch.rejected)
        for stretch in stretches
        for i in range(stretch.tokens)
    ]


def survival(stretches: list[Stretch]) -> list[float]:
    return list(itertools.accumulate(chances(stretches), operator.mul))


def rate(stretches: list[Stretch], cost_ratio: float, length: int) -> float:
    """Expected tokens per unit of time of a draft of `length` tokens."""
    return (1 + sum(survival(stretches)[:length])) / (1 + cost_ratio * length)


def gain(stretch: Stretch, cost_ratio: float, limit: int, length: int) -> float:
    """Passes gained by drafting `length` tokens on a guess, by counting over all lengths of the agreement."""
    reached = survival([Stretch(stretch.accepted, stretch.rejected, limit + 1)])
    passes = 0.0
    for agreed in range(1, limit + 1):
        ends_there = reached[agreed - 1] - (reached[agreed] if agreed < limit else 0)
        passes += ends_there * (1 if agreed <= length else length / limit)
    return passes - cost_ratio * (length - sum(reached[:length]))


beliefs = st.builds(Stretch, st.floats(0.05, 500), st.floats(0.05, 50), st.integers(1, 40))


@given(st.lists(beliefs, max_size=4), st.floats(0.001, 0.5), st.integers(0, 60))
def test_no_other_length_gives_more_tokens_per_second(stretches: list[Stretch], cost_ratio: float, limit: int) -> None:
    length = draft_length(stretches, cost_ratio, limit)
    longest = min(limit, sum(stretch.tokens for stretch in stretches))
    assert 0 <= length <= longest
    best = max(rate(stretches, cost_ratio, k) for k in range(longest + 1))
    assert rate(stretches, cost_ratio, length) == pytest.approx(best)


@given(st.lists(beliefs, max_size=4), st.floats(0.001, 0.5), st.integers(0, 60), st.integers(-5, 200))
def test_where_the_search_begins_changes_nothing(
    stretches: list[Stretch], cost_ratio: float, limit: int, likely: int
) -> None:
    assert draft_length(stretches, cost_ratio, limit, likely) == draft_length(stretches, cost_ratio, limit)


@given(st.floats(1, 2000), st.floats(0.05, 50), st.floats(0.001, 0.5))
def test_rounding_a_belief_costs_next_to_nothing(accepted: float, rejected: float, cost_ratio: float) -> None:
    stretch = [Stretch(accepted, rejected, 128)]
    length = steady_length(accepted, rejected, cost_ratio, 128)
    best = draft_length(stretch, cost_ratio, 128)
    assert rate(stretch, cost_ratio, length) >= 0.99 * rate(stretch, cost_ratio, best)


def test_beliefs_at_the_edges_have_a_length() -> None:
    assert steady_length(600.0, 0.0, 0.05, 128) == 128
    assert steady_length(0.0, 600.0, 0.05, 128) == 0


@given(st.builds(Stretch, st.floats(1, 500), st.floats(0.05, 50), st.integers(1, 40)))
def test_closed_forms_are_the_sums_and_products(stretch: Stretch) -> None:
    reached = survival([stretch])
    last = stretch.survival(stretch.tokens)
    assert last == pytest.approx(reached[-1])
    assert stretch.survival(0) == pytest.approx(1)
    assert stretch.expected(stretch.tokens, last) == pytest.approx(sum(reached), rel=3e-2)


def test_published_optimum_at_sixty_per_cent_acceptance() -> None:
    # A draft that costs 5% of a pass per token, accepted with 0.6 each: k = 4 gives 1.92x and k = 8 only 1.76x.
    steady = [Stretch(6e6, 4e6, 128)]
    assert rate(steady, 0.05, 4) == pytest.approx(1.92, abs=0.01)
    assert rate(steady, 0.05, 8) == pytest.approx(1.76, abs=0.01)
    assert draft_length(steady, 0.05, 128) == 4


def test_hopeless_draft_is_not_made() -> None:
    assert draft_length([Stretch(1.0, 100.0, 10)], 0.05, 128) == 0
    assert guess_length(0.01, 0.05, 128) == 0


def test_sure_draft_is_as_long_as_allowed() -> None:
    assert draft_length([Stretch(1e6, 1e-6, 1000)], 0.05, 128) == 128
    assert guess_length(1.0, 0.05, 128) == 128


@given(st.floats(0.02, 0.98), st.floats(0.001, 0.2), st.integers(1, 60))
def test_no_other_draft_on_a_guess_gains_more_passes(chance: float, cost_ratio: float, limit: int) -> None:
    length = guess_length(chance, cost_ratio, limit)
    assert 0 <= length <= limit
    stretch = Stretch(GUESS_WEIGHT * chance, GUESS_WEIGHT * (1 - chance), limit)
    best = max(gain(stretch, cost_ratio, limit, k) for k in range(limit + 1))
    assert gain(stretch, cost_ratio, limit, length) == pytest.approx(best)


def test_belief_follows_a_change() -> None:
    belief = Beta(1.0, 1.0)
    for _ in range(200):
        belief.update(1.0, 0.0, memory=50)
    assert belief.mean > 0.95
    for _ in range(50):
        belief.update(0.0, 1.0, memory=50)
    assert belief.mean < 0.45
