"""What becomes of a failure when its status cannot be sent, or comes after the deadline.

A real server cannot be made to fail at sending a status, so the context is one that does.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import structlog

from service import logs
from service.config import LogConfig
from service.interceptors import _streaming, _unary

SECRET = "hunter2_is_the_callers_text"


class BrokenContext:
    def __init__(self, remaining: float | None) -> None:
        self._remaining = remaining

    async def send_initial_metadata(self, metadata: object) -> None: ...

    async def write(self, message: object) -> None: ...

    async def abort(self, *status: object) -> None:
        raise ConnectionError("the status cannot be sent")

    def time_remaining(self) -> float | None:
        return self._remaining


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    sink = io.StringIO()
    monkeypatch.setattr("sys.stderr", sink)
    before = structlog.get_config()
    logs.configure(LogConfig(format="json", level="debug"), cache=False)
    yield sink
    structlog.configure(**before)


async def fail(request: object, context: object) -> Any:
    raise ValueError(SECRET)


async def fail_streaming(request: object, context: object) -> AsyncIterator[Any]:
    yield 1
    raise ValueError(SECRET)


@pytest.mark.parametrize("remaining", [None, 5.0, -1.0])
@pytest.mark.parametrize("streaming", [False, True])
async def test_a_bug_is_logged_and_not_chained(lines: io.StringIO, streaming: bool, remaining: float | None) -> None:
    context: Any = BrokenContext(remaining)

    wrapped = _streaming(fail_streaming, "StreamApplyEdit") if streaming else _unary(fail, "ApplyEdit")
    with pytest.raises(ConnectionError) as caught:
        await wrapped(None, context)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    (line,) = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert (line["code"], line["level"], line["error"][0]) == ("INTERNAL", "error", "builtins.ValueError")
    assert SECRET not in lines.getvalue()


class FullContext(BrokenContext):
    """The caller reads nothing: a write waits for ever."""

    def __init__(self) -> None:
        super().__init__(None)
        self.writing = asyncio.Event()

    async def write(self, message: object) -> None:
        self.writing.set()
        await asyncio.Event().wait()


async def test_a_caller_that_leaves_in_the_midst_of_a_write_ends_the_work_at_once(lines: io.StringIO) -> None:
    closed = asyncio.Event()

    async def work(request: object, context: object) -> AsyncIterator[Any]:
        try:
            yield 1
        finally:
            closed.set()

    context: Any = FullContext()
    task = asyncio.ensure_future(_streaming(work, "StreamApplyEdit")(None, context))
    await context.writing.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert closed.is_set()  # although the failure, and with it every frame, is still referenced
    assert caught.value.__traceback__ is not None
    (line,) = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert line["code"] == "CANCELLED"


@pytest.mark.parametrize(
    ("remaining", "code"),
    [(None, "CANCELLED"), (5.0, "CANCELLED"), (0.01, "DEADLINE_EXCEEDED"), (-1.0, "DEADLINE_EXCEEDED")],
)
async def test_a_cancelling_at_the_deadline_is_the_deadline(
    lines: io.StringIO, remaining: float | None, code: str
) -> None:
    """The caller's clock began to run before the service's, so its cancelling may come a little before the deadline."""

    async def work(request: object, context: object) -> Any:
        raise asyncio.CancelledError

    context: Any = BrokenContext(remaining)
    with pytest.raises(asyncio.CancelledError):
        await _unary(work, "ApplyEdit")(None, context)
    (line,) = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert line["code"] == code
