"""Several at once, results as they finish, no more read than there is room for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from service.as_finished import as_finished


class Work:
    """Each request waits until it is let go; what is read and what runs can be looked at."""

    def __init__(self) -> None:
        self.read: list[int] = []
        self.running: set[int] = set()
        self.gates: dict[int, asyncio.Event] = {}
        self.cancelled: list[int] = []

    async def requests(self, count: int, error: Exception | None = None) -> AsyncIterator[int]:
        for request in range(count):
            self.read.append(request)
            yield request
        if error is not None:
            raise error

    async def __call__(self, request: int) -> int:
        gate = self.gates.setdefault(request, asyncio.Event())
        self.running.add(request)
        try:
            await gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(request)
            raise
        finally:
            self.running.discard(request)
        if request == 13:
            raise LookupError("13")
        return request * 10

    def let_go(self, request: int) -> None:
        self.gates.setdefault(request, asyncio.Event()).set()


async def settled() -> None:
    """Every task has come as far as it can without the test."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_results_come_as_they_finish() -> None:
    work = Work()
    async with aclosing(as_finished(work.requests(3), work, limit=3)) as results:
        work.let_go(2)
        assert await anext(results) == 20
        work.let_go(0)
        assert await anext(results) == 0
        work.let_go(1)
        assert [result async for result in results] == [10]


async def test_no_more_is_read_than_there_is_room_for() -> None:
    work = Work()
    async with aclosing(as_finished(work.requests(5), work, limit=2)) as results:
        first = asyncio.ensure_future(anext(results))
        await settled()
        assert (work.read, work.running) == ([0, 1], {0, 1})
        work.let_go(1)
        assert await first == 10
        await settled()
        assert work.read == [0, 1]  # nobody has asked for the next result
        second = asyncio.ensure_future(anext(results))
        await settled()
        assert (work.read, work.running) == ([0, 1, 2], {0, 2})
        for request in range(5):
            work.let_go(request)
        assert sorted([await second, *[result async for result in results]]) == [0, 20, 30, 40]


async def test_nothing_to_do() -> None:
    work = Work()
    assert [result async for result in as_finished(work.requests(0), work, limit=2)] == []


async def test_closing_cancels_what_runs() -> None:
    work = Work()
    results = as_finished(work.requests(4), work, limit=2)
    asking = asyncio.ensure_future(anext(results))
    await settled()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await results.aclose()
    assert sorted(work.cancelled) == [0, 1]
    assert work.read == [0, 1]


async def test_a_failure_of_the_requests_comes_after_the_results_of_those_read() -> None:
    work = Work()
    work.let_go(0)
    work.let_go(1)
    results = as_finished(work.requests(2, LookupError("gone")), work, limit=5)
    assert sorted([await anext(results), await anext(results)]) == [0, 10]
    with pytest.raises(LookupError, match="gone"):
        await anext(results)


async def test_a_failure_of_the_work_is_raised_and_cancels_the_rest() -> None:
    work = Work()
    work.let_go(13)
    with pytest.raises(LookupError, match="13"):
        await anext(as_finished(work.requests(14), work, limit=14))
    assert sorted(work.cancelled) == list(range(13))
