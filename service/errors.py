"""Every failure that a caller can meet, drawn as a tree. `service/status.py` turns them into gRPC statuses.

    RedraftError
      InvalidRequest          INVALID_ARGUMENT     every field violation at once
      BaseMismatch            ABORTED              the file changed under the edit
      ModelNotFound           NOT_FOUND
      EditNotApplicable       FAILED_PRECONDITION  the edit cannot be placed, or the model cannot do this form
      ResultRejected          FAILED_PRECONDITION  the guard refused the result (truncated, empty, ...)
      Unavailable             UNAVAILABLE          queue full, draining, engine restarting
      QuotaExceeded           RESOURCE_EXHAUSTED
      DeadlineExceeded        DEADLINE_EXCEEDED
      InternalError           INTERNAL             a bug of ours, or an answer that makes no sense

Messages say what to do next and never quote the caller's text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """field: the path of the proto field, for example "file.content". reason: UPPER_SNAKE_CASE."""

    field: str
    reason: str
    description: str


class RedraftError(Exception):
    """reason: ErrorInfo.reason, UPPER_SNAKE_CASE, listed in proto/README.md."""

    reason: ClassVar[str] = "INTERNAL"

    def __init__(self, message: str, *, reason: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if reason is not None:
            self.reason = reason  # type: ignore[misc]


class InvalidRequest(RedraftError):
    reason = "INVALID_REQUEST"

    def __init__(self, violations: list[FieldViolation]) -> None:
        super().__init__("; ".join(f"{v.field}: {v.description}" for v in violations))
        self.violations = violations


class BaseMismatch(RedraftError):
    reason = "BASE_DIGEST_MISMATCH"


class ModelNotFound(RedraftError):
    """name: what was asked for; sent back only where it is shaped like a model's name."""

    reason = "MODEL_NOT_FOUND"

    def __init__(self, message: str, *, name: str = "") -> None:
        super().__init__(message)
        self.name = name


class EditNotApplicable(RedraftError):
    reason = "EDIT_NOT_APPLICABLE"


class ResultRejected(RedraftError):
    reason = "RESULT_REJECTED"


class Unavailable(RedraftError):
    reason = "UNAVAILABLE"

    def __init__(self, message: str, *, reason: str | None = None, retry_seconds: float = 1.0) -> None:
        super().__init__(message, reason=reason)
        self.retry_seconds = retry_seconds


class EngineUnavailable(Unavailable):
    reason = "ENGINE_UNAVAILABLE"


class QuotaExceeded(RedraftError):
    reason = "QUOTA_EXCEEDED"

    def __init__(self, message: str, *, retry_seconds: float = 1.0) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class DeadlineExceeded(RedraftError):
    reason = "DEADLINE_EXCEEDED"


class InternalError(RedraftError):
    """request_id: names the request in the service's log; empty where there is none."""

    reason = "INTERNAL"

    def __init__(self, message: str, *, reason: str | None = None, request_id: str = "") -> None:
        super().__init__(message, reason=reason)
        self.request_id = request_id
