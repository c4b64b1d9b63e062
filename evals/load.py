"""How calls are issued: closed loop (so many in flight) or open loop (Poisson arrivals)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Load:
    """closed: `level` calls are in flight at any time. open: `level` calls arrive a second, whatever is in flight."""

    kind: Literal["closed", "open"]
    level: float

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.level:g}"


ONE_AT_A_TIME = Load("closed", 1)


def parse_loads(concurrency: str, rates: str) -> tuple[Load, ...]:
    """Of comma-separated lists; either may be empty. Raises ValueError."""
    loads = [Load("closed", _positive(part, "concurrency", int)) for part in filter(None, concurrency.split(","))]
    loads += [Load("open", _positive(part, "rate", float)) for part in filter(None, rates.split(","))]
    if not loads:
        raise ValueError("name a concurrency or a rate")
    return tuple(dict.fromkeys(loads))


def _positive(text: str, name: str, number: Callable[[str], float]) -> float:
    try:
        value = number(text)
    except ValueError:
        value = 0
    if not 0 < value < 10_000:
        raise ValueError(f"{text!r} is no {name}: a number above 0")
    return value


def drive(load: Load, jobs: Sequence[Callable[[float], _T]], *, seed: int) -> list[_T]:
    """Runs every job once and returns the results in the jobs' order. The first failure is raised when all have ended.

    A job is given the moment (time.perf_counter) from which it counts: in an open loop that of its arrival, however
    late it is sent, so that a slow service cannot slow down its own load ("coordinated omission", Tene 2013).
    """
    if load.kind == "closed":
        with ThreadPoolExecutor(int(load.level)) as pool:
            return list(pool.map(lambda job: job(time.perf_counter()), jobs))
    rng = random.Random(seed)
    with ThreadPoolExecutor(max(len(jobs), 1)) as pool:
        arrival = time.perf_counter()
        futures: list[Future[_T]] = []
        for job in jobs:
            arrival += rng.expovariate(load.level)
            time.sleep(max(arrival - time.perf_counter(), 0))
            futures.append(pool.submit(job, arrival))
        return [future.result() for future in futures]
