"""Plain Python values to requests, and results of the wire back to plain Python values; shared by both clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from google.protobuf.duration_pb2 import Duration
from google.rpc import status_pb2

from drafts.align.plan import (
    Instruction,
    Region,
    RegionKind,
    SearchReplace,
    Span,
    UnifiedDiff,
    UpdateSnippet,
)
from drafts.core.types import DraftReport, RegionReport, SourceKind
from service.agreement import Agreement
from service.errors import InternalError, RedraftError
from service.pb import apply_edit_pb2 as pb
from service.status import from_status
from service.types import DraftOptions, Hunk, RequestClass, Sampling, StopReason, TextChunk, Timing

_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class SearchReplaceText:
    """Search/replace blocks in conflict-marker notation; the service parses them."""

    text: str


ClientEdit: TypeAlias = UpdateSnippet | UnifiedDiff | SearchReplace | SearchReplaceText | Instruction


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCall:
    """One call of a client.

    path: for the language and the prompt; no file is opened.
    content: the file, as text or as UTF-8 bytes.
    instruction: accompanies the edit; empty with an Instruction.
    base_sha256: digest (32 bytes) of the file that the edit was made for; the call fails when it is not content's.
    language, model: empty lets the service choose.
    request_class: None is interactive for a call of its own, and batch for an item of a batch.
    """

    path: str
    content: str | bytes
    edit: ClientEdit
    instruction: str = ""
    base_sha256: bytes | None = None
    language: str = ""
    request_class: RequestClass | None = None
    sampling: Sampling = field(default_factory=Sampling)
    draft: DraftOptions = field(default_factory=DraftOptions)
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedEdit:
    """An edited file and how it came about.

    data: the whole file. hunks: what changed, in bytes of the file sent and of `data`.
    agreement: whether the model's text is the one that the alignment predicted.
    regions: the plan's, in bytes of the normalized texts. report.regions refer to them by index.
    """

    data: bytes
    sha256: bytes
    hunks: tuple[Hunk, ...]
    stop_reason: StopReason
    agreement: Agreement
    regions: tuple[Region, ...]
    plan_confidence: float
    report: DraftReport
    prompt_tokens: int
    output_tokens: int
    timing: Timing
    model: str

    @property
    def text(self) -> str:
        return self.data.decode()

    @property
    def tokens_per_pass(self) -> float:
        return self.report.output_tokens / max(1, self.report.target_passes)

    @property
    def acceptance_rate(self) -> float:
        """Accepted by verified draft tokens; 0 when nothing was drafted."""
        return self.report.accepted / max(1, self.report.accepted + self.report.rejected)


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """What became of one item of a batch. outcome: an error is what a call of its own would have raised."""

    item_id: str
    outcome: AppliedEdit | RedraftError
    request_id: str


_REQUEST_CLASSES: Final = {
    None: pb.REQUEST_CLASS_UNSPECIFIED,
    RequestClass.INTERACTIVE: pb.REQUEST_CLASS_INTERACTIVE,
    RequestClass.BATCH: pb.REQUEST_CLASS_BATCH,
}
_AGREEMENTS: Final = {
    pb.AGREEMENT_MODEL_AND_PLAN: Agreement.MODEL_AND_PLAN,
    pb.AGREEMENT_MODEL_ONLY: Agreement.MODEL_ONLY,
    pb.AGREEMENT_PLAN_ONLY: Agreement.PLAN_ONLY,
}
_STOP_REASONS: Final = {
    pb.STOP_REASON_END_OF_TEXT: StopReason.END_OF_TEXT,
    pb.STOP_REASON_FORMAT_END: StopReason.FORMAT_END,
}
_REGION_KINDS: Final = {
    pb.REGION_KIND_KEPT: RegionKind.KEPT,
    pb.REGION_KIND_REPLACED: RegionKind.REPLACED,
    pb.REGION_KIND_INSERTED: RegionKind.INSERTED,
    pb.REGION_KIND_DELETED: RegionKind.DELETED,
}
_SOURCES: Final = {
    pb.DRAFT_SOURCE_KEPT: SourceKind.KEPT,
    pb.DRAFT_SOURCE_EDITED: SourceKind.EDITED,
    pb.DRAFT_SOURCE_ORIGINAL: SourceKind.ORIGINAL,
    pb.DRAFT_SOURCE_EDIT: SourceKind.EDIT,
    pb.DRAFT_SOURCE_OUTPUT: SourceKind.OUTPUT,
}


def unary_request(call: EditCall) -> pb.ApplyEditRequest:
    return pb.ApplyEditRequest(**_fields(call))


def stream_request(call: EditCall) -> pb.StreamApplyEditRequest:
    return pb.StreamApplyEditRequest(**_fields(call))


def batch_request(item_id: str, call: EditCall) -> pb.BatchApplyEditsRequest:
    return pb.BatchApplyEditsRequest(item_id=item_id, **_fields(call))


def _fields(call: EditCall) -> dict[str, Any]:
    """What the requests of all three calls have in common, by the name of the field."""
    return {
        "file": _file(call),
        "edit": _edit(call),
        "request_class": _REQUEST_CLASSES[call.request_class],
        "sampling": _sampling(call.sampling),
        "draft": _draft(call.draft),
        "model": call.model,
    }


def _file(call: EditCall) -> pb.SourceFile:
    file = pb.SourceFile(path=call.path, language=call.language, sha256=call.base_sha256)
    if isinstance(call.content, bytes):
        file.data = call.content
    else:
        file.text = call.content
    return file


def _edit(call: EditCall) -> pb.Edit:
    message = pb.Edit(accompanying_instruction=call.instruction)
    match call.edit:
        case UpdateSnippet(text):
            message.update_snippet = text
        case UnifiedDiff(text):
            message.unified_diff = text
        case SearchReplace(blocks):
            message.search_replace.SetInParent()
            for block in blocks:
                message.search_replace.blocks.add(search=block.search, replace=block.replace)
        case SearchReplaceText(text):
            message.search_replace_text = text
        case Instruction(text):
            message.instruction = text
    return message


def _sampling(sampling: Sampling) -> pb.Sampling:
    return pb.Sampling(
        temperature=sampling.temperature, seed=sampling.seed, max_output_tokens=sampling.max_output_tokens
    )


def _draft(draft: DraftOptions) -> pb.DraftOptions:
    drafting = pb.DRAFTING_ON if draft.enabled else pb.DRAFTING_OFF
    return pb.DraftOptions(drafting=drafting, max_draft_tokens=draft.max_draft_tokens)


def applied_edit(result: pb.EditResult) -> AppliedEdit:
    """Raises InternalError for a value that this client does not know: another version's answer, or no result."""
    stop_reason = _known(_STOP_REASONS, result.stop_reason, "stop reason")
    return AppliedEdit(
        data=result.data if result.WhichOneof("content") == "data" else result.text.encode(),
        sha256=result.sha256,
        hunks=tuple(Hunk(_span(h.original), _span(h.result)) for h in result.hunks),
        stop_reason=stop_reason,
        agreement=_known(_AGREEMENTS, result.agreement, "agreement"),
        regions=tuple(_region(region) for region in result.plan.regions),
        plan_confidence=result.plan.confidence,
        report=_report(result.draft_report),
        prompt_tokens=result.usage.prompt_tokens,
        output_tokens=result.usage.output_tokens,
        timing=Timing(
            align=_seconds(result.timing.align_duration),
            queue=_seconds(result.timing.queue_duration),
            first_text=_seconds(result.timing.first_text_duration),
            total=_seconds(result.timing.total_duration),
        ),
        model=result.model,
    )


