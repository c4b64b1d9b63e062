"""Work on a stream of requests, several at once, with results as they finish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from typing import Any, TypeVar

_Request = TypeVar("_Request")
_Result = TypeVar("_Result")


async def as_finished(
    requests: AsyncIterable[_Request], work: Callable[[_Request], Awaitable[_Result]], *, limit: int
) -> AsyncGenerator[_Result, None]:
    """Yields work(request) for every request, each in a task of its own, at most `limit` at once.

    A request is read only when there is room for it, so whoever sends them is slowed down to the pace of the work. What
    reading raises comes after the results of what was read; what `work` raises, at once. Closing cancels what runs.
    """
    source = aiter(requests)
    running: set[asyncio.Future[_Result]] = set()
    reading: asyncio.Future[_Request] | None = None
    failure: Exception | None = None
    more = True
    try:
        while more or running:
            if more and reading is None and len(running) < limit:
                reading = asyncio.ensure_future(anext(source))
            waiting: set[asyncio.Future[Any]] = running if reading is None else {*running, reading}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if reading is not None and reading.done():
                try:
                    running.add(asyncio.ensure_future(work(reading.result())))
                except StopAsyncIteration:
                    more = False
                except Exception as error:  # noqa: BLE001
                    # Whatever it is, what was read before it deserves its results first.
                    failure, more = error, False
                reading = None
            for task in [task for task in running if task.done()]:
                running.remove(task)
                yield task.result()
    finally:
        left = [*running, *(() if reading is None else (reading,))]
        for one in left:
            one.cancel()
        await asyncio.gather(*left, return_exceptions=True)
    if failure is not None:
        raise failure
