"""What becomes of a failure when its status cannot be sent, or comes after the deadline.

A real server cannot be made to fail at sending a status, so the context is one that does.
"""

from __future__ import annotations

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

    async def call() -> None:
        if not streaming:
            await _unary(fail, "ApplyEdit")(None, context)
        async for _ in _streaming(fail_streaming, "StreamApplyEdit")(None, context):
            pass

    with pytest.raises(ConnectionError) as caught:
        await call()
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    (line,) = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert (line["code"], line["level"], line["error"][0]) == ("INTERNAL", "error", "builtins.ValueError")
    assert SECRET not in lines.getvalue()
