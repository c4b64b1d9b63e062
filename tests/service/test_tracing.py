"""Spans of a real server, in memory and over the real protocol to a receiver of ours."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from service import otel_exporters
from service.client import AsyncClient, Client, EditCall, Sampling, UpdateSnippet
from service.config import ConfigError
from service.errors import ResultRejected
from service.metrics.labels import AGREEMENTS
from service.pb import apply_edit_pb2 as pb
from service.tracing import Tracing

WAIT = 10
SECRET = "hunter2_is_the_callers_text"
BEFORE = f"def f():\n    return '{SECRET}'\n\n\ndef g():\n    return 1\n"
CALL = EditCall(
    path=f"{SECRET}.py",
    content=BEFORE,
    edit=UpdateSnippet(f"# ... existing code ...\ndef g():\n    return '{SECRET}'\n"),
    instruction=SECRET,
)
PHASES = ["align", "queue", "prefill", "decode", "guard"]
METHOD = "/redraft.v1.ApplyEditService/"


@dataclass
class Traced:
    tracing: Tracing
    spans: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)

    def named(self, name: str) -> ReadableSpan:
        (span,) = [one for one in self.spans.get_finished_spans() if one.name == name]
        return span

    @property
    def rpc(self) -> ReadableSpan:
        (span,) = [one for one in self.spans.get_finished_spans() if one.kind is SpanKind.SERVER]
        return span

    def children(self) -> list[ReadableSpan]:
        rpc = self.rpc
        children = [one for one in self.spans.get_finished_spans() if one is not rpc]
        assert all(one.parent is not None and one.parent.span_id == rpc.context.span_id for one in children)
        return sorted(children, key=lambda one: one.start_time or 0)

    async def ended(self) -> None:
        """Waits until the call's span has ended: the server ends one after its caller has left."""
        async with asyncio.timeout(WAIT):
            while not any(one.kind is SpanKind.SERVER for one in self.spans.get_finished_spans()):  # noqa: ASYNC110
                await asyncio.sleep(0.005)


@pytest.fixture
def traced() -> Iterator[Traced]:
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    tracing = Tracing("redraft-embedded", provider, MeterProvider([reader], shutdown_on_exit=False))
    yield Traced(tracing, spans, reader)
    tracing.close()


@pytest.fixture(params=["unary", "stream"])
def apply(request: pytest.FixtureRequest) -> Callable[..., Any]:
    async def unary(address: str, call: EditCall) -> Any:
        async with AsyncClient(address, timeout_seconds=WAIT) as client:
            return await client.apply(call)

    async def stream(address: str, call: EditCall) -> Any:
        async with AsyncClient(address, timeout_seconds=WAIT) as client:
            return [event async for event in client.stream(call)][-1]

    return unary if request.param == "unary" else stream


def everything(spans: Any) -> str:
    """All that a receiver could read of the spans."""
    return "".join(span.to_json() for span in spans)


async def test_a_call_and_its_phases(serve: Any, apply: Any, traced: Traced) -> None:
    address, _ = await serve(trace=traced.tracing)
    applied = await apply(address, CALL)
    await traced.ended()
    rpc, children = traced.rpc, traced.children()
    assert [one.name for one in children] == PHASES
    assert rpc.name.startswith(METHOD)
    times = [rpc.start_time, *(time for one in children for time in (one.start_time, one.end_time)), rpc.end_time]
    assert times == sorted(time or 0 for time in times)
    attributes: Mapping[str, Any] = rpc.attributes or {}
    expected = {
        "rpc.system": "grpc",
        "rpc.grpc.status_code": 0,
        "gen_ai.operation.name": "text_completion",
        "gen_ai.request.model": "redraft-embedded",
        "gen_ai.response.model": "redraft-embedded",
        "gen_ai.usage.input_tokens": applied.prompt_tokens,
        "gen_ai.usage.output_tokens": applied.output_tokens,
        "gen_ai.request.temperature": 0.0,
        "redraft.request.class": "interactive",
        "redraft.edit.form": "update_snippet",
        "redraft.file.size": "small",
        "redraft.file.language": "python",
        "redraft.align.outcome": "placed",
        "redraft.agreement": AGREEMENTS[0],  # the model wrote what the plan predicts
        "redraft.target_passes": applied.report.target_passes,
    }
    assert expected.items() <= attributes.items()
    assert rpc.status.status_code is StatusCode.UNSET
    assert SECRET not in everything(traced.spans.get_finished_spans())


