from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.stats import median, median_interval, quantile

FLOATS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@given(FLOATS, st.floats(0, 1))
def test_quantile_is_numpys(values: list[float], q: float) -> None:
    assert quantile(values, q) == pytest.approx(float(np.quantile(values, q)), rel=1e-9, abs=1e-6)


def test_median_of_an_even_number_lies_between() -> None:
    assert median([4.0, 1.0, 3.0, 2.0]) == 2.5


def test_a_quantile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)


@pytest.mark.parametrize("q", [-0.1, 1.1])
def test_q_outside_its_range_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        quantile([1.0], q)


@given(FLOATS)
def test_the_interval_holds_the_estimate_and_repeats(values: list[float]) -> None:
    interval = median_interval(values)
    assert interval == median_interval(values)
    assert min(values) <= interval.low <= interval.estimate <= interval.high <= max(values)
    assert interval.estimate == median(values)


def test_more_samples_of_the_same_spread_narrow_the_interval() -> None:
    few, many = median_interval([1.0, 2.0, 3.0, 4.0]), median_interval([1.0, 2.0, 3.0, 4.0] * 25)
    assert many.high - many.low < few.high - few.low
