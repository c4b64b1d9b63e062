"""Both clients against a real server: what goes in arrives, what comes back is typed, errors are the same tree."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any, cast

import pytest

from drafts.align.plan import Edit, RegionKind, SearchReplace, SearchReplaceBlock, Span
from drafts.core.types import RegionReport, SourceKind
from service.agreement import Agreement
from service.client import (
    AppliedEdit,
    AsyncClient,
    Client,
    ClientEdit,
    DraftOptions,
    EditCall,
    Instruction,
    RequestClass,
    Sampling,
    SearchReplaceText,
    TextChunk,
    UnifiedDiff,
    UpdateSnippet,
)
from service.client_codec import applied_edit
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
from service.pb import apply_edit_pb2 as pb
from service.types import Hunk, StopReason, Timing

CALL = EditCall(path="a.py", content="one\ntwo\n", edit=UpdateSnippet("two changed\n"))
BLOCKS = SearchReplace((SearchReplaceBlock("two\n", "two changed\n"),))
DIFF = "@@ -2 +2 @@\n-two\n+two changed\n"


class Asked:
    """One interface over the four ways to ask."""

    def __init__(self, way: str) -> None:
        self._way = way

    async def apply(self, address: str, call: EditCall, **options: Any) -> AppliedEdit:
        match self._way:
            case "async unary":
                async with AsyncClient(address) as client:
                    return await client.apply(call, **options)
            case "async stream":
                async with AsyncClient(address) as client:
                    return self._last([event async for event in client.stream(call, **options)])
            case "sync unary":
                return await asyncio.to_thread(self._sync_unary, address, call, options)
            case _:
                return await asyncio.to_thread(self._sync_stream, address, call, options)

    def _sync_unary(self, address: str, call: EditCall, options: Any) -> AppliedEdit:
        with Client(address) as client:
            return client.apply(call, **options)

    def _sync_stream(self, address: str, call: EditCall, options: Any) -> AppliedEdit:
        with Client(address) as client:
            return self._last(list(client.stream(call, **options)))

    def _last(self, events: list[TextChunk | AppliedEdit]) -> AppliedEdit:
        *chunks, last = events
        assert isinstance(last, AppliedEdit)
        assert b"".join(c.data for c in chunks if isinstance(c, TextChunk)) == last.data
        return last


@pytest.fixture(params=["async unary", "async stream", "sync unary", "sync stream"])
def asked(request: pytest.FixtureRequest) -> Asked:
    return Asked(request.param)


async def test_result(start: Any, asked: Asked) -> None:
    running = await start()
    applied = await asked.apply(running.address, CALL)
    assert applied.data == b"one\ntwo changed\n"
    assert applied.text == "one\ntwo changed\n"
    assert applied.sha256 == hashlib.sha256(applied.data).digest()
    assert applied.hunks == (Hunk(Span(4, 8), Span(4, 16)),)
    assert applied.stop_reason is StopReason.FORMAT_END
    assert applied.agreement is Agreement.MODEL_AND_PLAN
    assert [(r.kind, r.original, r.predicted, r.confidence, r.syntax_path) for r in applied.regions] == [
        (RegionKind.KEPT, Span(0, 4), Span(0, 4), 1.0, ()),
        (RegionKind.REPLACED, Span(4, 8), Span(4, 16), 0.5, ("class Foo", "def bar")),
    ]
    assert applied.plan_confidence == 0.75
    assert applied.report.regions == [
        RegionReport(0, SourceKind.KEPT, drafted=8, accepted=6, rejected=2, passes=1),
        RegionReport(-1, SourceKind.OUTPUT, drafted=4, accepted=1, rejected=1, passes=1),
    ]
    assert applied.report.draft_lengths == {0: 1, 12: 1}
    assert applied.report.drafter_ns == 1_500_000_001
    assert applied.tokens_per_pass == 4.5
    assert applied.acceptance_rate == 0.7
    assert applied.timing == Timing(align=0.25, queue=0.5, first_text=1.25, total=2.5)
    assert (applied.prompt_tokens, applied.output_tokens, applied.model) == (21, 9, "redraft-embedded")


EDITS: list[tuple[ClientEdit, Edit]] = [
    (UpdateSnippet("two\r\nchanged"), UpdateSnippet("two\nchanged")),
    (UnifiedDiff(DIFF), UnifiedDiff(DIFF)),
    (BLOCKS, BLOCKS),
    (SearchReplaceText("<<<<<<< SEARCH\ntwo\n=======\ntwo changed\n>>>>>>> REPLACE\n"), BLOCKS),
    (Instruction("rename it"), Instruction("rename it")),
]


@pytest.mark.parametrize(("sent", "arrives"), EDITS, ids=["snippet", "diff", "blocks", "block text", "instruction"])
async def test_edit_forms_arrive(start: Any, sent: ClientEdit, arrives: Edit) -> None:
    running = await start()
    async with AsyncClient(running.address) as client:
        await client.apply(EditCall(path="a.py", content="one\ntwo\n", edit=sent))
    assert running.pipeline.requests[0].edit == arrives


async def test_options_arrive(start: Any, asked: Asked) -> None:
    running = await start()
    call = EditCall(
        path="x/y.unknown",
        content=b"\xef\xbb\xbfone\r\ntwo\r\n",
        edit=UpdateSnippet("two"),
        instruction="carefully",
        base_sha256=hashlib.sha256(b"\xef\xbb\xbfone\r\ntwo\r\n").digest(),
        language="rust",
        request_class=RequestClass.BATCH,
        sampling=Sampling(temperature=0.5, seed=7, max_output_tokens=99),
        draft=DraftOptions(enabled=False, max_draft_tokens=3),
        model="redraft-embedded",
    )
    await asked.apply(running.address, call)
    (request,) = running.pipeline.requests
    assert (request.file.path, request.file.language, request.file.text) == ("x/y.unknown", "rust", "one\ntwo\n")
    assert (request.file.data, request.instruction) == (call.content, "carefully")
    assert (request.request_class, request.sampling, request.draft) == (call.request_class, call.sampling, call.draft)


async def test_defaults_arrive(start: Any) -> None:
    running = await start()
    async with AsyncClient(running.address) as client:
        await client.apply(CALL)
    (request,) = running.pipeline.requests
    assert (request.request_class, request.sampling, request.draft) == (
        RequestClass.INTERACTIVE,
        Sampling(temperature=0.0, seed=None, max_output_tokens=None),
        DraftOptions(enabled=True, max_draft_tokens=None),
    )


ERRORS: list[RedraftError] = [
    InvalidRequest([FieldViolation("file.content", "OVER_CONTEXT", "too long"), FieldViolation("edit", "X", "y")]),
    BaseMismatch("changed"),
    ModelNotFound("no such model", name="a/b"),
    EditNotApplicable("not here", reason="EDIT_NOT_PLACED"),
    ResultRejected("cut", reason="RESULT_TRUNCATED"),
    Unavailable("full", reason="QUEUE_FULL", retry_seconds=2.5),
    EngineUnavailable("dead", retry_seconds=4),
    QuotaExceeded("enough", retry_seconds=0.25),
]


@pytest.mark.parametrize("error", ERRORS, ids=[e.reason for e in ERRORS])
async def test_errors_come_back_as_they_were_raised(start: Any, asked: Asked, error: RedraftError) -> None:
    running = await start([error])
    with pytest.raises(RedraftError) as caught:
        await asked.apply(running.address, CALL)
    assert type(caught.value) is type(error)
    assert (caught.value.message, caught.value.reason) == (error.message, error.reason)
    for attribute in ("violations", "retry_seconds", "name"):
        assert getattr(caught.value, attribute, None) == getattr(error, attribute, None)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"stop_reason": 99}, "stop reason"),
        ({"agreement": 99}, "agreement"),
        ({"plan": pb.Plan(regions=[pb.PlanRegion(kind=cast(Any, 99))])}, "region kind"),
        ({"plan": pb.Plan(regions=[pb.PlanRegion()])}, "region kind"),
        ({"draft_report": pb.DraftReport(regions=[pb.DraftRegionReport(source=cast(Any, 99))])}, "draft source"),
    ],
)
def test_values_of_a_newer_service(change: dict[str, Any], says: str) -> None:
    known = {"stop_reason": pb.STOP_REASON_END_OF_TEXT, "agreement": pb.AGREEMENT_MODEL_AND_PLAN}
    result = pb.EditResult(**{"text": "x", **known, **change})
    with pytest.raises(InternalError, match=says):
        applied_edit(result)


async def test_a_bug_names_the_request(start: Any, asked: Asked) -> None:
    running = await start([ValueError("secret")])
    with pytest.raises(InternalError, match="internal error") as caught:
        await asked.apply(running.address, CALL)
    assert caught.value.request_id == running.pipeline.requests[0].request_id


async def test_time_limit(start: Any, asked: Asked) -> None:
    running = await start()
    running.pipeline.release.clear()
    with pytest.raises(DeadlineExceeded):
        await asked.apply(running.address, CALL, timeout_seconds=0.3)


async def test_nobody_there(asked: Asked, unused_tcp_port: int) -> None:
    with pytest.raises(Unavailable, match=f"127.0.0.1:{unused_tcp_port}"):
        await asked.apply(f"127.0.0.1:{unused_tcp_port}", CALL)


async def test_leaving_a_stream_cancels_the_call(start: Any) -> None:
    running = await start()
    running.pipeline.release.clear()
    async with AsyncClient(running.address) as client:
        events = client.stream(CALL)
        assert await anext(events) == TextChunk(b"one\n")
        await events.aclose()
        await asyncio.wait_for(running.pipeline.closed.wait(), 10)


async def test_leaving_a_stream_cancels_the_call_in_a_thread(start: Any) -> None:
    running = await start()
    running.pipeline.release.clear()
    client = Client(running.address)

    def leave() -> TextChunk | AppliedEdit:
        events = client.stream(CALL)
        first = next(events)
        events.close()
        return first

    assert await asyncio.to_thread(leave) == TextChunk(b"one\n")
    await asyncio.wait_for(running.pipeline.closed.wait(), 10)
    client.close()
