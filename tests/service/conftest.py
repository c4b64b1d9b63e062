"""A real gRPC server over a pipeline whose events the test gives: the layer below is not there, gRPC is."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from drafts.align.plan import Plan, Region, RegionKind, Span
from drafts.core.types import DraftReport, RegionReport, SourceKind
from service.agreement import Agreement
from service.config import Settings
from service.engine.base import GenerateRequest, Output
from service.metrics import Metrics
from service.pb import apply_edit_pb2 as pb
from service.pb import apply_edit_pb2_grpc as pb_grpc
from service.server import Server
from service.tracing import Tracing
from service.types import ApplyRequest, ApplyResult, Event, Hunk, StopReason, TextChunk, Timing

DATA = b"one\ntwo changed\n"
CHUNKS = (b"one\n", b"two chan", b"ged\n")


def make_result(data: bytes = DATA) -> ApplyResult:
    regions = (
        Region(RegionKind.KEPT, Span(0, 4), Span(0, 4), 1.0),
        Region(RegionKind.REPLACED, Span(4, 8), Span(4, 16), 0.5, ("class Foo", "def bar")),
    )
    report = DraftReport(
        target_passes=2,
        output_tokens=9,
        drafted=12,
        accepted=7,
        rejected=3,
        drafter_ns=1_500_000_001,
        draft_lengths={0: 1, 12: 1},
        regions=[
            RegionReport(0, SourceKind.KEPT, drafted=8, accepted=6, rejected=2, passes=1),
            RegionReport(-1, SourceKind.OUTPUT, drafted=4, accepted=1, rejected=1, passes=1),
        ],
    )
    return ApplyResult(
        data=data,
        hunks=(Hunk(Span(4, 8), Span(4, 16)),),
        stop_reason=StopReason.FORMAT_END,
        plan=Plan(data.decode(), regions, 0.75),
        agreement=Agreement.MODEL_AND_PLAN,
        prompt_tokens=21,
        output_tokens=9,
        report=report,
        timing=Timing(align=0.25, queue=0.5, first_text=1.25, total=2.5),
        model="redraft-embedded",
    )


@dataclass
class GivenPipeline:
    """Yields `events`, raising those that are exceptions; waits for `release` before each but the first.

    started: released once by each request that arrives.
    """

    events: Sequence[Event | Exception] = field(
        default_factory=lambda: [*(TextChunk(chunk) for chunk in CHUNKS), make_result()]
    )
    release: asyncio.Event = field(default_factory=asyncio.Event)
    started: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[ApplyRequest] = field(default_factory=list)

    async def apply(self, request: ApplyRequest) -> AsyncIterator[Event]:
        self.requests.append(request)
        self.started.release()
        try:
            for index, event in enumerate(self.events):
                if index:
                    await self.release.wait()
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            self.closed.set()


class GivenEngine:
    """The health of an engine, as the test sets it. It generates nothing: GivenPipeline asks it for nothing."""

    max_model_len = 2048

    def __init__(self) -> None:
        self.dead: Exception | None = None

    async def start(self) -> None: ...

    def generate(self, request: GenerateRequest) -> AsyncIterator[Output]:
        raise NotImplementedError

    async def check_health(self) -> None:
        if self.dead is not None:
            raise self.dead

    async def close(self) -> None: ...


@dataclass
class Running:
    server: Server
    pipeline: GivenPipeline
    engine: GivenEngine
    address: str
    channel: grpc.aio.Channel
    stub: pb_grpc.ApplyEditServiceAsyncStub


Start = Callable[..., Awaitable[Running]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """start(events, ready=True, observe=..., trace=..., **{"server": {...}, ...}) starts a server; it is drained
    afterwards."""
    async with AsyncExitStack() as stack:

        async def begin(
            events: Sequence[Event | Exception] | None = None,
            *,
            ready: bool = True,
            observe: Metrics | None = None,
            trace: Tracing | None = None,
            **sections: Any,
        ) -> Running:
            sections.setdefault("server", {}).setdefault("port", 0)
            sections["server"].setdefault("drain_seconds", 0.2)
            pipeline = GivenPipeline() if events is None else GivenPipeline(events)
            pipeline.release.set()
            engine = GivenEngine()
            server = Server(pipeline, engine, Settings(**sections), metrics=observe, tracing=trace)
            address = await server.start()
            stack.push_async_callback(server.drain)
            if ready:
                await server.ready()
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(address))
            stub: Any = pb_grpc.ApplyEditServiceStub(channel)
            return Running(server, pipeline, engine, address, channel, stub)

        yield begin


def make_request(**changes: Any) -> pb.ApplyEditRequest:
    """A valid request; `changes` replace whole fields."""
    fields: dict[str, Any] = {
        "file": pb.SourceFile(path="a/b.py", text="one\ntwo\n"),
        "edit": pb.Edit(update_snippet="# ...\ntwo changed\n"),
    }
    return pb.ApplyEditRequest(**{**fields, **changes})


def as_stream(request: pb.ApplyEditRequest) -> pb.StreamApplyEditRequest:
    return pb.StreamApplyEditRequest.FromString(request.SerializeToString())


@pytest.fixture
def request_of() -> Callable[..., pb.ApplyEditRequest]:
    return make_request


Call = Callable[[Running, pb.ApplyEditRequest], Awaitable[pb.EditResult]]


@pytest.fixture(params=["unary", "stream"])
def call(request: pytest.FixtureRequest) -> Call:
    """Both calls, reduced to what they have in common: a request gives one result or a failure."""

    async def unary(running: Running, message: pb.ApplyEditRequest) -> pb.EditResult:
        return (await running.stub.ApplyEdit(message, timeout=10)).result

    async def stream(running: Running, message: pb.ApplyEditRequest) -> pb.EditResult:
        stream = running.stub.StreamApplyEdit(as_stream(message), timeout=10)
        try:
            responses = [r async for r in stream]
        finally:
            # grpc.aio loses a task's cancelling that comes just as its request has been sent: the call goes on.
            stream.cancel()
        assert [r.WhichOneof("event") for r in responses[:-1]] == ["chunk"] * (len(responses) - 1)
        assert responses[-1].WhichOneof("event") == "result"
        return responses[-1].result

    return unary if request.param == "unary" else stream


def _scripted_service() -> Any:
    spec = importlib.util.spec_from_file_location("scripted_service", Path(__file__).parent / "scripted_service.py")
    if spec is None or spec.loader is None:
        raise ImportError("scripted_service.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Serve = Callable[..., Awaitable[tuple[str, Any]]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """serve(**options of composer) starts a whole service in which only the model is missing: (address, engine)."""
    servers = []

    async def begin(*, observe: Metrics | None = None, trace: Tracing | None = None, **options: Any) -> tuple[str, Any]:
        settings = Settings.load(None, {"server": {"port": 0, "drain_seconds": 0.1}})
        engine, pipeline = _scripted_service().composer(**options)(settings)
        server = Server(pipeline, engine, settings, metrics=observe, tracing=trace)
        servers.append(server)
        address = await server.start()
        await engine.start()
        await server.ready()
        return address, engine

    yield begin
    for server in servers:
        await server.drain()


class ScriptedProcess:
    """scripted_service.py in a process of its own."""

    def __init__(
        self, folder: Path, seconds_a_token: float, seconds_to_start: float = 0.0, env: Mapping[str, str] | None = None
    ) -> None:
        address_file = folder / "address"
        self.log = folder / "log"
        program = Path(__file__).parent / "scripted_service.py"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(program), str(address_file), str(seconds_a_token), str(seconds_to_start)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **(env or {})},
            )
        while not address_file.exists():
            if self.process.poll() is not None:
                raise RuntimeError(self.log.read_text())
            time.sleep(0.02)
        self.address = address_file.read_text()
        if not seconds_to_start:
            self.wait_until_serving()

    def wait_until_serving(self) -> None:
        with grpc.insecure_channel(self.address, options=[("grpc.enable_http_proxy", 0)]) as channel:
            watch: Any = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
            for answer in watch:
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    break
            watch.cancel()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Callable[..., ScriptedProcess]]:
    """spawn(seconds_a_token, seconds_to_start, env) starts a service without a model; it is killed afterwards."""
    running: list[ScriptedProcess] = []

    def start_one(
        seconds_a_token: float = 0.0, seconds_to_start: float = 0.0, env: Mapping[str, str] | None = None
    ) -> ScriptedProcess:
        folder = tmp_path / f"server{len(running)}"
        folder.mkdir()
        running.append(ScriptedProcess(folder, seconds_a_token, seconds_to_start, env))
        return running[-1]

    yield start_one
    for one in running:
        one.close()


@pytest.fixture(scope="session")
def scripted_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service without a model, shared by the tests that only ask it."""
    one = ScriptedProcess(tmp_path_factory.mktemp("scripted"), 0.0)
    yield one.address
    one.close()
