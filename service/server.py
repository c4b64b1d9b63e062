"""The gRPC server: health, reflection, the edit service, and an orderly end."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final, NoReturn, TypeAlias, cast

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from service import logs
from service.admission import Admission
from service.atomic_write import write_whole
from service.config import Settings
from service.engine.base import Engine
from service.errors import EngineUnavailable
from service.interceptors import RequestInterceptor
from service.metrics import Metrics, MetricsEndpoint
from service.pb import apply_edit_pb2_grpc as pb_grpc
from service.request_facts import Observer
from service.servicer import SERVICE_NAME, ApplyEditServicer, ApplyPipeline
from service.tracing import Tracing
from service.validate import Limits

_log = structlog.get_logger("redraft")

_MESSAGE_ROOM: Final = 4
"""A message may be this many times the sum of the size limits, so that what is over a limit still gets an answer that
says which; what is over this gets the transport's own error."""
_MIN_MESSAGE_BYTES: Final = 16 * 1024 * 1024
_CLOSE_SECONDS: Final = 1.0
_NO_ENGINE: Final = 3
"""Exit status; see service/cli.py."""


class Server:
    """Serves one pipeline. start (health says NOT_SERVING), ready, then drain.

    metrics, tracing: observe every request; the caller makes them, and ends them after `drain`.
    """

    def __init__(
        self,
        pipeline: ApplyPipeline,
        engine: Engine,
        settings: Settings,
        *,
        metrics: Metrics | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        config = settings.server
        self._config = config
        self._engine = engine
        self._admission = Admission(config.max_queued_requests + settings.engine.max_num_seqs)
        self._health = health.aio.HealthServicer()  # type: ignore[attr-defined]  # missing in the stubs
        self._watch: asyncio.Task[None] | None = None
        self.engine_died = asyncio.Event()
        """Set once the engine fails its health check. vLLM's does not come back: the process has to start again."""
        room = max(_MIN_MESSAGE_BYTES, _MESSAGE_ROOM * (config.max_file_bytes + config.max_edit_bytes))
        observers: Sequence[Observer] = [one for one in (metrics, tracing) if one is not None]
        requests = RequestInterceptor(SERVICE_NAME, observers)
        self._server = grpc.aio.server(
            # The span of a call surrounds everything else, the turning of errors into statuses included.
            interceptors=[*(() if tracing is None else (tracing.interceptor,)), requests],
            options=[
                ("grpc.max_receive_message_length", room),
                ("grpc.max_send_message_length", -1),
                # Otherwise a second service on the port starts as well, and takes every other connection.
                ("grpc.so_reuseport", 0),
            ],
        )
        servicer = ApplyEditServicer(
            pipeline,
            Limits.of(settings),
            self._admission,
            batch_in_flight=config.max_batch_in_flight,
            observers=observers,
        )
        pb_grpc.add_ApplyEditServiceServicer_to_server(servicer, self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (SERVICE_NAME, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, cast(Any, self._server))

    async def start(self) -> str:
        """Opens the port and returns its address, HOST:PORT. Raises OSError when it cannot be opened."""
        host, port = self._config.host, self._config.port
        wanted = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            bound = self._server.add_insecure_port(wanted)
        except RuntimeError as error:
            raise OSError(f"cannot listen on {wanted}: is the port taken?") from error
        await self._report(serving=False)
        await self._server.start()
        address = f"{wanted.rpartition(':')[0]}:{bound}"
        if self._config.address_file is not None:
            write_whole(self._config.address_file, address.encode())
        return address

    async def ready(self) -> None:
        """Lets requests in, now that the engine runs."""
        await self._report(serving=True)
        self._admission.open()
        self._watch = asyncio.create_task(self._watch_engine())

    async def drain(self) -> None:
        """Refuses new requests, gives those in flight `drain_seconds`, cancels the rest and closes the port."""
        if self._watch is not None:
            self._watch.cancel()
        self._admission.drain()
        await self._health.enter_graceful_shutdown()
        _log.info("draining", in_flight=self._admission.in_flight, seconds=self._config.drain_seconds)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._admission.idle(), self._config.drain_seconds)
        if self._admission.in_flight:
            _log.warning("cancelling requests", in_flight=self._admission.in_flight)
            self._admission.cancel()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._admission.idle(), _CLOSE_SECONDS)
        # The last answers may still be on their way out.
        await self._server.stop(_CLOSE_SECONDS)

    async def _report(self, *, serving: bool) -> None:
        status = health_pb2.HealthCheckResponse
        for name in ("", SERVICE_NAME):
            await self._health.set(name, status.SERVING if serving else status.NOT_SERVING)

    async def _watch_engine(self) -> None:
        while True:
            await asyncio.sleep(self._config.health_check_seconds)
            try:
                await self._engine.check_health()
            except Exception as error:  # noqa: BLE001
                # Whatever the check fails with, it says that the engine cannot be relied on.
                _log.error("the engine is dead", error=logs.describe(error))
                break
        await self._report(serving=False)
        self.engine_died.set()


