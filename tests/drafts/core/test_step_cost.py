from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from drafts.core.schedule import draft_length
from drafts.core.step_cost import StepCost


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
    alone = draft_length(32, 0.5, 1000, cost.price, 128)
    cost.batch_size = 16
    assert draft_length(32, 0.5, 1000, cost.price, 128) < alone


@pytest.mark.parametrize(("ratio", "price"), [(0.02, 0.02), (0.05, 0.053), (0.5, 1.0), (0.9, 9.0), (1.0, math.inf)])
def test_price_counts_that_a_saved_pass_gave_a_token(ratio: float, price: float) -> None:
    """Two tokens in one pass and one draft token, 1 + g, instead of two passes: 1 - g is saved."""
    assert StepCost(ratio).price == pytest.approx(price, rel=0.05)


def test_contexts_do_not_pass_for_draft_tokens() -> None:
    """As measured: both the pass and the draft token cost more in a long context. Long files come with wide drafts
    here, short ones with none, and a line through all of that would rise far too steeply."""
    rng = random.Random(1)
    cost = StepCost(0.05, fit=True)
    for request in range(60):
        base, price, widths = ((0.011, 0.034, (0, 0, 0, 4)), (0.029, 0.091, (64, 128, 128, 128)))[request % 2]
        for step in range(20):
            tokens = widths[step % 4]
            cost.record(tokens, base * (1 + price * tokens) * rng.lognormvariate(0, 0.05), request)
    assert 0.03 < cost.ratio < 0.1


def serve(cost: StepCost, price: float, draft: Callable[[StepCost], int], steps: int = 4000) -> float:
    """What `steps` passes cost a batch, in passes without a draft, where a draft token costs `price` of one."""
    rng = random.Random(1)
    total = 0.0
    for _ in range(steps):
        tokens = draft(cost)
        if not tokens and cost.probe_due:
            tokens = cost.PROBE
            cost.probed(tokens)
        passes = (1 + price * tokens) * rng.lognormvariate(0, 0.03)
        cost.record(tokens, 0.01 * passes, "batch")
        total += passes
    return total


def sure_draft(cost: StepCost) -> int:
    return 64 if cost.marginal < 1 else 0


def test_too_high_a_price_is_found_out_though_nobody_drafts() -> None:
    cost = StepCost(0.25, fit=True)
    cost.batch_size = 16
    serve(cost, 0.01, sure_draft)
    assert cost.ratio == pytest.approx(0.01, rel=0.2)


@pytest.mark.parametrize("price", [0.1, 0.25, 1.0, 20.0])
def test_where_drafting_never_pays_little_is_lost_in_finding_out(price: float) -> None:
    cost = StepCost(0.25, fit=True)
    cost.batch_size = 16
    drafted = [0]

    def draft(cost: StepCost) -> int:
        drafted.append(sure_draft(cost))
        return drafted[-1]

    total = serve(cost, price, draft)
    assert not any(drafted)
    # A hundredth, and the last probe that is not paid for yet.
    assert total <= 4000 * 1.015 + price * StepCost.PROBE


def test_no_probe_without_fitting_nor_at_a_price_that_allows_drafts() -> None:
    given, cheap = StepCost(0.25), StepCost(0.01, fit=True)
    given.batch_size = cheap.batch_size = 16
    for _ in range(100):
        given.record(0, 0.01)
        cheap.record(0, 0.01)
        assert not given.probe_due
        assert not cheap.probe_due


def test_a_draft_costs_next_to_nothing_within_a_probe_only() -> None:
    cost = StepCost(0.25, fit=True)
    cost.batch_size = 16
    with cost.probing():
        assert cost.marginal == StepCost.MIN_RATIO
    assert cost.marginal == 4.0
