"""The server over a real channel: results, failures, health, reflection, admission, draining, cancelling."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import re
from collections.abc import AsyncGenerator
from typing import Any

import grpc
import pytest
import structlog
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from service import logs
from service.config import LogConfig
from service.errors import EditNotApplicable, EngineUnavailable, QuotaExceeded, ResultRejected
from service.interceptors import REQUEST_ID_KEY
from service.pb import apply_edit_pb2 as pb
from service.servicer import SERVICE_NAME
from service.status import DETAILS_KEY
from service.types import TextChunk

SECRET = "hunter2_is_the_callers_text"
WAIT = 10


def status_of(error: grpc.aio.AioRpcError) -> status_pb2.Status:
    metadata: Any = error.trailing_metadata()
    return status_pb2.Status.FromString(dict(metadata)[DETAILS_KEY])


def reason_of(error: grpc.aio.AioRpcError) -> str:
    info = error_details_pb2.ErrorInfo()
    assert status_of(error).details[0].Unpack(info)
    return str(info.reason)


async def health_of(running: Any, service: str = SERVICE_NAME) -> int:
    stub: Any = health_pb2_grpc.HealthStub(running.channel)
    return int((await stub.Check(health_pb2.HealthCheckRequest(service=service))).status)


async def watch_health(running: Any) -> AsyncGenerator[Any, None]:
    stub: Any = health_pb2_grpc.HealthStub(running.channel)
    watch = stub.Watch(health_pb2.HealthCheckRequest(service=SERVICE_NAME), timeout=WAIT)
    try:
        async for answer in watch:
            yield answer
    finally:
        watch.cancel()


SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


async def test_result(start: Any, call: Any, request_of: Any) -> None:
    running = await start()
    result = await call(running, request_of())
    assert result.text == "one\ntwo changed\n"
    assert result.WhichOneof("content") == "text"
    assert result.sha256 == hashlib.sha256(b"one\ntwo changed\n").digest()
    assert [
        (h.original.start_byte, h.original.end_byte, h.result.start_byte, h.result.end_byte) for h in result.hunks
    ] == [(4, 8, 4, 16)]
    assert result.stop_reason == pb.STOP_REASON_FORMAT_END
    assert result.agreement == pb.AGREEMENT_MODEL_AND_PLAN
    assert [(r.kind, list(r.syntax_path)) for r in result.plan.regions] == [
        (pb.REGION_KIND_KEPT, []),
        (pb.REGION_KIND_REPLACED, ["class Foo", "def bar"]),
    ]
    report = result.draft_report
    assert (report.target_passes, report.output_tokens) == (2, 9)
    assert (report.drafted_tokens, report.accepted_tokens, report.rejected_tokens) == (12, 7, 3)
    assert report.drafter_duration.ToNanoseconds() == 1_500_000_001
    assert [(x.draft_tokens, x.target_passes) for x in report.draft_lengths] == [(0, 1), (12, 1)]
    kept, outside = report.regions
    assert (kept.HasField("region_index"), kept.region_index, kept.source) == (True, 0, pb.DRAFT_SOURCE_KEPT)
    assert (outside.HasField("region_index"), outside.source) == (False, pb.DRAFT_SOURCE_OUTPUT)
    assert result.timing.total_duration.ToNanoseconds() == 2_500_000_000
    assert (result.usage.prompt_tokens, result.usage.output_tokens, result.model) == (21, 9, "redraft-embedded")


async def test_bytes_come_back_as_bytes(start: Any, call: Any, request_of: Any) -> None:
    running = await start()
    result = await call(running, request_of(file=pb.SourceFile(path="a.py", data=b"\xef\xbb\xbfone\r\n")))
    assert result.WhichOneof("content") == "data"
    (request,) = running.pipeline.requests
    assert (request.file.data, request.file.text) == (b"\xef\xbb\xbfone\r\n", "one\n")


async def test_chunks_are_sent_as_they_come_and_give_the_result(start: Any, request_of: Any) -> None:
    running = await start()
    running.pipeline.release.clear()
    responses = running.stub.StreamApplyEdit(pb.StreamApplyEditRequest.FromString(request_of().SerializeToString()))
    reader = aiter(responses)
    first = await asyncio.wait_for(anext(reader), WAIT)
    assert first.chunk.data == b"one\n"  # and the pipeline has not gone on
    running.pipeline.release.set()
    rest = [r async for r in reader]
    chunks = [first.chunk.data, *(r.chunk.data for r in rest[:-1])]
    assert b"".join(chunks) == rest[-1].result.text.encode()


FAILURES = [
    (EditNotApplicable("place it by hand"), grpc.StatusCode.FAILED_PRECONDITION, "EDIT_NOT_APPLICABLE", "edit"),
    (
        ResultRejected("raise max_output_tokens", reason="RESULT_TRUNCATED"),
        grpc.StatusCode.FAILED_PRECONDITION,
        "RESULT_TRUNCATED",
        "result",
    ),
    (EngineUnavailable("try again", retry_seconds=2.5), grpc.StatusCode.UNAVAILABLE, "ENGINE_UNAVAILABLE", 2.5),
    (QuotaExceeded("slow down", retry_seconds=0.5), grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED", 0.5),
]


@pytest.mark.parametrize("after_text", [False, True], ids=["at once", "after text"])
@pytest.mark.parametrize(("error", "code", "reason", "detail"), FAILURES, ids=[f[2] for f in FAILURES])
async def test_failures_of_the_pipeline(
    start: Any, call: Any, request_of: Any, error: Exception, code: Any, reason: str, detail: Any, after_text: bool
) -> None:
    running = await start([TextChunk(b"one"), error] if after_text else [error])
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(running, request_of())
    assert caught.value.code() is code
    assert caught.value.details() == str(error)
    assert reason_of(caught.value) == reason
    status = status_of(caught.value)
    if isinstance(detail, str):
        failure = error_details_pb2.PreconditionFailure()
        assert status.details[1].Unpack(failure)
        assert [(v.type, v.subject) for v in failure.violations] == [(reason, detail)]
    else:
        retry = error_details_pb2.RetryInfo()
        assert status.details[-1].Unpack(retry)
        assert retry.retry_delay.ToNanoseconds() == detail * 1e9


async def test_a_bug_says_nothing_but_the_request_id(start: Any, call: Any, request_of: Any) -> None:
    running = await start([TextChunk(b"one"), KeyError(SECRET)])
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(running, request_of())
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert reason_of(caught.value) == "INTERNAL"
    status = status_of(caught.value)
    request = error_details_pb2.RequestInfo()
    assert status.details[1].Unpack(request)
    initial: Any = caught.value.initial_metadata()
    assert request.request_id == dict(initial)[REQUEST_ID_KEY]
    assert request.serving_data == ""
    assert SECRET not in str(status)
    assert "Traceback" not in str(status)
    assert "KeyError" not in str(status)


async def test_a_pipeline_without_a_result_is_a_bug(start: Any, call: Any, request_of: Any) -> None:
    running = await start([TextChunk(b"one")])
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(running, request_of())
    assert caught.value.code() is grpc.StatusCode.INTERNAL


async def test_health_and_admission_while_starting(start: Any, call: Any, request_of: Any) -> None:
    running = await start(ready=False)
    assert await health_of(running) == NOT_SERVING
    assert await health_of(running, "") == NOT_SERVING
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(running, request_of())
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert reason_of(caught.value) == "STARTING"
    await running.server.ready()
    assert await health_of(running) == SERVING
    assert await health_of(running, "") == SERVING
    await call(running, request_of())


@pytest.mark.parametrize("error", [EngineUnavailable("dead"), RuntimeError("any other failure")])
async def test_a_dead_engine_is_not_serving(start: Any, error: Exception) -> None:
    running = await start(server={"health_check_seconds": 0.01})
    watch = watch_health(running)
    assert (await anext(watch)).status == SERVING
    assert not running.server.engine_died.is_set()
    running.engine.dead = error
    assert (await anext(watch)).status == NOT_SERVING
    await asyncio.wait_for(running.server.engine_died.wait(), WAIT)
    await watch.aclose()


async def test_a_port_serves_one_service(start: Any) -> None:
    running = await start()
    port = int(running.address.rpartition(":")[2])
    with pytest.raises(OSError, match="is the port taken"):
        await start(server={"port": port})


async def test_reflection(start: Any) -> None:
    running = await start()
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(running.channel)
    ask = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE_NAME),
    ]
    services, file = [answer async for answer in stub.ServerReflectionInfo(iter(ask))]
    names = {service.name for service in services.list_services_response.service}
    assert names == {SERVICE_NAME, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}
    assert any(b"StreamApplyEdit" in blob for blob in file.file_descriptor_response.file_descriptor_proto)


async def test_a_full_queue_refuses_and_recovers(start: Any, call: Any, request_of: Any) -> None:
    running = await start(server={"max_queued_requests": 1}, engine={"max_num_seqs": 1})
    running.pipeline.release.clear()
    waiting = [asyncio.ensure_future(call(running, request_of())) for _ in range(2)]
    for _ in waiting:
        await asyncio.wait_for(running.pipeline.started.acquire(), WAIT)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(running, request_of())
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert reason_of(caught.value) == "QUEUE_FULL"
    retry = error_details_pb2.RetryInfo()
    assert status_of(caught.value).details[1].Unpack(retry)
    assert retry.retry_delay.ToNanoseconds() > 0
    running.pipeline.release.set()
    assert [(await w).text for w in waiting] == ["one\ntwo changed\n"] * 2
    await call(running, request_of())


async def test_draining_finishes_what_is_in_flight_and_refuses_the_rest(start: Any, call: Any, request_of: Any) -> None:
    running = await start(server={"drain_seconds": WAIT})
    running.pipeline.release.clear()
    in_flight = asyncio.ensure_future(call(running, request_of()))
    await asyncio.wait_for(running.pipeline.started.acquire(), WAIT)
    watch = watch_health(running)
    assert (await anext(watch)).status == SERVING
    draining = asyncio.ensure_future(running.server.drain())
    assert (await anext(watch)).status == NOT_SERVING
    await watch.aclose()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(running, request_of())
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert reason_of(caught.value) == "DRAINING"
    assert not draining.done()
    running.pipeline.release.set()
    assert (await in_flight).text == "one\ntwo changed\n"
    await asyncio.wait_for(draining, WAIT)


async def test_draining_gives_up_in_the_end(start: Any, call: Any, request_of: Any) -> None:
    running = await start(server={"drain_seconds": 0.05})
    running.pipeline.release.clear()
    stuck = asyncio.ensure_future(call(running, request_of()))
    await asyncio.wait_for(running.pipeline.started.acquire(), WAIT)
    await asyncio.wait_for(running.server.drain(), WAIT)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stuck
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert reason_of(caught.value) == "DRAINING"
    retry = error_details_pb2.RetryInfo()
    assert status_of(caught.value).details[-1].Unpack(retry)
    assert retry.retry_delay.ToNanoseconds() > 0
    assert running.pipeline.closed.is_set()


async def test_cancelling_closes_the_pipelines_iterator(start: Any, call: Any, request_of: Any) -> None:
    running = await start()
    running.pipeline.release.clear()
    task = asyncio.ensure_future(call(running, request_of()))
    await asyncio.wait_for(running.pipeline.started.acquire(), WAIT)
    assert not running.pipeline.closed.is_set()
    task.cancel()
    await asyncio.wait_for(running.pipeline.closed.wait(), WAIT)


async def test_a_deadline_closes_the_pipelines_iterator(start: Any, request_of: Any) -> None:
    running = await start()
    running.pipeline.release.clear()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.stub.ApplyEdit(request_of(), timeout=0.3)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    await asyncio.wait_for(running.pipeline.closed.wait(), WAIT)


async def test_a_caller_that_leaves_its_stream(start: Any, request_of: Any) -> None:
    running = await start()
    running.pipeline.release.clear()
    responses = running.stub.StreamApplyEdit(pb.StreamApplyEditRequest.FromString(request_of().SerializeToString()))
    await responses.read()
    responses.cancel()
    await asyncio.wait_for(running.pipeline.closed.wait(), WAIT)


async def test_unknown_method(start: Any) -> None:
    running = await start()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.channel.unary_unary(f"/{SERVICE_NAME}/Nope")(b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_logs_hold_one_line_a_request_and_no_text_of_the_caller(
    start: Any, call: Any, request_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = io.StringIO()
    monkeypatch.setattr("sys.stderr", sink)
    before = structlog.get_config()
    logs.configure(LogConfig(format="json", level="debug"), cache=False)
    try:
        await _log_something(start, call, request_of)
    finally:
        structlog.configure(**before)
    assert SECRET not in sink.getvalue()
    lines = [json.loads(line) for line in sink.getvalue().splitlines()]
    requests = [line for line in lines if line["event"] == "request"]
    assert [line["code"] for line in requests] == ["OK", "INVALID_ARGUMENT", "INTERNAL"]
    good, bad, bug = requests
    assert (good["form"], good["language"], good["request_class"]) == ("update_snippet", "python", "interactive")
    assert (good["file_bytes"], good["edit_bytes"]) == (len(SECRET), len(SECRET))
    assert re.fullmatch("[0-9a-f]{32}", good["request_id"])
    assert good["duration_seconds"] >= 0
    assert bad["reason"] == "INVALID_REQUEST"
    assert len({line["request_id"] for line in requests}) == 3
    assert bug["level"] == "error"
    assert bug["error"][0] == "builtins.KeyError"
    assert any("conftest.py" in frame for frame in bug["error"])


async def _log_something(start: Any, call: Any, request_of: Any) -> None:
    mine = {"file": pb.SourceFile(path=f"{SECRET}.py", text=SECRET), "edit": pb.Edit(update_snippet=SECRET)}
    await call(await start(), request_of(**mine))
    with pytest.raises(grpc.aio.AioRpcError):
        await call(await start(), request_of(**mine, model="", sampling=pb.Sampling(temperature=-1)))
    with pytest.raises(grpc.aio.AioRpcError):
        await call(await start([KeyError(SECRET)]), request_of(**mine))
