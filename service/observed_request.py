"""One request as the log and the observers see it: its id, its start, its end."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Final, Literal

import structlog
from google.rpc import status_pb2

from service import logs, request_facts
from service.errors import RedraftError
from service.request_facts import Observer, RequestFacts
from service.status import grpc_code, to_status

request_id: Final[ContextVar[str]] = ContextVar("request_id")
"""The id of the request that the running task serves."""

_log = structlog.get_logger("redraft")


class ObservedRequest:
    """Begun once, then ended once, in the task that serves it: logs one line, and shows the request to each observer
    at its start and at its end.

    kind: a request that is a call, an item of a call, or a call that is no request but brings items.
    """

    def __init__(
        self, method: str, observers: Sequence[Observer], kind: Literal["request", "item", "call"] = "request"
    ) -> None:
        self.id = uuid.uuid4().hex
        self._method = method
        self._event = "call" if kind == "call" else "request"
        self._observers = observers
        self._facts = RequestFacts(self.id, method, item=kind == "item")

    def begin(self) -> None:
        request_id.set(self.id)
        request_facts.begin(self._facts)
        for observer in self._observers:
            observer.request_started(self._facts)
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=self.id, method=self._method)

    def succeed(self) -> None:
        self._end("OK", "OK")

    def cancelled(self, *, late: bool = False) -> None:
        """The caller went away. late: because its deadline passed."""
        code = "DEADLINE_EXCEEDED" if late else "CANCELLED"
        self._end(code, code)

    def fail(self, error: BaseException) -> status_pb2.Status:
        """The status that the caller gets; what is not a RedraftError is a bug, and logged as one."""
        status = to_status(error, self.id)
        code = grpc_code(status).name
        if isinstance(error, RedraftError):
            self._end(code, error.reason, reason=error.reason)
        else:
            self._end(code, "INTERNAL", level="error", reason="INTERNAL", error=logs.describe(error))
        return status

    def _end(self, code: str, outcome: str, *, level: str = "info", **fields: object) -> None:
        self._facts.end(code, outcome)
        getattr(_log, level)(self._event, code=code, duration_seconds=round(self._facts.seconds, 6), **fields)
        for observer in self._observers:
            try:
                observer.request_ended(self._facts)
            except Exception as error:  # noqa: BLE001
                # The request is done; a figure that could not be taken must not take its answer with it.
                _log.error("a request was not measured", error=logs.describe(error))