async def test_a_result_that_is_refused(serve: Any, apply: Any, traced: Traced) -> None:
    address, _ = await serve(trace=traced.tracing)
    call = EditCall(path="a.py", content=BEFORE, edit=CALL.edit, sampling=Sampling(max_output_tokens=3))
    with pytest.raises(ResultRejected):
        await apply(address, call)
    await traced.ended()
    attributes: Mapping[str, Any] = traced.rpc.attributes or {}
    assert attributes["error.type"] == "RESULT_TRUNCATED"
    assert attributes["rpc.grpc.status_code"] == grpc.StatusCode.FAILED_PRECONDITION.value[0]
    assert attributes["gen_ai.request.max_tokens"] == 3
    assert [one.name for one in traced.children()][:4] == ["align", "queue", "prefill", "decode"]


async def test_a_bug_leaves_no_text_in_its_span(start: Any, call: Any, request_of: Any, traced: Traced) -> None:
    running = await start([KeyError(SECRET)], trace=traced.tracing)
    mine = {"file": pb.SourceFile(path=f"{SECRET}.py", text=SECRET), "edit": pb.Edit(update_snippet=SECRET)}
    with pytest.raises(grpc.aio.AioRpcError):
        await call(running, request_of(**mine))
    await traced.ended()
    assert traced.rpc.status.status_code is StatusCode.ERROR
    assert (traced.rpc.attributes or {})["error.type"] == "INTERNAL"
    assert (traced.rpc.attributes or {})["rpc.grpc.status_code"] == grpc.StatusCode.INTERNAL.value[0]
    assert SECRET not in everything(traced.spans.get_finished_spans())


async def test_a_bad_request_leaves_no_text_in_its_span(serve: Any, apply: Any, traced: Traced) -> None:
    address, _ = await serve(trace=traced.tracing)
    with pytest.raises(Exception, match="language"):
        await apply(address, EditCall(path="a", content=SECRET, edit=CALL.edit, language=SECRET, model=SECRET))
    await traced.ended()
    assert traced.children() == []
    assert SECRET not in everything(traced.spans.get_finished_spans())


async def test_a_caller_that_leaves(start: Any, call: Any, request_of: Any, traced: Traced) -> None:
    """The interceptor must not keep the pipeline from being closed at once."""
    running = await start(trace=traced.tracing)
    running.pipeline.release.clear()
    task = asyncio.ensure_future(call(running, request_of()))
    await asyncio.wait_for(running.pipeline.started.acquire(), WAIT)
    task.cancel()
    await asyncio.wait_for(running.pipeline.closed.wait(), WAIT)
    await traced.ended()
    assert (traced.rpc.attributes or {})["rpc.grpc.status_code"] == grpc.StatusCode.CANCELLED.value[0]


async def test_other_services_are_not_traced(start: Any, traced: Traced) -> None:
    running = await start(trace=traced.tracing)
    await running.channel.unary_unary("/grpc.health.v1.Health/Check")(b"")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.channel.unary_unary(f"{METHOD}Nope")(b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert traced.spans.get_finished_spans() == ()


async def test_a_callers_trace_goes_on(start: Any, request_of: Any, traced: Traced) -> None:
    running = await start(trace=traced.tracing)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await running.stub.ApplyEdit(request_of(), metadata=(("traceparent", parent),))
    await traced.ended()
    assert f"{traced.rpc.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert traced.rpc.parent is not None
    assert f"{traced.rpc.parent.span_id:016x}" == "b7ad6b7169203331"


async def test_calls_at_once_keep_their_spans_apart(serve: Any, traced: Traced) -> None:
    address, _ = await serve(trace=traced.tracing)
    async with AsyncClient(address, timeout_seconds=WAIT) as client:
        await asyncio.gather(*(client.apply(CALL) for _ in range(4)))
    finished = traced.spans.get_finished_spans()
    by_trace: dict[int, list[str]] = {}
    for span in finished:
        by_trace.setdefault(span.context.trace_id, []).append(span.name)
    assert [sorted(names) for names in by_trace.values()] == [sorted([f"{METHOD}ApplyEdit", *PHASES])] * 4


async def test_metrics_by_their_conventional_names(serve: Any, apply: Any, traced: Traced) -> None:
    address, _ = await serve(trace=traced.tracing)
    await apply(address, CALL)
    await traced.ended()
    data: Any = traced.reader.get_metrics_data()
    found = {m.name: m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}
    assert found.keys() == {
        "gen_ai.server.request.duration",
        "gen_ai.server.time_to_first_token",
        "gen_ai.server.time_per_output_token",
    }
    for metric in found.values():
        (point,) = metric.data.data_points
        assert metric.unit == "s"
        assert point.count == 1
        assert point.attributes["gen_ai.request.model"] == "redraft-embedded"
        assert point.attributes["redraft.edit.form"] == "update_snippet"


# -- what the environment asks for -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "traces", "metrics"),
    [
        ({}, (), ()),
        ({"OTEL_SERVICE_NAME": "x"}, (), ()),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4317"}, ("otlp_proto_grpc",), ()),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x:4317"}, ("otlp_proto_grpc",), ()),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://x:4317"}, (), ("otlp_proto_grpc",)),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "otlp"}, ("otlp_proto_grpc",), ("otlp_proto_grpc",)),
        ({"OTEL_TRACES_EXPORTER": "otlp, console"}, ("otlp_proto_grpc", "console"), ()),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4317"}, (), ()),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"}, (), ()),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
            ("otlp_proto_http",),
            (),
        ),
    ],
)
def test_which_exporters(env: dict[str, str], traces: tuple[str, ...], metrics: tuple[str, ...]) -> None:
    assert otel_exporters.named("traces", env) == traces
    assert otel_exporters.named("metrics", env) == metrics


