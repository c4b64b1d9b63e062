"""Errors to google.rpc.Status and back.

Every status begins with an ErrorInfo (reason, domain "redraft"); the detail that follows is that of the table in
proto/README.md. Details travel in trailing metadata, which gRPC drops above a soft limit of 8 KiB, so a whole
status is kept within MAX_STATUS_BYTES.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeVar, cast

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc import code_pb2, error_details_pb2, status_pb2

from service.errors import (
    BaseMismatch,
    DeadlineExceeded,
    EditNotApplicable,
    EngineUnavailable,
    FieldViolation,
    InternalError,
    InvalidRequest,
    ModelNotFound,
    QuotaExceeded,
    RedraftError,
    ResultRejected,
    Unavailable,
)

DOMAIN: Final = "redraft"
DETAILS_KEY: Final = "grpc-status-details-bin"
MAX_STATUS_BYTES: Final = 4096
MAX_MESSAGE_BYTES: Final = 1024

_MODEL_NAME = re.compile(r"[\w.@:/-]{1,128}", re.ASCII)
_GRPC_CODES: Final[dict[int, grpc.StatusCode]] = {code.value[0]: code for code in grpc.StatusCode}
_M = TypeVar("_M", bound=Message)


def to_status(error: BaseException, request_id: str) -> status_pb2.Status:
    """The status of an error. Anything that is not a RedraftError is a bug: its text stays inside."""
    match error:
        case InvalidRequest():
            return _invalid(error)
        case BaseMismatch():
            return _status(code_pb2.ABORTED, error, _precondition(error, "file"))
        case ModelNotFound():
            name = error.name if _MODEL_NAME.fullmatch(error.name) else ""
            detail = error_details_pb2.ResourceInfo(
                resource_type="model", resource_name=name, description=_cut(error.message, MAX_MESSAGE_BYTES)
            )
            return _status(code_pb2.NOT_FOUND, error, detail)
        case EditNotApplicable():
            return _status(code_pb2.FAILED_PRECONDITION, error, _precondition(error, "edit"))
        case ResultRejected():
            return _status(code_pb2.FAILED_PRECONDITION, error, _precondition(error, "result"))
        case Unavailable():
            return _status(code_pb2.UNAVAILABLE, error, _retry(error.retry_seconds))
        case QuotaExceeded():
            quota = error_details_pb2.QuotaFailure()
            quota.violations.add(subject="caller", description=_cut(error.message, MAX_MESSAGE_BYTES))
            return _status(code_pb2.RESOURCE_EXHAUSTED, error, quota, _retry(error.retry_seconds))
        case DeadlineExceeded():
            return _status(code_pb2.DEADLINE_EXCEEDED, error)
        case _:
            bug = InternalError(f"internal error; the service's log has it under request id {request_id}")
            return _status(code_pb2.INTERNAL, bug, error_details_pb2.RequestInfo(request_id=request_id))


def grpc_code(status: status_pb2.Status) -> grpc.StatusCode:
    return _GRPC_CODES[status.code]


def from_rpc_error(error: grpc.RpcError, address: str) -> RedraftError:
    """The error that the service raised, rebuilt from a call's failure; or what the transport's failure comes to."""
    code, message = error.code(), error.details() or ""
    status = _sent_status(error)
    info = _detail(status, error_details_pb2.ErrorInfo)
    if info is None or info.domain != DOMAIN:
        return _transport_error(code, message, address)
    return from_status(status)


def from_status(status: status_pb2.Status) -> RedraftError:
    """The error that the service raised, rebuilt from its status. A code that there is none of is an InternalError."""
    info = _detail(status, error_details_pb2.ErrorInfo)
    reason, message = info.reason if info else "", status.message
    match _GRPC_CODES.get(status.code):
        case grpc.StatusCode.INVALID_ARGUMENT:
            sent = _detail(status, error_details_pb2.BadRequest) or error_details_pb2.BadRequest()
            return InvalidRequest([FieldViolation(v.field, v.reason, v.description) for v in sent.field_violations])
        case grpc.StatusCode.ABORTED:
            return BaseMismatch(message, reason=reason)
        case grpc.StatusCode.NOT_FOUND:
            resource = _detail(status, error_details_pb2.ResourceInfo)
            return ModelNotFound(message, name=resource.resource_name if resource else "")
        case grpc.StatusCode.FAILED_PRECONDITION:
            failure = _detail(status, error_details_pb2.PreconditionFailure)
            on_edit = failure is not None and any(v.subject == "edit" for v in failure.violations)
            return (EditNotApplicable if on_edit else ResultRejected)(message, reason=reason)
        case grpc.StatusCode.UNAVAILABLE:
            kind = EngineUnavailable if reason == EngineUnavailable.reason else Unavailable
            return kind(message, reason=reason, retry_seconds=_retry_seconds(status))
        case grpc.StatusCode.RESOURCE_EXHAUSTED:
            return QuotaExceeded(message, retry_seconds=_retry_seconds(status))
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return DeadlineExceeded(message, reason=reason)
        case _:
            request = _detail(status, error_details_pb2.RequestInfo)
            return InternalError(message, reason=reason, request_id=request.request_id if request else "")


def _transport_error(code: grpc.StatusCode, message: str, address: str) -> RedraftError:
    match code:
        case grpc.StatusCode.UNAVAILABLE:
            return Unavailable(f"no answer from {address}: is the service running there? ({message})")
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return DeadlineExceeded("the time limit of the call ran out before the result came")
        case _:
            return InternalError(f"{address} answered {code.name}: {message}", reason=code.name)


def _status(code: int, error: RedraftError, *details: Message) -> status_pb2.Status:
    status = status_pb2.Status(code=code, message=_cut(error.message, MAX_MESSAGE_BYTES))
    for detail in (error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN), *details):
        status.details.add().Pack(detail)
    return status


def _invalid(error: InvalidRequest) -> status_pb2.Status:
    """As many violations as there is room for, and a last one that says how many more there are."""
    sent = [
        error_details_pb2.BadRequest.FieldViolation(
            field=_cut(v.field, 200), reason=_cut(v.reason, 64), description=_cut(v.description, 500)
        )
        for v in error.violations
    ]
    status = _status(code_pb2.INVALID_ARGUMENT, error, error_details_pb2.BadRequest(field_violations=sent))
    kept = len(sent)
    while status.ByteSize() > MAX_STATUS_BYTES:
        kept -= max(1, kept // 8)
        rest = error_details_pb2.BadRequest.FieldViolation(
            reason="MORE", description=f"{len(sent) - kept} more violations are not listed"
        )
        shortened = error_details_pb2.BadRequest(field_violations=[*sent[:kept], rest])
        status = _status(code_pb2.INVALID_ARGUMENT, error, shortened)
    return status


def _precondition(error: RedraftError, subject: str) -> error_details_pb2.PreconditionFailure:
    failure = error_details_pb2.PreconditionFailure()
    failure.violations.add(type=error.reason, subject=subject, description=_cut(error.message, MAX_MESSAGE_BYTES))
    return failure


def _retry(seconds: float) -> error_details_pb2.RetryInfo:
    info = error_details_pb2.RetryInfo()
    info.retry_delay.FromNanoseconds(round(seconds * 1e9))
    return info


def _retry_seconds(status: status_pb2.Status) -> float:
    info = _detail(status, error_details_pb2.RetryInfo)
    return info.retry_delay.ToNanoseconds() / 1e9 if info else 1.0


def _cut(text: str, max_bytes: int) -> str:
    data = text.encode()
    return text if len(data) <= max_bytes else data[: max_bytes - 3].decode(errors="ignore") + "..."


def _sent_status(error: grpc.RpcError) -> status_pb2.Status:
    status = status_pb2.Status()
    metadata = cast("Iterable[tuple[str, str | bytes]]", error.trailing_metadata() or ())
    for key, value in metadata:
        if key == DETAILS_KEY and isinstance(value, bytes):
            try:
                status.ParseFromString(value)
            except DecodeError:
                return status_pb2.Status()
    return status


def _detail(status: status_pb2.Status, kind: type[_M]) -> _M | None:
    message = kind()
    return message if any(detail.Unpack(message) for detail in status.details) else None
