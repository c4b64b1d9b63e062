"""The model of time, and the bound."""

from __future__ import annotations

import pytest

from evals.replay.costs import bound, bound_passes, cost, speedup


def test_plain_decoding_is_the_unit() -> None:
    assert speedup(tokens=3000, passes=3000, drafted=0, g=0.05) == 1.0


def test_a_pass_costs_one_and_g_for_each_draft_token() -> None:
    assert cost(passes=10, drafted=200, g=0.05) == pytest.approx(20)
    assert speedup(tokens=100, passes=10, drafted=200, g=0.05) == pytest.approx(5)


@pytest.mark.parametrize(
    ("tokens", "k", "passes"),
    # The prefill's pass emits the first token; a pass over k draft tokens emits k + 1.
    [(1, 128, 1), (2, 128, 2), (130, 128, 2), (131, 128, 3), (1000, 0, 1000), (21, 4, 5)],
)
def test_bound_passes(tokens: int, k: int, passes: int) -> None:
    assert bound_passes(tokens, k) == passes


def test_the_bound_wastes_nothing() -> None:
    passes, drafted = bound([130, 131], 128)
    assert (passes, drafted) == (5, 256)
