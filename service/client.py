"""Typed clients of the service, for threads (`Client`) and for asyncio (`AsyncClient`).

    with Client("localhost:50051") as client:
        applied = client.apply(EditCall(path="a.py", content=text, edit=UpdateSnippet(snippet)))
        print(applied.text)

Both raise the errors of service/errors.py, rebuilt from the details of the service's status.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable
from types import TracebackType
from typing import Any, Final, Self, cast

import grpc

from drafts.align.plan import Instruction, SearchReplace, SearchReplaceBlock, UnifiedDiff, UpdateSnippet
from service.channel_options import direct_if_loopback
from service.client_codec import (
    AppliedEdit,
    BatchOutcome,
    ClientEdit,
    EditCall,
    SearchReplaceText,
    applied_edit,
    batch_outcome,
    batch_request,
    stream_event,
    stream_request,
    unary_request,
)
from service.pb import apply_edit_pb2_grpc as pb_grpc
from service.status import from_rpc_error
from service.types import DraftOptions, RequestClass, Sampling, TextChunk

__all__ = [
    "AppliedEdit",
    "AsyncClient",
    "BatchOutcome",
    "Client",
    "ClientEdit",
    "DraftOptions",
    "EditCall",
    "Instruction",
    "RequestClass",
    "Sampling",
    "SearchReplace",
    "SearchReplaceBlock",
    "SearchReplaceText",
    "TextChunk",
    "UnifiedDiff",
    "UpdateSnippet",
]

# The service limits what it sends by the size of the file, so the client sets no limit of its own.
_OPTIONS: Final = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))


class Client:
    """A client for threads; a context manager. May be shared between threads.

    timeout_seconds: for one call, if the call gives none; None waits for ever.
    """

    def __init__(self, address: str, *, timeout_seconds: float | None = None) -> None:
        self._address = address
        self._timeout_seconds = timeout_seconds
        self._channel = grpc.insecure_channel(address, options=(*_OPTIONS, *direct_if_loopback(address)))
        self._stub = pb_grpc.ApplyEditServiceStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._channel.close()

    def _seconds(self, of_call: float | None) -> float | None:
        return self._timeout_seconds if of_call is None else of_call

    def apply(self, call: EditCall, *, timeout_seconds: float | None = None) -> AppliedEdit:
        """Applies one edit. Raises RedraftError."""
        try:
            response = self._stub.ApplyEdit(unary_request(call), timeout=self._seconds(timeout_seconds))
        except grpc.RpcError as error:
            raise from_rpc_error(error, self._address) from None
        return applied_edit(response.result)

    def stream(
        self, call: EditCall, *, timeout_seconds: float | None = None
    ) -> Generator[TextChunk | AppliedEdit, None, None]:
        """Yields text as it comes, then the result. Closing it before the end cancels the call. Raises RedraftError."""
        responses = self._stub.StreamApplyEdit(stream_request(call), timeout=self._seconds(timeout_seconds))
        try:
            for response in responses:
                yield stream_event(response)
        except grpc.RpcError as error:
            raise from_rpc_error(error, self._address) from None
        finally:
            cast(Any, responses).cancel()

    def batch(
        self, calls: Iterable[tuple[str, EditCall]], *, timeout_seconds: float | None = None
    ) -> Generator[BatchOutcome, None, None]:
        """Applies many edits, each under an id of the caller's, and yields what became of each as they finish.

        calls: read in a thread of gRPC's as the service has room, so a generator may read files as it goes.
        timeout_seconds: for all of them together. Closing the generator before the end cancels what is left. Raises
        RedraftError when the call as a whole fails; items not yielded by then have no outcome.
        """
        requests = (batch_request(item_id, call) for item_id, call in calls)
        responses = self._stub.BatchApplyEdits(requests, timeout=self._seconds(timeout_seconds))
        try:
            for response in responses:
                yield batch_outcome(response)
        except grpc.RpcError as error:
            raise from_rpc_error(error, self._address) from None
        finally:
            cast(Any, responses).cancel()


class AsyncClient:
    """A client for asyncio; an asynchronous context manager, made and used within one event loop.

    timeout_seconds: for one call, if the call gives none; None waits for ever.
    """

    def __init__(self, address: str, *, timeout_seconds: float | None = None) -> None:
        self._address = address
        self._timeout_seconds = timeout_seconds
        self._channel = grpc.aio.insecure_channel(address, options=(*_OPTIONS, *direct_if_loopback(address)))
        self._stub = cast("pb_grpc.ApplyEditServiceAsyncStub", pb_grpc.ApplyEditServiceStub(cast(Any, self._channel)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._channel.close(None)

    def _seconds(self, of_call: float | None) -> float | None:
        return self._timeout_seconds if of_call is None else of_call

    async def apply(self, call: EditCall, *, timeout_seconds: float | None = None) -> AppliedEdit:
        """Applies one edit. Cancelling the task cancels the call. Raises RedraftError."""
        try:
            response = await self._stub.ApplyEdit(unary_request(call), timeout=self._seconds(timeout_seconds))
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error, self._address) from None
        return applied_edit(response.result)

    async def stream(
        self, call: EditCall, *, timeout_seconds: float | None = None
    ) -> AsyncGenerator[TextChunk | AppliedEdit, None]:
        """Yields text as it comes, then the result. Closing it before the end cancels the call. Raises RedraftError."""
        responses = self._stub.StreamApplyEdit(stream_request(call), timeout=self._seconds(timeout_seconds))
        try:
            async for response in responses:
                yield stream_event(response)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error, self._address) from None
        finally:
            responses.cancel()

    async def batch(
        self, calls: AsyncIterable[tuple[str, EditCall]], *, timeout_seconds: float | None = None
    ) -> AsyncGenerator[BatchOutcome, None]:
        """Applies many edits, each under an id of the caller's, and yields what became of each as they finish.

        calls: read as the service has room. timeout_seconds: for all of them together. Closing the iterator before the
        end cancels what is left. Raises RedraftError when the call as a whole fails; items not yielded by then have no
        outcome.
        """
        requests = (batch_request(item_id, call) async for item_id, call in calls)
        responses = self._stub.BatchApplyEdits(requests, timeout=self._seconds(timeout_seconds))
        try:
            async for response in responses:
                yield batch_outcome(response)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error, self._address) from None
        finally:
            responses.cancel()
