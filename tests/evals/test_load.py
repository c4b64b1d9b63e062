from __future__ import annotations

import itertools
import threading
import time
from functools import partial

import pytest

from evals.load import ONE_AT_A_TIME, Load, drive, parse_loads


def test_names_and_lists() -> None:
    assert parse_loads("1,4", "0.5") == (Load("closed", 1), Load("closed", 4), Load("open", 0.5))
    assert [load.name for load in parse_loads("1,4,4", "0.5")] == ["closed-1", "closed-4", "open-0.5"]


@pytest.mark.parametrize(("concurrency", "rates"), [("0", ""), ("1.5", ""), ("", ""), ("1", "-1"), ("1", "nan")])
def test_no_loads(concurrency: str, rates: str) -> None:
    with pytest.raises(ValueError, match=r"number above 0|name a concurrency"):
        parse_loads(concurrency, rates)


@pytest.mark.parametrize("load", [ONE_AT_A_TIME, Load("closed", 3), Load("open", 1000)], ids=lambda load: load.name)
def test_results_keep_the_jobs_order(load: Load) -> None:
    assert drive(load, [partial(lambda i, begin: i, i) for i in range(20)], seed=0) == list(range(20))
    assert drive(load, [], seed=0) == []


def test_a_closed_loop_has_so_many_in_flight_and_never_more() -> None:
    together = threading.Barrier(3, timeout=30)
    lock = threading.Lock()
    running = most = 0

    def job(begin: float) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()  # passes only when three are in flight
        with lock:
            running -= 1

    drive(Load("closed", 3), [job] * 9, seed=0)
    assert most == 3


def test_an_open_loop_does_not_wait_for_answers_and_counts_from_the_arrival() -> None:
    everyone = threading.Barrier(5, timeout=30)

    def job(begin: float) -> float:
        everyone.wait()  # passes only when all five were sent before any was answered
        return begin

    arrivals = drive(Load("open", 500), [job] * 5, seed=3)
    assert arrivals == sorted(arrivals)
    assert len(set(arrivals)) == 5
    assert max(arrivals) <= time.perf_counter()


def test_arrivals_repeat_by_seed() -> None:
    def gaps(seed: int) -> list[float]:
        arrivals = drive(Load("open", 2000), [lambda begin: begin] * 4, seed=seed)
        return [round(later - sooner, 9) for sooner, later in itertools.pairwise(arrivals)]

    assert gaps(1) == gaps(1) != gaps(2)


@pytest.mark.parametrize("load", [Load("closed", 2), Load("open", 1000)], ids=lambda load: load.name)
def test_a_failure_is_raised(load: Load) -> None:
    def fail(begin: float) -> int:
        raise OSError("no service")

    with pytest.raises(OSError, match="no service"):
        drive(load, [lambda begin: 1, fail], seed=0)
