from __future__ import annotations

import json

import pytest

from evals.stepcost.profile import Cell, StepCostProfile


def line(context: int, batch: int, c0: float, c1: float, widths: tuple[int, ...] = (0, 1, 16, 128)) -> list[Cell]:
    return [Cell(k, context, batch, (c0 + c1 * k * batch,) * 3) for k in widths]


@pytest.fixture
def profile() -> StepCostProfile:
    cells = [*line(256, 1, 0.010, 0.0005), *line(4096, 1, 0.014, 0.0007), *line(256, 4, 0.012, 0.0003)]
    return StepCostProfile("torch", "a shape", {}, tuple(cells))


def test_a_straight_line_is_found_again(profile: StepCostProfile) -> None:
    by_group = {(fit.context, fit.batch): fit for fit in profile.fits()}
    assert by_group[256, 1].c0 == pytest.approx(0.010)
    assert by_group[256, 1].c1 == pytest.approx(0.0005)
    assert by_group[256, 1].ratio == pytest.approx(0.05)
    assert by_group[256, 4].c1 == pytest.approx(0.0003)
    assert all(fit.worst < 1e-9 for fit in by_group.values())


def test_a_misfit_is_said() -> None:
    (fit,) = StepCostProfile("torch", "x", {}, (*line(1, 1, 1, 1), Cell(64, 1, 1, (130.0,)))).fits()
    assert fit.worst > 0.2


def test_times_between_and_beyond_the_measured_widths(profile: StepCostProfile) -> None:
    assert profile.seconds(8, context=300) == pytest.approx(0.014)
    assert profile.seconds(0, context=300) == pytest.approx(0.010)
    assert profile.seconds(256, context=300) == pytest.approx(0.010 + 0.0005 * 256)
    assert profile.seconds(128, context=9000) == pytest.approx(0.014 + 0.0007 * 128)
    assert profile.seconds(16, context=256, batch=3) == pytest.approx(0.012 + 0.0003 * 64)


def test_the_median_is_not_moved_by_one_slow_pass() -> None:
    cells = [Cell(k, 1, 1, (1.0 + k, 1.0 + k, 90.0)) for k in (0, 1, 2)]
    (fit,) = StepCostProfile("vllm", "x", {}, tuple(cells)).fits()
    assert fit.c0 == pytest.approx(1)
    assert fit.c1 == pytest.approx(1)


def test_json_comes_back(profile: StepCostProfile) -> None:
    assert StepCostProfile.from_json(json.loads(json.dumps(profile.to_json()))) == profile
    with pytest.raises(ValueError, match="schema 1"):
        StepCostProfile.from_json({"schema": 2, "kind": "stepcost"})
    with pytest.raises(ValueError, match="no measurement"):
        StepCostProfile("vllm", "x", {}, ()).seconds(1, context=1)
