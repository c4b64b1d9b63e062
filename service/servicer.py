"""ApplyEditService: validation before the pipeline, conversion after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import Any, Protocol, cast

import grpc
import structlog

from service import convert, request_facts
from service.admission import Admission
from service.as_finished import as_finished
from service.errors import FieldViolation, InternalError, InvalidRequest
from service.observed_request import ObservedRequest, request_id
from service.pb import apply_edit_pb2 as pb
from service.pb import apply_edit_pb2_grpc as pb_grpc
from service.request_class import UNKNOWN, LabelledClass, form_name, size_bucket
from service.request_facts import Observer
from service.types import ApplyRequest, ApplyResult, Event, TextChunk
from service.validate import REQUEST_CLASSES, Limits, WireRequest, edit_bytes, validate

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["ApplyEditService"].full_name


class ApplyPipeline(Protocol):
    """Yields zero or more TextChunk, then one ApplyResult; raises RedraftError. Closing the iterator aborts the work.

    The iterator is an async generator, or has an `aclose` like one.
    """

    def apply(self, request: ApplyRequest) -> AsyncIterator[Event]: ...


class ApplyEditServicer(pb_grpc.ApplyEditServiceServicer):
    """Raises RedraftError; the interceptor turns it into a status."""

    def __init__(
        self,
        pipeline: ApplyPipeline,
        limits: Limits,
        admission: Admission,
        *,
        batch_in_flight: int,
        observers: Sequence[Observer] = (),
    ) -> None:
        """batch_in_flight: items of one batch that are worked on at once. observers: of a batch's items."""
        self._pipeline = pipeline
        self._limits = limits
        self._admission = admission
        self._batch_in_flight = batch_in_flight
        self._observers = tuple(observers)

    async def ApplyEdit(
        self, request: pb.ApplyEditRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.ApplyEditResponse:
        return pb.ApplyEditResponse(result=await self._result(request))

    async def StreamApplyEdit(
        self, request: pb.StreamApplyEditRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[pb.StreamApplyEditResponse]:
        async with aclosing(self._events(request)) as events:
            async for event in events:
                if isinstance(event, TextChunk):
                    yield pb.StreamApplyEditResponse(chunk=pb.TextChunk(data=event.data))
                else:
                    result = convert.to_result(event, as_bytes=_as_bytes(request))
                    yield pb.StreamApplyEditResponse(result=result)
                    return
        raise InternalError("the pipeline ended without a result")

    async def BatchApplyEdits(
        self,
        request_iterator: AsyncIterator[pb.BatchApplyEditsRequest],
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> AsyncIterator[pb.BatchApplyEditsResponse]:
        ids: set[str] = set()

        async def work(request: pb.BatchApplyEditsRequest) -> pb.BatchApplyEditsResponse:
            return await self._item(request, ids)

        requests = self._admission.admitted(aiter(request_iterator))
        async with aclosing(requests), aclosing(as_finished(requests, work, limit=self._batch_in_flight)) as responses:
            async for response in responses:
                yield response

    async def _item(self, request: pb.BatchApplyEditsRequest, ids: set[str]) -> pb.BatchApplyEditsResponse:
        """ids: of the call's items that are being worked on."""
        observed = ObservedRequest("BatchApplyEdits", self._observers, "item")
        observed.begin()
        response = pb.BatchApplyEditsResponse(item_id=request.item_id, request_id=observed.id)
        if request.request_class == pb.REQUEST_CLASS_UNSPECIFIED:
            request.request_class = pb.REQUEST_CLASS_BATCH
        try:
            with _distinct(request.item_id, ids):
                response.result.CopyFrom(await self._result(request))
        except asyncio.CancelledError:
            observed.cancelled()
            raise
        except Exception as error:  # noqa: BLE001
            # One item's failure, a bug included, is that item's outcome: the others go on.
            response.status.ParseFromString(observed.fail(error).SerializeToString())
        else:
            observed.succeed()
        return response

    async def _result(self, request: WireRequest) -> pb.EditResult:
        async with aclosing(self._events(request)) as events:
            async for event in events:
                if isinstance(event, ApplyResult):
                    return convert.to_result(event, as_bytes=_as_bytes(request))
        raise InternalError("the pipeline ended without a result")

    async def _events(self, request: WireRequest) -> AsyncGenerator[Event, None]:
        facts = request_facts.current()
        facts.labels = labelled_class(request)  # before anything can fail: failures are counted by class, too
        with self._admission.request():
            facts.admitted = True
            valid = validate(request, request_id=request_id.get(), limits=self._limits)
            facts.language = valid.file.language
            facts.temperature = valid.sampling.temperature
            structlog.contextvars.bind_contextvars(
                request_class=valid.request_class.value,
                form=request.edit.WhichOneof("form"),
                language=valid.file.language,
                file_bytes=len(valid.file.data),
                edit_bytes=edit_bytes(request.edit),
            )
            events = cast(AsyncGenerator[Event, None], self._pipeline.apply(valid))
            async with aclosing(events):
                async for event in events:
                    yield event


@contextmanager
def _distinct(item_id: str, ids: set[str]) -> Iterator[None]:
    """Raises InvalidRequest where an item of that id is being worked on."""
    if item_id in ids:
        description = "an item of this id is still to be answered: give every item an id of its own"
        raise InvalidRequest([FieldViolation("item_id", "DUPLICATE", description)])
    ids.add(item_id)
    try:
        yield
    finally:
        ids.discard(item_id)


def _as_bytes(request: WireRequest) -> bool:
    return request.file.WhichOneof("content") == "data"


def labelled_class(request: WireRequest) -> LabelledClass:
    """Of any request, valid or not."""
    caller = REQUEST_CLASSES.get(request.request_class)
    content = request.file.WhichOneof("content")
    size = len(request.file.data) if content == "data" else len(request.file.text.encode())
    return LabelledClass(
        caller=UNKNOWN if caller is None else caller.value,
        form=form_name(request.edit.WhichOneof("form")),
        size=UNKNOWN if content is None else size_bucket(size),
    )
