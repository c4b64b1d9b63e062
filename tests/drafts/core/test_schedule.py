"""Draft lengths against the best there are, by brute force over every token."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drafts.core.schedule import draft_length, first_length, held

FAR = 10**6


def cost(run: int, rate: float, rest: int, price: float, lengths: Callable[[int, int], int]) -> float:
    """Passes, and the price of tokens in vain, until a copy is left or its `rest` is done. lengths: k by run, rest."""
    total, reached = 0.0, 1.0
    while rest > 0:
        k = lengths(run, rest)
        assert 0 <= k <= rest
        chances = held(run, rate, np.arange(1, k + 2, dtype=np.float64))
        total += reached * (1.0 + price * (k - float(chances[:k].sum())))
        # The target's own token comes on top.
        reached *= float(chances[k])
        run, rest = run + k + 1, rest - k - 1
    return total


def least(run: int, rate: float, rest: int, price: float, most: int) -> float:
    """The least cost that any lengths can have."""

    @cache
    def best(done: int) -> float:
        left = rest - done
        if left <= 0:
            return 0.0
        chances = held(run + done, rate, np.arange(1, min(most, left) + 2, dtype=np.float64))
        accepted = np.concatenate(([0.0], np.cumsum(chances)))
        return min(
            1.0 + price * (k - float(accepted[k])) + float(chances[k]) * best(done + k + 1)
            for k in range(min(most, left) + 1)
        )

    return best(0)


@settings(max_examples=25, deadline=None)
@given(
    run=st.integers(8, 400),
    rate=st.floats(0.05, 1.5),
    rest=st.integers(1, 150),
    price=st.sampled_from([0.006, 0.02, 0.05]),
    most=st.sampled_from([160, 4096]),
)
def test_no_lengths_cost_much_less(run: int, rate: float, rest: int, price: float, most: int) -> None:
    ours = cost(run, rate, rest, price, lambda run, rest: draft_length(run, rate, rest, price, most))
    assert ours <= 1.1 * least(run, rate, rest, price, most) + 0.25


@given(st.floats(0.05, 3), st.floats(0.001, 0.2), st.integers(1, 5000), st.integers(1, 20000), st.integers(1, 20000))
def test_lengths_fit_the_source_and_the_pass(rate: float, price: float, most: int, run: int, rest: int) -> None:
    assert 1 <= draft_length(run, rate, rest, price, most) <= min(most, rest)
    assert 1 <= first_length(rest, price) <= rest


@pytest.mark.parametrize("rate", [0.1, 0.3, 1.0])
def test_drafts_grow_with_the_run_and_shrink_with_the_price(rate: float) -> None:
    by_run = [draft_length(run, rate, FAR, 0.02, 4096) for run in (8, 32, 128, 512, 2048)]
    assert by_run == sorted(by_run)
    assert by_run[0] < by_run[-1]
    by_price = [draft_length(128, rate, FAR, price, 4096) for price in (0.002, 0.006, 0.02, 0.05, 0.25)]
    assert by_price == sorted(by_price, reverse=True)


def test_a_copy_that_is_often_left_is_drafted_less() -> None:
    often, seldom = (draft_length(64, rate, FAR, 0.02, 4096) for rate in (2.0, 0.1))
    assert often < seldom


def test_the_rest_of_a_source_is_worth_a_longer_draft() -> None:
    alone = draft_length(64, 0.3, FAR, 0.02, 4096)
    assert draft_length(64, 0.3, alone + 20, 0.02, 4096) == alone + 20


def test_a_longest_k_is_used_whole() -> None:
    assert draft_length(4000, 0.05, FAR, 0.006, 128) == 128


@pytest.mark.parametrize("price", [0.006, 0.02, 0.05])
def test_first_drafts_of_a_file_cost_little_more_than_any(price: float) -> None:
    """Four edits anywhere in it, by counting over where the first of them is."""
    size = 2000
    places = np.arange(size)
    first = ((size - places) ** 4 - (size - places - 1.0) ** 4) / size**4

    def cost_of(lengths: Callable[[int], int]) -> float:
        total, at = 0.0, 0
        while at < size:
            k = lengths(size - at)
            reached, inside = first[at:].sum(), first[at : at + k]
            total += reached + price * float((inside * np.arange(k, k - len(inside), -1)).sum())
            at += k + 1
        return total

    ours = cost_of(lambda rest: first_length(rest, price))
    fixed = min(cost_of(lambda rest, k=k: min(k, rest)) for k in range(10, size, 10))  # type: ignore[misc]
    assert ours <= 1.05 * fixed
