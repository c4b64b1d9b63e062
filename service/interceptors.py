"""One interceptor for every kind of call: request id, errors, the log line, and the facts that observers get.

A call that brings many requests is logged here; its requests are what is observed, one by one, by the servicer.

Calls of other services on the same server (health, reflection) pass through untouched.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Final, TypeAlias, cast

import grpc
from google.protobuf.message import DecodeError

from service.errors import DeadlineExceeded, FieldViolation, InvalidRequest, RedraftError
from service.observed_request import ObservedRequest
from service.request_facts import Observer
from service.status import DETAILS_KEY, grpc_code

REQUEST_ID_KEY: Final = "redraft-request-id"
"""Initial metadata of every answer."""

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
StreamBehaviour: TypeAlias = Callable[[Any, Context], AsyncIterator[Any]]


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
    if handler.request_streaming:
        stream = _streaming(_of_decoded(any_handler.stream_stream), method, None)
        return grpc.stream_stream_rpc_method_handler(cast(Any, stream), decode, encode)
    if handler.response_streaming:
        stream = _streaming(any_handler.unary_stream, method, observers)
        return grpc.unary_stream_rpc_method_handler(cast(Any, stream), decode, encode)
    call = _unary(any_handler.unary_unary, method, observers)
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


def _of_decoded(
    behaviour: Callable[[Any, Context], AsyncIterator[Any]],
) -> Callable[[Any, Context], AsyncIterator[Any]]:
    """A handler of a stream of requests, each of them checked when it is read."""

    async def checked(requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for request in requests:
            _check_decoded(request)
            yield request

    return lambda requests, context: behaviour(checked(requests), context)


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
    behaviour: StreamBehaviour, method: str, observers: Sequence[Observer] | None = ()
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
    """One call: a request in itself; or, where observers is None, a stream of them, each observed by itself."""

    def __init__(self, method: str, context: Context, observers: Sequence[Observer] | None) -> None:
        self._context = context
        self._request = ObservedRequest(method, observers or (), "call" if observers is None else "request")

    async def begin(self) -> None:
        self._request.begin()
        await self._context.send_initial_metadata(((REQUEST_ID_KEY, self._request.id),))

    def succeed(self) -> None:
        self._request.succeed()

    async def fail(self, error: BaseException) -> None:
        """Logs the failure, then ends the call with a status. Returns only when nobody is there to receive one."""
        if isinstance(error, asyncio.CancelledError):
            self._request.cancelled(late=self._late(_EARLY_SECONDS))
            return
        if self._late() and isinstance(error, RedraftError):
            error = DeadlineExceeded("the deadline of the call passed before the result was there")
        status = self._request.fail(error)
        await self._context.abort(grpc_code(status), status.message, ((DETAILS_KEY, status.SerializeToString()),))

    def _late(self, early: float = 0.0) -> bool:
        # None where the call has no deadline, whatever the stubs say.
        remaining: float | None = self._context.time_remaining()
        return remaining is not None and remaining <= early
