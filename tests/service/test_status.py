"""Statuses stay small whatever an error says."""

from __future__ import annotations

import pytest
from google.rpc import error_details_pb2

from service.errors import (
    BaseMismatch,
    DeadlineExceeded,
    EditNotApplicable,
    FieldViolation,
    InternalError,
    InvalidRequest,
    ModelNotFound,
    QuotaExceeded,
    RedraftError,
    ResultRejected,
    Unavailable,
)
from service.status import MAX_MESSAGE_BYTES, MAX_STATUS_BYTES, to_status

LONG = "€" * 20_000


@pytest.mark.parametrize(
    "error",
    [
        InvalidRequest([FieldViolation(LONG, "X", LONG)] * 40),
        InvalidRequest([FieldViolation("a", "X", "y")] * 10_000),
        BaseMismatch(LONG),
        ModelNotFound(LONG, name=LONG),
        EditNotApplicable(LONG),
        ResultRejected(LONG),
        Unavailable(LONG),
        QuotaExceeded(LONG),
        DeadlineExceeded(LONG),
        InternalError(LONG),
        ValueError(LONG),
    ],
    ids=lambda e: type(e).__name__,
)
def test_size(error: Exception) -> None:
    status = to_status(error, "r" * 32)
    assert status.ByteSize() <= MAX_STATUS_BYTES
    # The message goes twice: in the status, and percent-encoded in grpc-message.
    assert len(status.message.encode()) <= MAX_MESSAGE_BYTES
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == "redraft"
    assert info.reason == getattr(error, "reason", "INTERNAL")


def test_violations_that_fit_are_all_there() -> None:
    violations = [FieldViolation(f"file.x{i}", "BAD", "is bad") for i in range(20)]
    bad = error_details_pb2.BadRequest()
    assert to_status(InvalidRequest(violations), "r").details[1].Unpack(bad)
    assert [FieldViolation(v.field, v.reason, v.description) for v in bad.field_violations] == violations


def test_every_error_of_the_tree_has_a_reason_of_its_own() -> None:
    def tree(kind: type[RedraftError]) -> list[type[RedraftError]]:
        return [kind, *(leaf for child in kind.__subclasses__() for leaf in tree(child))]

    reasons = [kind.reason for kind in tree(RedraftError)[1:]]
    assert len(set(reasons)) == len(reasons)
