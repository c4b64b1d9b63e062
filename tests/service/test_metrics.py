"""Metrics of a real server: every request is counted once, however it ends, under labels that no caller chooses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest

from service.client import AsyncClient, DraftOptions, EditCall, Instruction, RequestClass, Sampling, UpdateSnippet
from service.errors import EditNotApplicable, EngineUnavailable, RedraftError, ResultRejected
from service.metrics import Metrics
from service.metrics.labels import AGREEMENTS, OTHER, REASONS, REGION_KINDS
from service.pb import apply_edit_pb2 as pb
from service.request_class import CALLER_CLASSES, FORMS, SIZES, UNKNOWN
from service.types import TextChunk

WAIT = 10
SECRET = "hunter2_is_the_callers_text"
BEFORE = f"def f():\n    return '{SECRET}'\n\n\ndef g():\n    return 1\n"
CALL = EditCall(path="a.py", content=BEFORE, edit=UpdateSnippet("# ... existing code ...\ndef g():\n    return 2\n"))
CLASS = {"class": "interactive", "form": "update_snippet", "size": "small"}


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def total(metrics: Metrics, sample: str, **labels: str) -> float:
    """Over all series of a sample that have these labels."""
    return sum(
        s.value
        for family in metrics.registry.collect()
        for s in family.samples
        if s.name == sample and labels.items() <= s.labels.items()
    )


async def counted(metrics: Metrics, requests: int) -> None:
    """Waits until so many requests have ended: the server ends one after its caller has left."""
    async with asyncio.timeout(WAIT):
        while total(metrics, "redraft_outcomes_total") < requests:  # noqa: ASYNC110  # a counter gives no event
            await asyncio.sleep(0.005)


def check_counted_once(metrics: Metrics, requests: int, reason: str, code: str) -> None:
    assert total(metrics, "redraft_outcomes_total") == requests
    assert total(metrics, "redraft_outcomes_total", reason=reason) == requests
    assert total(metrics, "redraft_request_duration_seconds_count") == requests
    assert total(metrics, "redraft_request_duration_seconds_count", code=code) == requests
    assert total(metrics, "redraft_requests_in_flight") == 0
    assert total(metrics, "redraft_queue_tokens") == 0


FAILURES = [
    (EditNotApplicable("no"), "FAILED_PRECONDITION", "EDIT_NOT_APPLICABLE"),
    (ResultRejected("no", reason="RESULT_EMPTY"), "FAILED_PRECONDITION", "RESULT_EMPTY"),
    (EngineUnavailable("no"), "UNAVAILABLE", "ENGINE_UNAVAILABLE"),
    (KeyError(SECRET), "INTERNAL", "INTERNAL"),
    (RedraftError("no", reason=SECRET), "INTERNAL", OTHER),
]


@pytest.mark.parametrize(("error", "code", "reason"), FAILURES, ids=[f[2] for f in FAILURES])
@pytest.mark.parametrize("after_text", [False, True], ids=["at once", "after text"])
async def test_a_failure(
    start: Any,
    call: Any,
    request_of: Any,
    metrics: Metrics,
    error: Exception,
    code: str,
    reason: str,
    after_text: bool,
) -> None:
    running = await start([TextChunk(b"one"), error] if after_text else [error], observe=metrics)
    with pytest.raises(grpc.aio.AioRpcError):
        await call(running, request_of())
    check_counted_once(metrics, 1, reason, code)
    assert total(metrics, "redraft_request_duration_seconds_count", **CLASS) == 1


async def test_an_invalid_request(start: Any, call: Any, request_of: Any, metrics: Metrics) -> None:
    running = await start(observe=metrics)
    with pytest.raises(grpc.aio.AioRpcError):
        await call(running, request_of(edit=pb.Edit()))
    check_counted_once(metrics, 1, "INVALID_REQUEST", "INVALID_ARGUMENT")
    labels = {"class": "interactive", "form": UNKNOWN, "size": "small"}
    assert total(metrics, "redraft_request_duration_seconds_count", **labels) == 1


async def test_bytes_that_are_no_request(start: Any, metrics: Metrics) -> None:
    running = await start(observe=metrics)
    with pytest.raises(grpc.aio.AioRpcError):
        await running.channel.unary_unary("/redraft.v1.ApplyEditService/ApplyEdit")(b"\xff\xff\xff")
    check_counted_once(metrics, 1, "INVALID_REQUEST", "INVALID_ARGUMENT")
    labels = {"class": UNKNOWN, "form": UNKNOWN, "size": UNKNOWN}
    assert total(metrics, "redraft_request_duration_seconds_count", **labels) == 1


async def test_before_the_engine_runs_and_when_the_queue_is_full(
    start: Any, call: Any, request_of: Any, metrics: Metrics
) -> None:
    limits = {"server": {"max_queued_requests": 1}, "engine": {"max_num_seqs": 1}}
    running = await start(ready=False, observe=metrics, **limits)
    with pytest.raises(grpc.aio.AioRpcError):
        await call(running, request_of())
    check_counted_once(metrics, 1, "STARTING", "UNAVAILABLE")
    await running.server.ready()
    running.pipeline.release.clear()
    waiting = [asyncio.ensure_future(call(running, request_of())) for _ in range(2)]
    for _ in waiting:
        await asyncio.wait_for(running.pipeline.started.acquire(), WAIT)
    with pytest.raises(grpc.aio.AioRpcError):
        await call(running, request_of())
    assert total(metrics, "redraft_requests_in_flight", **CLASS) == 2
    assert total(metrics, "redraft_requests_in_flight") == 2
    assert total(metrics, "redraft_outcomes_total", reason="QUEUE_FULL") == 1
    running.pipeline.release.set()
    await asyncio.gather(*waiting)
    assert total(metrics, "redraft_outcomes_total") == 4
    assert total(metrics, "redraft_requests_in_flight") == 0


async def test_a_caller_that_cancels(start: Any, call: Any, request_of: Any, metrics: Metrics) -> None:
    running = await start(observe=metrics)
    running.pipeline.release.clear()
    task = asyncio.ensure_future(call(running, request_of()))
    await asyncio.wait_for(running.pipeline.started.acquire(), WAIT)
    task.cancel()
    await counted(metrics, 1)
    check_counted_once(metrics, 1, "CANCELLED", "CANCELLED")


async def test_a_deadline(start: Any, request_of: Any, metrics: Metrics) -> None:
    running = await start(observe=metrics)
    running.pipeline.release.clear()
    with pytest.raises(grpc.aio.AioRpcError):
        await running.stub.ApplyEdit(request_of(), timeout=0.2)
    await counted(metrics, 1)
    check_counted_once(metrics, 1, "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED")


async def test_draining_ends_requests(start: Any, call: Any, request_of: Any, metrics: Metrics) -> None:
    running = await start(observe=metrics, server={"drain_seconds": 0.05})
    running.pipeline.release.clear()
    stuck = asyncio.ensure_future(call(running, request_of()))
    await asyncio.wait_for(running.pipeline.started.acquire(), WAIT)
    await asyncio.wait_for(running.server.drain(), WAIT)
    with pytest.raises(grpc.aio.AioRpcError):
        await stuck
    check_counted_once(metrics, 1, "DRAINING", "UNAVAILABLE")


async def test_health_checks_are_no_requests(start: Any, metrics: Metrics) -> None:
    running = await start(observe=metrics)
    await running.channel.unary_unary("/grpc.health.v1.Health/Check")(b"")
    assert total(metrics, "redraft_outcomes_total") == 0


async def test_an_observer_that_fails_costs_no_answer(start: Any, call: Any, request_of: Any) -> None:
    class Broken(Metrics):
        def request_ended(self, facts: Any) -> None:
            raise RuntimeError("broken")

    result = await call(await start(observe=Broken()), request_of())
    assert result.text == "one\ntwo changed\n"


# -- the whole service, less the model -------------------------------------------------------------------------------

Apply = Callable[[str, EditCall], Awaitable[Any]]


@pytest.fixture(params=["unary", "stream"])
def apply(request: pytest.FixtureRequest) -> Apply:
    async def unary(address: str, call: EditCall) -> Any:
        async with AsyncClient(address, timeout_seconds=WAIT) as client:
            return await client.apply(call)

    async def stream(address: str, call: EditCall) -> Any:
        async with AsyncClient(address, timeout_seconds=WAIT) as client:
            return [event async for event in client.stream(call)][-1]

    return unary if request.param == "unary" else stream


async def test_a_result(serve: Any, apply: Apply, metrics: Metrics) -> None:
    """Against the report that the caller gets: the service counts what it says."""
    address, _ = await serve(observe=metrics)
    applied = await apply(address, CALL)
    check_counted_once(metrics, 1, "OK", "OK")
    report = applied.report
    assert report.target_passes > 0
    assert total(metrics, "redraft_target_passes_total", **CLASS) == report.target_passes
    assert total(metrics, "redraft_draft_tokens_total", **CLASS) == report.drafted
    assert total(metrics, "redraft_accepted_tokens_total", **CLASS) == report.accepted
    for name in (
        "redraft_time_to_first_text_seconds",
        "redraft_queue_duration_seconds",
        "redraft_time_per_output_token_seconds",
        "redraft_drafter_duration_seconds",
    ):
        assert total(metrics, f"{name}_count", **CLASS) == 1, name
    first = total(metrics, "redraft_time_to_first_text_seconds_sum")
    assert 0 < first <= total(metrics, "redraft_request_duration_seconds_sum")
    assert total(metrics, "redraft_align_duration_seconds_count", language="python", outcome="placed") == 1
    assert total(metrics, "redraft_agreement_total") == 1
    assert total(metrics, "redraft_agreement_total", agreement="model_and_plan", form="update_snippet") == 1


async def test_request_classes(serve: Any, apply: Apply, metrics: Metrics) -> None:
    address, _ = await serve(observe=metrics)
    big = EditCall(
        path="a.unheard-of",
        content=BEFORE + "# é\n" * 1100,
        edit=CALL.edit,
        request_class=RequestClass.BATCH,
    )
    await apply(address, big)
    labels = {"class": "batch", "form": "update_snippet", "size": "medium"}
    assert total(metrics, "redraft_request_duration_seconds_count", **labels, code="OK") == 1
    assert total(metrics, "redraft_request_duration_seconds_count") == 1
    assert total(metrics, "redraft_align_duration_seconds_count", language="text") == 1


async def test_work_is_counted_although_the_guard_refused_the_result(
    serve: Any, apply: Apply, metrics: Metrics
) -> None:
    address, _ = await serve(observe=metrics)
    call = EditCall(path="a.py", content=BEFORE, edit=CALL.edit, sampling=Sampling(max_output_tokens=5))
    with pytest.raises(ResultRejected):
        await apply(address, call)
    check_counted_once(metrics, 1, "RESULT_TRUNCATED", "FAILED_PRECONDITION")
    assert total(metrics, "redraft_target_passes_total") == 5
    assert total(metrics, "redraft_queue_duration_seconds_count") == 1
    assert total(metrics, "redraft_agreement_total") == 0


async def test_a_form_that_the_model_cannot_take(serve: Any, apply: Apply, metrics: Metrics) -> None:
    address, _ = await serve(observe=metrics)
    with pytest.raises(EditNotApplicable):
        await apply(address, EditCall(path="a.py", content=BEFORE, edit=Instruction("make g return 2")))
    check_counted_once(metrics, 1, "FORM_NOT_SUPPORTED_BY_MODEL", "FAILED_PRECONDITION")
    assert total(metrics, "redraft_align_duration_seconds_count", outcome="instruction") == 1
    assert total(metrics, "redraft_queue_duration_seconds_count") == 0


async def test_tokens_wait_in_the_queue_until_the_engine_answers(serve: Any, metrics: Metrics) -> None:
    address, engine = await serve(observe=metrics, delay=0.5)
    async with AsyncClient(address, timeout_seconds=WAIT) as client:
        events = client.stream(CALL)
        first = asyncio.ensure_future(anext(events))
        async with asyncio.timeout(WAIT):
            while not engine.requests:  # noqa: ASYNC110  # the engine has no event to wait for
                await asyncio.sleep(0.005)
        assert total(metrics, "redraft_queue_tokens", **CLASS) == len(engine.requests[0].prompt)
        await first
        assert total(metrics, "redraft_queue_tokens") == 0
        assert total(metrics, "redraft_requests_in_flight", **CLASS) == 1
        await events.aclose()
    await counted(metrics, 1)
    check_counted_once(metrics, 1, "CANCELLED", "CANCELLED")
    assert total(metrics, "redraft_time_to_first_text_seconds_count") == 1


async def test_two_servers_in_one_process_count_apart(serve: Any, apply: Apply, metrics: Metrics) -> None:
    other = Metrics()
    one, _ = await serve(observe=metrics)
    two, _ = await serve(observe=other)
    await apply(one, CALL)
    await apply(two, CALL)
    await apply(two, CALL)
    check_counted_once(metrics, 1, "OK", "OK")
    check_counted_once(other, 2, "OK", "OK")


ALLOWED = {
    "class": {*CALLER_CLASSES, UNKNOWN},
    "form": {*FORMS, UNKNOWN},
    "size": {*SIZES, UNKNOWN},
    "code": {code.name for code in grpc.StatusCode},
    "reason": {*REASONS, OTHER},
    "agreement": set(AGREEMENTS),
    "region_kind": set(REGION_KINDS),
    "outcome": {"placed", "unplaced", "instruction", "failed"},
}


async def test_no_label_holds_what_a_caller_chose(serve: Any, apply: Apply, metrics: Metrics) -> None:
    address, _ = await serve(observe=metrics)
    await apply(address, CALL)
    mine = UpdateSnippet(f"# {SECRET}\n")
    for call in (
        EditCall(path=f"{SECRET}/{SECRET}", content=SECRET, edit=mine),
        EditCall(path="a", content=SECRET, edit=mine, language=SECRET),
        EditCall(path="a", content=SECRET, edit=mine, model=SECRET),
        EditCall(path="a", content=SECRET, edit=mine, draft=DraftOptions(max_draft_tokens=-1)),
    ):
        try:
            await apply(address, call)
        except RedraftError:
            continue
    assert total(metrics, "redraft_outcomes_total") == 5
    for family in metrics.registry.collect():
        for sample in family.samples:
            assert SECRET not in str(sample.labels)
            for name, value in sample.labels.items():
                assert name in ("le", "language") or value in ALLOWED[name], sample
