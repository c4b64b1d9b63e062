from __future__ import annotations

import asyncio

import pytest

from service.engine.base import Engine, FinishReason, GenerateRequest, Output
from service.engine.scripted import Script, ScriptedEngine
from service.errors import EngineUnavailable


def request(max_tokens: int = 100, stop: tuple[int, ...] = (), id: str = "r") -> GenerateRequest:
    return GenerateRequest(id, [1, 2], max_tokens, stop_token_ids=stop)


async def collect(engine: Engine, asked: GenerateRequest) -> list[Output]:
    return [output async for output in engine.generate(asked)]


async def test_emits_its_chunks_and_a_report() -> None:
    outputs = await collect(ScriptedEngine(Script([[5, 6], [7], [8, 9, 10]])), request())
    assert [list(output.token_ids) for output in outputs] == [[5, 6], [7], [8, 9, 10]]
    assert [output.finish_reason for output in outputs] == [None, None, FinishReason.STOP]
    report = outputs[-1].report
    assert report is not None
    assert (report.output_tokens, report.target_passes, report.accepted) == (6, 3, 3)


async def test_token_limit_cuts_the_output() -> None:
    outputs = await collect(ScriptedEngine(Script([[5, 6], [7, 8]])), request(max_tokens=3))
    assert [list(output.token_ids) for output in outputs] == [[5, 6], [7]]
    assert outputs[-1].finish_reason is FinishReason.LENGTH


async def test_stop_token_ends_the_output_and_is_not_in_it() -> None:
    outputs = await collect(ScriptedEngine(Script([[5, 6], [7, 8]], FinishReason.LENGTH)), request(stop=(7,)))
    assert [list(output.token_ids) for output in outputs] == [[5, 6], []]
    assert outputs[-1].finish_reason is FinishReason.STOP


async def test_empty_script_ends_at_once() -> None:
    outputs = await collect(ScriptedEngine(Script()), request())
    assert [(list(output.token_ids), output.finish_reason) for output in outputs] == [([], FinishReason.STOP)]


@pytest.mark.parametrize("after", [0, 1, 2])
async def test_fails_after_so_many_chunks(after: int) -> None:
    engine = ScriptedEngine(Script([[5], [6]], fail_after=after))
    seen: list[int] = []

    async def read() -> None:
        async for output in engine.generate(request()):
            assert output.finish_reason is None
            seen.extend(output.token_ids)

    with pytest.raises(EngineUnavailable):
        await read()
    assert seen == [5, 6][:after]
    assert engine.aborted == []


async def test_closing_early_counts_as_an_abort() -> None:
    engine = ScriptedEngine(lambda asked: Script([[5], [6]] if asked.request_id == "a" else []))
    answer = engine.generate(request(id="a"))
    assert list((await anext(answer)).token_ids) == [5]
    await answer.aclose()
    await collect(engine, request(id="b"))
    assert engine.aborted == ["a"]
    assert [asked.request_id for asked in engine.requests] == ["a", "b"]


async def test_cancelling_during_a_delay_counts_as_an_abort() -> None:
    engine = ScriptedEngine(Script([[5]], delay=60))
    task = asyncio.create_task(collect(engine, request()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert engine.aborted == ["r"]


async def test_dead_engine_fails_everything() -> None:
    engine = ScriptedEngine(Script([[5], [6]]))
    await engine.start()
    answer = engine.generate(request())
    await anext(answer)
    await engine.close()
    with pytest.raises(EngineUnavailable):
        await anext(answer)
    with pytest.raises(EngineUnavailable):
        await engine.check_health()
    with pytest.raises(EngineUnavailable):
        await collect(engine, request())