@pytest.mark.parametrize(
    "env",
    [
        {"OTEL_TRACES_EXPORTER": "zipkin-of-old"},
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "pigeon"},
    ],
)
def test_what_is_not_there_is_a_clear_error(env: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"tracing\.enabled=false"):
        Tracing.from_environment("m", env)


def test_nothing_of_opentelemetry_is_imported_without_a_reason() -> None:
    program = (
        "import sys, service.server, service.tracing\n"
        "assert service.tracing.Tracing.from_environment('m', {}) is None\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


class Receiver(trace_service_pb2_grpc.TraceServiceServicer, metrics_service_pb2_grpc.MetricsServiceServicer):
    """An OTLP receiver: the two services of the protocol."""

    def __init__(self) -> None:
        self.resource_spans: list[Any] = []
        self.metrics: set[str] = set()

    def Export(self, request: Any, context: Any) -> Any:
        if isinstance(request, trace_service_pb2.ExportTraceServiceRequest):
            self.resource_spans += request.resource_spans
            return trace_service_pb2.ExportTraceServiceResponse()
        self.metrics |= {m.name for r in request.resource_metrics for s in r.scope_metrics for m in s.metrics}
        return metrics_service_pb2.ExportMetricsServiceResponse()


@pytest.fixture
def receiver() -> Iterator[tuple[str, Receiver]]:
    server = grpc.server(futures.ThreadPoolExecutor(2))
    received = Receiver()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(received, server)
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(received, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"http://127.0.0.1:{port}", received
    server.stop(None).wait()


def test_a_service_sends_its_traces_over_otlp(spawn: Any, receiver: tuple[str, Receiver]) -> None:
    """The process as an operator runs it: told by the environment alone, and sending what is left when it ends."""
    endpoint, received = receiver
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_METRICS_EXPORTER": "otlp",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test",
        "no_proxy": "127.0.0.1",
    }
    server = spawn(env=env)
    with Client(server.address) as client:
        client.apply(CALL)
    server.process.terminate()
    assert server.process.wait(30) == 0
    (resource_spans,) = received.resource_spans
    resource = {one.key: one.value.string_value for one in resource_spans.resource.attributes}
    assert (resource["service.name"], resource["deployment.environment"]) == ("redraft", "test")
    spans = [span for scope in resource_spans.scope_spans for span in scope.spans]
    assert sorted(span.name for span in spans) == sorted([f"{METHOD}ApplyEdit", *PHASES])
    assert "gen_ai.server.request.duration" in received.metrics
    assert SECRET not in str(resource_spans)
    log = server.log.read_text()
    assert "otlp_proto_grpc" in log
    assert SECRET not in log


async def test_the_items_of_a_batch_are_spans_below_its_call(serve: Any, traced: Traced) -> None:
    address, _ = await serve(trace=traced.tracing)

    async def calls() -> AsyncIterator[tuple[str, EditCall]]:
        yield "good", CALL
        yield "bad", EditCall(path="a.py", content="", edit=CALL.edit)

    async with AsyncClient(address, timeout_seconds=WAIT) as client:
        outcomes = {one.item_id: one.request_id async for one in client.batch(calls())}
    await traced.ended()
    items = {
        (one.attributes or {})["redraft.request.id"]: one
        for one in traced.spans.get_finished_spans()
        if one.name == "item"
    }
    assert set(items) == set(outcomes.values())
    assert all(one.parent and one.parent.span_id == traced.rpc.context.span_id for one in items.values())
    good, bad = items[outcomes["good"]], items[outcomes["bad"]]
    assert (good.status.status_code, bad.status.status_code) == (StatusCode.UNSET, StatusCode.ERROR)
    assert (bad.attributes or {})["error.type"] == "INVALID_REQUEST"
    phases = [
        one.name
        for one in sorted(traced.spans.get_finished_spans(), key=lambda one: one.start_time or 0)
        if one.parent and one.parent.span_id == good.context.span_id
    ]
    assert phases == PHASES
    assert "redraft.request.id" not in (traced.rpc.attributes or {})
    assert SECRET not in everything(traced.spans.get_finished_spans())
