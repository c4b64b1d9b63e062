"""Who may come in: a bound on the requests in flight, and closed doors while starting and draining."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from service.errors import Unavailable

_Request = TypeVar("_Request")


class Admission:
    """Counts requests in flight. Closed until `open` is called, and again after `drain`. For one event loop."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._tasks: set[asyncio.Task[Any]] = set()
        self._cancelled: set[asyncio.Task[Any]] = set()
        self._closed: Unavailable | None = Unavailable(
            "the service is starting: try again in a few seconds", reason="STARTING", retry_seconds=5.0
        )
        self._idle = asyncio.Event()
        self._idle.set()
        self._draining = asyncio.Event()

    @property
    def in_flight(self) -> int:
        return len(self._tasks)

    def open(self) -> None:
        self._closed = None

    def drain(self) -> None:
        """Refuses new requests; those in flight go on."""
        self._closed = _draining()
        self._draining.set()

    async def admitted(self, requests: AsyncIterator[_Request]) -> AsyncGenerator[_Request, None]:
        """The requests of one call, as they come. Raises Unavailable with the reason DRAINING instead of waiting for
        more once the service drains."""
        draining = asyncio.ensure_future(self._draining.wait())
        reading: asyncio.Future[_Request] | None = None
        try:
            while True:
                reading = asyncio.ensure_future(anext(requests))
                await asyncio.wait((reading, draining), return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    raise _draining()
                try:
                    request = reading.result()
                except StopAsyncIteration:
                    return
                yield request
        finally:
            draining.cancel()
            if reading is not None:
                reading.cancel()

    def cancel(self) -> None:
        """Ends the requests in flight with the reason DRAINING. They end soon; `idle` tells when."""
        for task in self._tasks - self._cancelled:
            self._cancelled.add(task)
            task.cancel()

    async def idle(self) -> None:
        """Returns when no request is in flight."""
        await self._idle.wait()

    @contextmanager
    def request(self) -> Iterator[None]:
        """One request, in the task that serves it.

        Raises Unavailable with the reason STARTING, DRAINING (also in the midst of the request) or QUEUE_FULL.
        """
        if self._closed is not None:
            raise Unavailable(
                self._closed.message, reason=self._closed.reason, retry_seconds=self._closed.retry_seconds
            )
        if len(self._tasks) >= self._limit:
            raise Unavailable("the queue is full: try again after the delay in RetryInfo", reason="QUEUE_FULL")
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a request is admitted in the task that serves it")
        self._tasks.add(task)
        self._idle.clear()
        try:
            yield
        except asyncio.CancelledError:
            if task not in self._cancelled:
                raise
            task.uncancel()
            raise _draining() from None
        finally:
            self._cancelled.discard(task)
            self._tasks.discard(task)
            if not self._tasks:
                self._idle.set()


def _draining() -> Unavailable:
    return Unavailable(
        "the service is shutting down: send the request to another instance, or here again later", reason="DRAINING"
    )
