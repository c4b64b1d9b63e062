from __future__ import annotations

import pytest

from evals.proportion import Proportion


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        # Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_score_interval(count: int, total: int, low: float, high: float) -> None:
    share = Proportion(count, total)
    assert share.rate == count / total
    assert share.low == pytest.approx(low, abs=5e-5)
    assert share.high == pytest.approx(high, abs=5e-5)


def test_all_and_none_are_mirrored() -> None:
    everything, nothing = Proportion(200, 200), Proportion(0, 200)
    assert (everything.high, nothing.low) == (1, 0)
    assert everything.low == pytest.approx(1 - (nothing.high or 0))
    assert everything.low == pytest.approx(0.9812, abs=5e-5)


def test_no_sample_says_nothing() -> None:
    empty = Proportion(0, 0)
    assert (empty.rate, empty.low, empty.high, empty.percent()) == (None, None, None, "-")


def test_only_all_is_shown_as_all() -> None:
    assert Proportion(200, 200).percent() == "100% (98.1 to 100)"
    assert Proportion(9999, 10000).percent().startswith("99.9% (")
    assert Proportion(1, 10000).percent().startswith("0.1% (")


@pytest.mark.parametrize(("count", "total"), [(-1, 3), (4, 3), (0, -1)])
def test_what_is_no_proportion(count: int, total: int) -> None:
    with pytest.raises(ValueError, match="no proportion"):
        Proportion(count, total)
