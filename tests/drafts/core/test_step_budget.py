from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from drafts.core.step_budget import share


@given(st.lists(st.integers(0, 200), max_size=20), st.integers(0, 2000))
def test_shares_are_within_wishes_and_budget_and_leave_nothing_unused(wanted: list[int], budget: int) -> None:
    shares = share(wanted, budget)
    assert all(0 <= got <= wish for got, wish in zip(shares, wanted, strict=True))
    assert sum(shares) <= budget
    short = [got for got, wish in zip(shares, wanted, strict=True) if got < wish]
    if short:
        assert budget - sum(shares) < len(wanted)
        # Nobody who was cut got less than anybody else got, but for rounding.
        assert max(shares) - min(short) <= 1


def test_small_wishes_are_served_whole() -> None:
    assert share([100, 2, 100], 42) == [20, 2, 20]
