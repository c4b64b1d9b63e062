from __future__ import annotations

import numpy as np
import pytest

from evals.html.resample import interval, mean, median, quantile, ratio_of_totals, table
from evals.stats import median_interval


@pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 0.95, 0.99, 1.0])
def test_quantiles_are_those_of_numpy_and_leave_out_what_is_missing(q: float) -> None:
    rows = table({"a": [3.0, 1.0, 4.0], "b": [1.5], "c": [9.0, 2.0]})
    assert rows.shape == (3, 3)
    assert quantile(q)(rows) == pytest.approx(np.nanquantile(rows, q))
    many = np.stack([rows, rows[[0, 0, 1]]])
    assert quantile(q)(many) == pytest.approx([np.nanquantile(one, q) for one in many])


def test_an_interval_of_single_values_is_like_the_other_bootstrap() -> None:
    values = [float(value) for value in np.random.default_rng(3).lognormal(size=40)]
    ours = interval(table({str(n): [value] for n, value in enumerate(values)}), median)
    other = median_interval(values)
    assert ours.estimate == other.estimate
    assert (ours.low, ours.high) == pytest.approx((other.low, other.high), rel=0.1)


def test_repeats_of_an_edit_do_not_narrow_the_interval() -> None:
    values = {str(n): [float(n)] for n in range(20)}
    once = interval(table(values), mean)
    often = interval(table({name: found * 50 for name, found in values.items()}), mean)
    assert (often.low, often.high) == pytest.approx((once.low, once.high))
    assert once.low < 9.5 < once.high


def test_totals_weigh_edits_by_their_size() -> None:
    rows = np.array([[10.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    found = interval(rows, ratio_of_totals)
    assert found.estimate == pytest.approx(12 / 3)
    assert (found.low, found.high) == (1.0, 10.0)
    assert interval(rows, ratio_of_totals) == found


def test_no_values_have_no_interval() -> None:
    with pytest.raises(ValueError, match="no values"):
        interval(table({}), median)
