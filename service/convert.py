"""From the service's own vocabulary to messages of the wire."""

from __future__ import annotations

import hashlib
from typing import Final

from google.protobuf.duration_pb2 import Duration

from drafts.align.plan import Plan, RegionKind, Span
from drafts.core.types import DraftReport, SourceKind
from service.agreement import Agreement
from service.pb import apply_edit_pb2 as pb
from service.types import ApplyResult, StopReason, Timing

_AGREEMENTS: Final = {
    Agreement.MODEL_AND_PLAN: pb.AGREEMENT_MODEL_AND_PLAN,
    Agreement.MODEL_ONLY: pb.AGREEMENT_MODEL_ONLY,
    Agreement.PLAN_ONLY: pb.AGREEMENT_PLAN_ONLY,
}
_STOP_REASONS: Final = {
    StopReason.END_OF_TEXT: pb.STOP_REASON_END_OF_TEXT,
    StopReason.FORMAT_END: pb.STOP_REASON_FORMAT_END,
}
_REGION_KINDS: Final = {
    RegionKind.KEPT: pb.REGION_KIND_KEPT,
    RegionKind.REPLACED: pb.REGION_KIND_REPLACED,
    RegionKind.INSERTED: pb.REGION_KIND_INSERTED,
    RegionKind.DELETED: pb.REGION_KIND_DELETED,
}
_SOURCES: Final = {
    SourceKind.KEPT: pb.DRAFT_SOURCE_KEPT,
    SourceKind.EDITED: pb.DRAFT_SOURCE_EDITED,
    SourceKind.ORIGINAL: pb.DRAFT_SOURCE_ORIGINAL,
    SourceKind.EDIT: pb.DRAFT_SOURCE_EDIT,
    SourceKind.OUTPUT: pb.DRAFT_SOURCE_OUTPUT,
}


def to_result(result: ApplyResult, *, as_bytes: bool) -> pb.EditResult:
    """as_bytes: the file came as bytes, and so the result goes."""
    message = pb.EditResult(
        sha256=hashlib.sha256(result.data).digest(),
        hunks=[pb.Hunk(original=_range(h.original), result=_range(h.result)) for h in result.hunks],
        stop_reason=_STOP_REASONS[result.stop_reason],
        agreement=_AGREEMENTS[result.agreement],
        plan=_plan(result.plan),
        draft_report=_report(result.report),
        usage=pb.TokenUsage(prompt_tokens=result.prompt_tokens, output_tokens=result.output_tokens),
        timing=_timing(result.timing),
        model=result.model,
    )
    if as_bytes:
        message.data = result.data
    else:
        message.text = result.data.decode()
    return message


def _range(span: Span) -> pb.ByteRange:
    return pb.ByteRange(start_byte=span.start, end_byte=span.end)


def _plan(plan: Plan) -> pb.Plan:
    regions = [
        pb.PlanRegion(
            kind=_REGION_KINDS[region.kind],
            original=_range(region.original),
            predicted=_range(region.predicted),
            confidence=region.confidence,
            syntax_path=region.syntax_path,
        )
        for region in plan.regions
    ]
    return pb.Plan(regions=regions, confidence=plan.confidence)


def _report(report: DraftReport) -> pb.DraftReport:
    regions = [
        pb.DraftRegionReport(
            region_index=region.region if region.region >= 0 else None,
            source=_SOURCES[region.kind],
            drafted_tokens=region.drafted,
            accepted_tokens=region.accepted,
            rejected_tokens=region.rejected,
            target_passes=region.passes,
        )
        for region in report.regions
    ]
    lengths = [
        pb.DraftLengthCount(draft_tokens=k, target_passes=count) for k, count in sorted(report.draft_lengths.items())
    ]
    return pb.DraftReport(
        target_passes=report.target_passes,
        output_tokens=report.output_tokens,
        drafted_tokens=report.drafted,
        accepted_tokens=report.accepted,
        rejected_tokens=report.rejected,
        drafter_duration=_duration(report.drafter_ns),
        draft_lengths=lengths,
        regions=regions,
    )


def _timing(timing: Timing) -> pb.Timing:
    return pb.Timing(
        align_duration=_duration(round(timing.align * 1e9)),
        queue_duration=_duration(round(timing.queue * 1e9)),
        first_text_duration=_duration(round(timing.first_text * 1e9)),
        total_duration=_duration(round(timing.total * 1e9)),
    )


def _duration(nanoseconds: int) -> Duration:
    return Duration(seconds=nanoseconds // 1_000_000_000, nanos=nanoseconds % 1_000_000_000)
