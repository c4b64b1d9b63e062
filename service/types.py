"""The service's own vocabulary: what a validated request is, and what comes of it. No gRPC here, no vLLM."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from drafts.align.plan import Edit, Plan, Span
from drafts.core.types import DraftReport
from service.agreement import Agreement


class RequestClass(enum.Enum):
    INTERACTIVE = "interactive"
    BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Sampling:
    """max_output_tokens: None lets the service choose from the plan's length."""

    temperature: float = 0.0
    seed: int | None = None
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class DraftOptions:
    """max_draft_tokens: None means the service's own maximum."""

    enabled: bool = True
    max_draft_tokens: int | None = None


class Newline(enum.Enum):
    LF = "\n"
    CRLF = "\r\n"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as the caller sent it (`data`), and as models see it (`text`: no byte-order mark, LF line ends)."""

    path: str
    data: bytes
    text: str
    language: str
    newline: Newline = Newline.LF
    byte_order_mark: bool = False


@dataclass(frozen=True, slots=True)
class ApplyRequest:
    """A request that passed validation."""

    request_id: str
    file: SourceFile
    edit: Edit
    instruction: str = ""
    request_class: RequestClass = RequestClass.INTERACTIVE
    sampling: Sampling = field(default_factory=Sampling)
    draft: DraftOptions = field(default_factory=DraftOptions)


class StopReason(enum.Enum):
    END_OF_TEXT = "end_of_text"
    FORMAT_END = "format_end"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Bytes [original] of the file as sent were replaced by bytes [result] of the result."""

    original: Span
    result: Span


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds."""

    align: float = 0.0
    queue: float = 0.0
    first_text: float = 0.0
    total: float = 0.0


@dataclass(frozen=True, slots=True)
class TextChunk:
    """The next bytes of the result. All chunks of a stream concatenate to ApplyResult.data."""

    data: bytes


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """data: the whole edited file, with the original's line ends, byte-order mark and encoding.

    agreement: whether the edit found its place and the model's text is the one that the plan predicts.
    """

    data: bytes
    hunks: tuple[Hunk, ...]
    stop_reason: StopReason
    plan: Plan
    agreement: Agreement
    prompt_tokens: int
    output_tokens: int
    report: DraftReport
    timing: Timing
    model: str


Event = TextChunk | ApplyResult