Compose: TypeAlias = Callable[[Settings], tuple[Engine, ApplyPipeline]]


async def serve(settings: Settings, compose: Compose) -> None:
    """Runs the service until SIGTERM or SIGINT (or the end of standard input, where so configured), then drains.

    compose: makes the engine, not yet started, and the pipeline over it (service/compose.py has the real one).
    Raises OSError when a port cannot be opened, ConfigError when the OTEL_* variables ask for what is not there,
    EngineUnavailable when the engine does not start, or dies, and what `compose` raises. An engine that is still
    starting after engine.start_seconds ends the process, with status 3.
    """
    engine, pipeline = compose(settings)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if settings.server.stop_on_stdin_eof:
        _on_stdin_eof(loop, stop)
    with _observing(settings) as (metrics, tracing):
        await _serve(Server(pipeline, engine, settings, metrics=metrics, tracing=tracing), engine, settings, stop)


@contextmanager
def _observing(settings: Settings) -> Iterator[tuple[Metrics | None, Tracing | None]]:
    """What is configured of metrics, already served, and of tracing."""
    metrics = Metrics() if settings.metrics.enabled else None
    with ExitStack() as stack:
        tracing = Tracing.from_environment(settings.model.name) if settings.tracing.enabled else None
        if tracing is not None:
            stack.callback(tracing.close)
            _log.info("tracing", exporters=tracing.exporters)
        if metrics is not None:
            endpoint = stack.enter_context(MetricsEndpoint(settings.metrics, metrics.registry))
            _log.info("metrics", url=endpoint.url)
        yield metrics, tracing


async def _serve(server: Server, engine: Engine, settings: Settings, stop: asyncio.Event) -> None:
    address = await server.start()
    _log.info("starting the engine", address=address, model=settings.model.name)
    try:
        await _start(engine, stop, settings.engine.start_seconds)
        await server.ready()
        _log.info("serving", address=address, model=settings.model.name)
        await _first(stop, server.engine_died)
    finally:
        await server.drain()
        await engine.close()
        _log.info("stopped", address=address)
    if server.engine_died.is_set():
        raise EngineUnavailable(
            "the engine died, and only a new process brings it back: start the service again, or let a supervisor "
            "restart it on exit status 3; what vLLM logged above says why"
        )


async def _start(engine: Engine, stop: asyncio.Event, seconds: float) -> None:
    """Starts the engine. Ends this process when `stop` is set before it runs, or when it takes too long."""
    starting = asyncio.ensure_future(engine.start())
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({starting, stopping}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if starting.done():
        starting.result()
    elif stop.is_set():
        _log.info("stopped while starting")
        await _abandon(engine, 0)
    else:
        _log.error("the engine did not start in time", seconds=seconds)
        sys.stderr.write(f"redraft: the engine did not start within {seconds:g} s: raise engine.start_seconds\n")
        await _abandon(engine, _NO_ENGINE)


async def _first(*events: asyncio.Event) -> None:
    """Returns when one of the events is set."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for one in waiting:
        one.cancel()


async def _abandon(engine: Engine, status: int) -> NoReturn:
    """Ends this process in the middle of the engine's start.

    The start runs in a thread, and takes up to a minute; Python can neither interrupt it nor exit without waiting for
    it. No request has been let in yet, so nothing but what the engine holds and its own processes is left to end.
    """
    await engine.close()
    children = multiprocessing.active_children()
    for child in children:
        child.terminate()
    for child in children:
        child.join(_CLOSE_SECONDS)
        child.kill()
    sys.stderr.flush()
    os._exit(status)


def _on_stdin_eof(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    def wait() -> None:
        # Not sys.stdin: the interpreter may not end while a thread holds its lock.
        while os.read(0, 4096):
            pass
        with suppress(RuntimeError):  # The loop has ended before standard input did.
            loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=wait, name="stdin-eof", daemon=True).start()
