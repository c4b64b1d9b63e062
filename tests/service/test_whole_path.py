"""From the wire through the real pipeline and back, with a scripted engine: the limits that only the pipeline knows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from service.agreement import Agreement
from service.client import AppliedEdit, AsyncClient, DraftOptions, EditCall, Instruction, Sampling, UpdateSnippet
from service.errors import EditNotApplicable, InvalidRequest, RedraftError, ResultRejected

SECRET = "hunter2"
BEFORE = f"def f():\r\n    return '{SECRET} é <eos> </code>'\r\n\r\n\r\ndef g():\r\n    return 1\r\n"
SNIPPET = "# ... existing code ...\ndef g():\n    return 2\n"
CALL = EditCall(path="a.py", content=b"\xef\xbb\xbf" + BEFORE.encode(), edit=UpdateSnippet(SNIPPET))

Serve = Callable[..., Awaitable[Any]]


@pytest.fixture(params=["unary", "stream"])
def ask(request: pytest.FixtureRequest) -> Callable[[str, EditCall], Awaitable[AppliedEdit]]:
    async def unary(address: str, call: EditCall) -> AppliedEdit:
        async with AsyncClient(address, timeout_seconds=20) as client:
            return await client.apply(call)

    async def stream(address: str, call: EditCall) -> AppliedEdit:
        async with AsyncClient(address, timeout_seconds=20) as client:
            *chunks, last = [event async for event in client.stream(call)]
        assert isinstance(last, AppliedEdit)
        assert b"".join(chunk.data for chunk in chunks if not isinstance(chunk, AppliedEdit)) == last.data
        return last

    return unary if request.param == "unary" else stream


async def test_marks_and_line_ends_come_back(serve: Serve, ask: Any) -> None:
    address, _ = await serve()
    applied = await ask(address, CALL)
    expected = b"\xef\xbb\xbf" + BEFORE.replace("return 1", "return 2").encode()
    assert applied.data == expected
    sent = b"\xef\xbb\xbf" + BEFORE.encode()
    position, rebuilt = 0, b""
    for hunk in applied.hunks:
        rebuilt += sent[position : hunk.original.start] + applied.data[hunk.result.start : hunk.result.end]
        position = hunk.original.end
    assert rebuilt + sent[position:] == expected
    assert applied.agreement is Agreement.MODEL_AND_PLAN


async def test_over_context(serve: Serve, ask: Any) -> None:
    address, engine = await serve(max_model_len=40)
    with pytest.raises(InvalidRequest) as caught:
        await ask(address, CALL)
    assert [(v.field, v.reason) for v in caught.value.violations] == [("file.content", "OVER_CONTEXT")]
    assert engine.requests == []


async def test_a_result_cut_by_the_budget_is_an_error(serve: Serve, ask: Any) -> None:
    address, _ = await serve()
    call = EditCall(path="a.py", content=BEFORE, edit=UpdateSnippet(SNIPPET), sampling=Sampling(max_output_tokens=5))
    with pytest.raises(ResultRejected) as caught:
        await ask(address, call)
    assert caught.value.reason == "RESULT_TRUNCATED"
    assert SECRET not in caught.value.message


async def test_a_form_that_the_model_cannot_take(serve: Serve, ask: Any) -> None:
    address, _ = await serve()
    with pytest.raises(EditNotApplicable) as caught:
        await ask(address, EditCall(path="a.py", content=BEFORE, edit=Instruction("make g return 2")))
    assert caught.value.reason == "FORM_NOT_SUPPORTED_BY_MODEL"


async def test_cancelling_aborts_the_engines_request(serve: Serve, ask: Any) -> None:
    address, engine = await serve(delay=0.05)
    task = asyncio.ensure_future(ask(address, CALL))
    await _until(lambda: bool(engine.requests))
    task.cancel()
    await _until(lambda: bool(engine.aborted))
    assert engine.aborted == [engine.requests[0].request_id]


async def test_a_deadline_aborts_the_engines_request(serve: Serve) -> None:
    address, engine = await serve(delay=0.05)
    async with AsyncClient(address) as client:
        with pytest.raises(RedraftError) as caught:
            await client.apply(CALL, timeout_seconds=0.4)
    assert caught.value.reason == "DEADLINE_EXCEEDED"
    await _until(lambda: bool(engine.aborted))


async def test_drafting_options_reach_the_engine(serve: Serve) -> None:
    address, engine = await serve()
    async with AsyncClient(address) as client:
        await client.apply(
            EditCall(path="a.py", content=BEFORE, edit=CALL.edit, draft=DraftOptions(max_draft_tokens=7))
        )
    assert engine.requests[0].draft.max_draft_tokens == 7


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  # the engine has no event to wait for
            await asyncio.sleep(0.01)
