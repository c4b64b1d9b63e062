"""One interceptor for every kind of call: request id, errors, the log line, and the facts that observers get.

Calls of other services on the same server (health, reflection) pass through untouched.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, Final, TypeAlias, cast

import grpc
import structlog
from google.protobuf.message import DecodeError
from google.rpc import status_pb2

from service import logs, request_facts
from service.errors import DeadlineExceeded, FieldViolation, InvalidRequest, RedraftError
from service.request_facts import Observer, RequestFacts
from service.status import DETAILS_KEY, grpc_code, to_status

REQUEST_ID_KEY: Final = "redraft-request-id"
"""Initial metadata of every answer."""

request_id: ContextVar[str] = ContextVar("request_id")
"""The id of the request that the running task serves."""

_log = structlog.get_logger("redraft")

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


_EARLY_SECONDS: Final = 0.05
"""A caller whose deadline passes cancels the call, and its clock began to run before ours: a cancelling that comes so
shortly before the deadline is the deadline."""


class _Undecodable:
    """Stands for a request that is not a message of its type."""


class RequestInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Turns every exception of a handler into a status with details, logs one line a request, and shows it to each
    observer once at its start and once at its end."""

    def __init__(self, service_name: str, observers: Sequence[Observer] = ()) -> None:
        self._prefix = f"/{service_name}/"
        self._observers = tuple(observers)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler:
        # None where the server has no such method, whatever the stubs say.
        handler: Handler | None = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or not method.startswith(self._prefix):
            return cast(Handler, handler)
        return _wrap(handler, method.removeprefix(self._prefix), self._observers)


def _wrap(handler: Handler, method: str, observers: tuple[Observer, ...]) -> Handler:
    decode = _tolerant(handler.request_deserializer)
    encode = handler.response_serializer
    # The stubs describe the handlers of the synchronous API; these are of asyncio.
    any_handler: Any = handler
    if handler.response_streaming:
        stream = _streaming(any_handler.stream_stream or any_handler.unary_stream, method, observers)
        if handler.request_streaming:
            return grpc.stream_stream_rpc_method_handler(cast(Any, stream), decode, encode)
        return grpc.unary_stream_rpc_method_handler(cast(Any, stream), decode, encode)
    call = _unary(any_handler.stream_unary or any_handler.unary_unary, method, observers)
    if handler.request_streaming:
        return grpc.stream_unary_rpc_method_handler(cast(Any, call), decode, encode)
    return grpc.unary_unary_rpc_method_handler(cast(Any, call), decode, encode)


def _tolerant(deserialize: Callable[[bytes], Any] | None) -> Callable[[bytes], Any] | None:
    """A request that cannot be decoded becomes a value, so that its error carries details like any other."""
    if deserialize is None:
        return None

    def decode(data: bytes) -> Any:
        try:
            return deserialize(data)
        except DecodeError:
            return _Undecodable()

    return decode


def _check_decoded(request: Any) -> None:
    if isinstance(request, _Undecodable):
        raise InvalidRequest(
            [FieldViolation("", "MALFORMED", "not a message of this method: not protobuf, or a `string` is not UTF-8")]
        )


def _unary(
    behaviour: Callable[[Any, Context], Awaitable[Any]], method: str, observers: Sequence[Observer] = ()
) -> Callable[[Any, Context], Awaitable[Any]]:
    async def call(request: Any, context: Context) -> Any:
        observed = _Call(method, context, observers)
        failure: BaseException
        try:
            await observed.begin()
            _check_decoded(request)
            response = await behaviour(request, context)
        except BaseException as error:  # noqa: BLE001
            failure = error
        else:
            observed.succeed()
            return response
        # Outside the except block: if the status cannot be sent either, gRPC prints the failure of that, and not also
        # the first one with its message, which may hold a caller's text.
        await observed.fail(failure)
        raise failure.with_traceback(None) from None

    return call


def _streaming(
    behaviour: Callable[[Any, Context], AsyncIterator[Any]], method: str, observers: Sequence[Observer] = ()
) -> Callable[[Any, Context], Awaitable[None]]:
    async def call(request: Any, context: Context) -> None:
        observed = _Call(method, context, observers)
        failure: BaseException
        try:
            await observed.begin()
            _check_decoded(request)
            # Written from here instead of yielded: when the caller goes away in the midst of a write, this coroutine is
            # what is cancelled, and the handler's iterator is closed at once. gRPC does not close one that yields: the
            # engine would decode on until it is collected.
            async with aclosing(cast(Any, behaviour(request, context))) as responses:
                async for response in responses:
                    await context.write(response)
        except BaseException as error:  # noqa: BLE001
            failure = error
        else:
            observed.succeed()
            return
        # Outside the except block, as for unary calls.
        await observed.fail(failure)
        raise failure.with_traceback(None) from None

    return call


class _Call:
    """One request: its id, its start, its end."""

    def __init__(self, method: str, context: Context, observers: Sequence[Observer]) -> None:
        self._method = method
        self._context = context
        self._id = uuid.uuid4().hex
        self._facts = RequestFacts(self._id, method)
        self._observers = observers

    async def begin(self) -> None:
        request_id.set(self._id)
        request_facts.begin(self._facts)
        for observer in self._observers:
            observer.request_started(self._facts)
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=self._id, method=self._method)
        await self._context.send_initial_metadata(((REQUEST_ID_KEY, self._id),))

    def succeed(self) -> None:
        self._end("OK", "OK")

    async def fail(self, error: BaseException) -> None:
        """Logs the failure, then ends the call with a status. Returns only when nobody is there to receive one."""
        if isinstance(error, asyncio.CancelledError):
            code = "DEADLINE_EXCEEDED" if self._late(_EARLY_SECONDS) else "CANCELLED"
            self._end(code, code)
            return
        bug = not isinstance(error, RedraftError)
        if self._late() and not bug:
            error = DeadlineExceeded("the deadline of the call passed before the result was there")
        status = to_status(error, self._id)
        code = grpc_code(status).name
        if isinstance(error, RedraftError):
            self._end(code, error.reason, reason=error.reason)
        else:
            self._end(code, "INTERNAL", level="error", reason="INTERNAL", error=logs.describe(error))
        await self._abort(status)

    async def _abort(self, status: status_pb2.Status) -> None:
        await self._context.abort(grpc_code(status), status.message, ((DETAILS_KEY, status.SerializeToString()),))

    def _late(self, early: float = 0.0) -> bool:
        # None where the call has no deadline, whatever the stubs say.
        remaining: float | None = self._context.time_remaining()
        return remaining is not None and remaining <= early

    def _end(self, code: str, outcome: str, *, level: str = "info", **fields: object) -> None:
        self._facts.end(code, outcome)
        getattr(_log, level)("request", code=code, duration_seconds=round(self._facts.seconds, 6), **fields)
        for observer in self._observers:
            try:
                observer.request_ended(self._facts)
            except Exception as error:  # noqa: BLE001
                # The request is done; a figure that could not be taken must not take its answer with it.
                _log.error("a request was not measured", error=logs.describe(error))
