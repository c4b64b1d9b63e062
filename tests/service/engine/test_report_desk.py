"""Reports that come, fail, and never come: the text waits for none of them for long."""

from __future__ import annotations

import asyncio

import pytest

from drafts.core.types import DraftReport
from service.engine.report_desk import ReportDesk, answer_or_give_up
from service.errors import EngineUnavailable

WAIT = 10


async def healthy() -> None: ...


async def dead() -> None:
    raise EngineUnavailable("dead")


async def fail(error: Exception) -> int:
    raise error


async def test_an_answer_comes_back() -> None:
    assert await answer_or_give_up(asyncio.sleep(0, 7), dead) == 7
    assert await answer_or_give_up(asyncio.sleep(0.05, 7), healthy, look_seconds=0.01) == 7


@pytest.mark.parametrize("error", [Exception("as vLLM raises it"), KeyError("x"), EngineUnavailable("dead")])
async def test_a_call_that_fails_is_unavailable(error: Exception) -> None:
    with pytest.raises(EngineUnavailable):
        await answer_or_give_up(fail(error), healthy)


async def test_a_call_under_which_the_engine_dies_is_given_up() -> None:
    pending = asyncio.get_running_loop().create_future()
    with pytest.raises(EngineUnavailable, match="dead"):
        await asyncio.wait_for(answer_or_give_up(pending, dead, look_seconds=0.01), WAIT)
    assert pending.cancelled()


async def test_a_call_that_is_never_answered_is_given_up() -> None:
    pending = asyncio.get_running_loop().create_future()
    with pytest.raises(EngineUnavailable, match="did not answer within"):
        await asyncio.wait_for(answer_or_give_up(pending, healthy, seconds=0.02, look_seconds=0.01), WAIT)
    assert pending.cancelled()


async def test_requests_that_finish_meanwhile_share_the_next_call() -> None:
    calls: list[list[str]] = []
    go = asyncio.Event()

    async def fetch(keys: list[str]) -> dict[str, DraftReport]:
        calls.append(keys)
        await go.wait()
        return {key: DraftReport(output_tokens=int(key)) for key in keys if key != "3"}

    desk = ReportDesk(fetch)
    waiting = [asyncio.ensure_future(desk.fetch("1"))]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting += [asyncio.ensure_future(desk.fetch(key)) for key in ("2", "3")]
    await asyncio.sleep(0)
    go.set()
    reports = await asyncio.wait_for(asyncio.gather(*waiting), WAIT)
    assert calls == [["1"], ["2", "3"]]
    assert [report.output_tokens for report in reports] == [1, 2, 0]


@pytest.mark.parametrize("error", [EngineUnavailable("dead"), ValueError("undecodable"), Exception("any")])
async def test_a_lost_report_is_empty_and_the_desk_goes_on(error: Exception) -> None:
    failures = [error]

    async def fetch(keys: list[str]) -> dict[str, DraftReport]:
        if failures:
            raise failures.pop()
        return {key: DraftReport(output_tokens=5) for key in keys}

    desk = ReportDesk(fetch)
    assert await asyncio.wait_for(desk.fetch("a"), WAIT) == DraftReport()
    assert await asyncio.wait_for(desk.fetch("b"), WAIT) == DraftReport(output_tokens=5)
