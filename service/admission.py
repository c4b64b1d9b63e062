"""Who may come in: a bound on the requests in flight, and closed doors while starting and draining."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from service.errors import Unavailable


class Admission:
    """Counts requests in flight. Closed until `open` is called, and again after `drain`. For one event loop."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._in_flight = 0
        self._closed: Unavailable | None = Unavailable(
            "the service is starting: try again in a few seconds", reason="STARTING", retry_seconds=5.0
        )
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def in_flight(self) -> int:
        return self._in_flight

    def open(self) -> None:
        self._closed = None

    def drain(self) -> None:
        """Refuses new requests; those in flight go on."""
        self._closed = Unavailable(
            "the service is shutting down: send the request to another instance, or here again later",
            reason="DRAINING",
        )

    async def idle(self) -> None:
        """Returns when no request is in flight."""
        await self._idle.wait()

    @contextmanager
    def request(self) -> Iterator[None]:
        """Raises Unavailable with the reason STARTING, DRAINING or QUEUE_FULL."""
        if self._closed is not None:
            raise Unavailable(
                self._closed.message, reason=self._closed.reason, retry_seconds=self._closed.retry_seconds
            )
        if self._in_flight >= self._limit:
            raise Unavailable("the queue is full: try again after the delay in RetryInfo", reason="QUEUE_FULL")
        self._in_flight += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._in_flight -= 1
            if self._in_flight == 0:
                self._idle.set()
