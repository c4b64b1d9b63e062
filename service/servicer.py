"""ApplyEditService: validation before the pipeline, conversion after it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, Protocol, cast

import grpc
import structlog

from service import convert, request_facts
from service.admission import Admission
from service.errors import InternalError
from service.interceptors import request_id
from service.pb import apply_edit_pb2 as pb
from service.pb import apply_edit_pb2_grpc as pb_grpc
from service.request_class import UNKNOWN, LabelledClass, form_name, size_bucket
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

    def __init__(self, pipeline: ApplyPipeline, limits: Limits, admission: Admission) -> None:
        self._pipeline = pipeline
        self._limits = limits
        self._admission = admission

    async def ApplyEdit(
        self, request: pb.ApplyEditRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.ApplyEditResponse:
        async with aclosing(self._events(request)) as events:
            async for event in events:
                if isinstance(event, ApplyResult):
                    return pb.ApplyEditResponse(result=convert.to_result(event, as_bytes=_as_bytes(request)))
        raise InternalError("the pipeline ended without a result")

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
