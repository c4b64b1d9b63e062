from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafts.core.adaptive import Beta, StepCost, draft_length


def rate(chances: list[float], cost_ratio: float, length: int) -> float:
    """Expected tokens per unit of time of a draft of `length` tokens."""
    survive, expected = 1.0, 1.0
    for chance in chances[:length]:
        survive *= chance
        expected += survive
    return expected / (1 + cost_ratio * length)


@given(st.lists(st.floats(0, 1), max_size=40), st.floats(0.001, 0.5), st.integers(0, 40))
def test_no_other_length_gives_more_tokens_per_second(chances: list[float], cost_ratio: float, limit: int) -> None:
    length = draft_length(chances, cost_ratio, limit)
    assert length <= min(limit, len(chances))
    best = max(rate(chances, cost_ratio, k) for k in range(min(limit, len(chances)) + 1))
    assert rate(chances, cost_ratio, length) == pytest.approx(best)


def test_published_optimum_at_sixty_per_cent_acceptance() -> None:
    # A draft that costs 5% of a pass per token, accepted with 0.6 each: k = 4 gives 1.92x and k = 8 only 1.76x.
    assert rate([0.6] * 8, 0.05, 4) == pytest.approx(1.92, abs=0.01)
    assert rate([0.6] * 8, 0.05, 8) == pytest.approx(1.76, abs=0.01)
    assert draft_length(itertools.repeat(0.6), 0.05, 128) == 4


def test_hopeless_draft_is_not_made() -> None:
    assert draft_length([0.01] * 10, 0.05, 128) == 0


def test_sure_draft_is_as_long_as_allowed() -> None:
    assert draft_length(itertools.repeat(1.0), 0.05, 128) == 128


def test_belief_follows_a_change() -> None:
    belief = Beta(1.0, 1.0)
    for _ in range(200):
        belief.update(1.0, 0.0, memory=50)
    assert belief.mean > 0.95
    for _ in range(50):
        belief.update(0.0, 1.0, memory=50)
    assert belief.mean < 0.45


@pytest.mark.parametrize("ratio", [0.0, -1.0, float("nan")])
def test_cost_ratio_must_be_positive(ratio: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        StepCost(ratio)


@pytest.mark.parametrize("ratio", [0.006, 0.05, 0.15])
def test_cost_is_fitted_from_steps(ratio: float) -> None:
    cost = StepCost(0.1, fit=True)
    for step in range(200):
        tokens = (0, 16, 128, 40)[step % 4]
        cost.record(tokens, 0.008 * (1 + ratio * tokens))
    assert cost.ratio == pytest.approx(ratio, rel=0.02)


def test_equal_steps_teach_nothing() -> None:
    cost = StepCost(0.05, fit=True)
    for _ in range(200):
        cost.record(16, 0.02)
    assert cost.ratio == 0.05


def test_a_pause_is_left_out() -> None:
    cost = StepCost(0.05, fit=True)
    for step in range(300):
        tokens = (0, 128)[step % 2]
        cost.record(tokens, 0.008 * (1 + 0.05 * tokens))
        if step == 250:
            cost.record(0, 30.0)
    assert cost.ratio == pytest.approx(0.05, rel=0.02)


def test_without_fit_the_ratio_is_the_given_one() -> None:
    cost = StepCost(0.05)
    for step in range(100):
        cost.record(step, 1.0 + step)
    assert cost.ratio == 0.05


def test_a_fuller_batch_makes_draft_tokens_dearer() -> None:
    cost = StepCost(0.01)
    alone = draft_length(itertools.repeat(0.9), cost.marginal, 128)
    cost.batch_size = 16
    assert draft_length(itertools.repeat(0.9), cost.marginal, 128) < alone