def stream_event(response: pb.StreamApplyEditResponse) -> TextChunk | AppliedEdit:
    if response.WhichOneof("event") == "result":
        return applied_edit(response.result)
    return TextChunk(response.chunk.data)


def batch_outcome(response: pb.BatchApplyEditsResponse) -> BatchOutcome:
    if response.WhichOneof("outcome") == "result":
        return BatchOutcome(response.item_id, applied_edit(response.result), response.request_id)
    status = status_pb2.Status.FromString(response.status.SerializeToString())
    return BatchOutcome(response.item_id, from_status(status), response.request_id)


def _region(region: pb.PlanRegion) -> Region:
    return Region(
        kind=_known(_REGION_KINDS, region.kind, "region kind"),
        original=_span(region.original),
        predicted=_span(region.predicted),
        confidence=region.confidence,
        syntax_path=tuple(region.syntax_path),
    )


def _report(report: pb.DraftReport) -> DraftReport:
    regions = [
        RegionReport(
            region=region.region_index if region.HasField("region_index") else -1,
            kind=_known(_SOURCES, region.source, "draft source"),
            drafted=region.drafted_tokens,
            accepted=region.accepted_tokens,
            rejected=region.rejected_tokens,
            passes=region.target_passes,
        )
        for region in report.regions
    ]
    return DraftReport(
        target_passes=report.target_passes,
        output_tokens=report.output_tokens,
        drafted=report.drafted_tokens,
        accepted=report.accepted_tokens,
        rejected=report.rejected_tokens,
        drafter_ns=report.drafter_duration.ToNanoseconds(),
        draft_lengths={length.draft_tokens: length.target_passes for length in report.draft_lengths},
        regions=regions,
    )


def _known(table: Mapping[_K, _V], value: _K, what: str) -> _V:
    found = table.get(value)
    if found is None:
        raise InternalError(f"the service's answer has a {what} that this client does not know: update the client")
    return found


def _span(range_: pb.ByteRange) -> Span:
    return Span(range_.start_byte, range_.end_byte)


def _seconds(duration: Duration) -> float:
    return duration.ToNanoseconds() / 1e9
