"""OpenTelemetry: a span for each call and one for each of its phases, sent where the standard OTEL_* variables say.

Without such a variable nothing of OpenTelemetry is imported. Names follow the GenAI semantic conventions where they
have one, and are `redraft.*` elsewhere; no attribute holds a caller's text. The providers belong to one Tracing and are
not made the process's own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import grpc

from service import otel_exporters
from service.config import ConfigError
from service.request_facts import Phase, RequestFacts
from service.servicer import SERVICE_NAME

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

_SCOPE: Final = "redraft"
_PREFIX: Final = f"/{SERVICE_NAME}/"
_OPERATION: Final = {"gen_ai.operation.name": "text_completion", "gen_ai.provider.name": "redraft"}
_FLUSH_MILLISECONDS: Final = 5_000

# Seconds; as the conventions advise for these metrics.
_REQUEST_BUCKETS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_FIRST_TOKEN_BUCKETS: Final = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0),
)
_TOKEN_BUCKETS: Final = (0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)


class Tracing:
    """An observer of requests, and the interceptor that gives each call its span. Both providers end with `close`.

    model: the name of the one model that is served. meter_provider: None records no OpenTelemetry metrics.
    exporters: their names, for the log.
    """

    def __init__(
        self,
        model: str,
        tracer_provider: TracerProvider,
        meter_provider: MeterProvider | None = None,
        *,
        exporters: tuple[str, ...] = (),
    ) -> None:
        from opentelemetry.sdk.metrics import MeterProvider as Meters

        self.exporters = exporters
        self._model = {"gen_ai.request.model": model}
        self._tracer_provider = tracer_provider
        self._meter_provider = Meters() if meter_provider is None else meter_provider
        self._tracer = tracer_provider.get_tracer(_SCOPE)
        self.interceptor = _Interceptor(tracer_provider)
        meter = self._meter_provider.get_meter(_SCOPE)

        def histogram(name: str, text: str, buckets: tuple[float, ...]) -> Any:
            return meter.create_histogram(name, "s", text, explicit_bucket_boundaries_advisory=buckets)

        self._duration = histogram("gen_ai.server.request.duration", "Duration of a request.", _REQUEST_BUCKETS)
        self._first_token = histogram(
            "gen_ai.server.time_to_first_token", "Time to the first token of an answer.", _FIRST_TOKEN_BUCKETS
        )
        self._per_token = histogram(
            "gen_ai.server.time_per_output_token", "Time per token after the first output.", _TOKEN_BUCKETS
        )

    @classmethod
    def from_environment(cls, model: str, env: Mapping[str, str] | None = None) -> Tracing | None:
        """None where no exporter is asked for. Raises ConfigError where what is asked for is not installed or unknown.

        env: the variables that choose exporters; everything else is read from the process's own by OpenTelemetry.
        """
        env = os.environ if env is None else env
        traces, metrics = otel_exporters.named("traces", env), otel_exporters.named("metrics", env)
        if not traces and not metrics:
            return None
        try:
            from opentelemetry.instrumentation import grpc as _instrumentation  # noqa: F401  # there at all?
            from opentelemetry.sdk.metrics import MeterProvider as Meters
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider as Tracers
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise ConfigError(
                f"the OTEL_* variables ask for traces, but {error.name} is not installed: install redraft with the "
                f"extra `tracing`, {otel_exporters.OFF}"
            ) from error
        # The operator's OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
        own_name = env.get("OTEL_SERVICE_NAME") or "service.name=" in env.get("OTEL_RESOURCE_ATTRIBUTES", "")
        resource = Resource.create({} if own_name else {"service.name": "redraft"})
        tracers = Tracers(resource=resource, shutdown_on_exit=False)
        for exporter in otel_exporters.load("traces", traces):
            tracers.add_span_processor(BatchSpanProcessor(exporter))
        readers = [PeriodicExportingMetricReader(exporter) for exporter in otel_exporters.load("metrics", metrics)]
        meters = Meters(readers, resource=resource, shutdown_on_exit=False)
        return cls(model, tracers, meters, exporters=traces + metrics)

    def close(self) -> None:
        """Sends what is left. Blocks for as long as that takes, up to some seconds."""
        self._tracer_provider.force_flush(_FLUSH_MILLISECONDS)
        self._tracer_provider.shutdown()
        self._meter_provider.shutdown(_FLUSH_MILLISECONDS)

    # -- observing -------------------------------------------------------------------------------------------------

    def request_started(self, facts: RequestFacts) -> None:
        """The interceptor has started the span of a call already; an item of one gets a span below it."""
        if facts.item:
            from opentelemetry import context, trace

            # Never detached: the item is a task, and its context ends with it.
            context.attach(trace.set_span_in_context(self._tracer.start_span("item")))

    def request_ended(self, facts: RequestFacts) -> None:
        self._measure(facts)
        from opentelemetry import trace

        span = trace.get_current_span()
        if not span.is_recording():
            return
        span.set_attributes({**_OPERATION, **self._model, **_attributes(facts)})
        if facts.code == "OK":
            span.set_attribute("gen_ai.response.model", self._model["gen_ai.request.model"])
        else:
            span.set_attribute("error.type", facts.reason)
            # A call that its caller left is not aborted, so the instrumentation has not seen how it ended.
            span.set_attribute("rpc.grpc.status_code", grpc.StatusCode[facts.code].value[0])
        if facts.code == "DEADLINE_EXCEEDED":
            span.set_status(trace.StatusCode.ERROR)
        to_epoch = time.time_ns() - facts.clock()
        for phase in facts.phases():
            self._phase(phase, facts, to_epoch)
        if facts.item:
            if facts.code not in ("OK", "CANCELLED"):
                span.set_status(trace.StatusCode.ERROR)
            span.end()

    def _phase(self, phase: Phase, facts: RequestFacts, to_epoch: int) -> None:
        from opentelemetry.trace import StatusCode

        span = self._tracer.start_span(phase.name.value, start_time=phase.start_ns + to_epoch)
        if phase.failed and facts.code != "CANCELLED":
            span.set_attribute("error.type", facts.reason)
            span.set_status(StatusCode.ERROR)
        span.end(phase.end_ns + to_epoch)

    def _measure(self, facts: RequestFacts) -> None:
        labels = {**_OPERATION, **self._model, **_request_class(facts)}
        failed = {} if facts.code == "OK" else {"error.type": facts.reason}
        self._duration.record(facts.seconds, {**labels, **failed})
        if facts.first_output_ns is not None:
            self._first_token.record((facts.first_output_ns - facts.started_ns) / 1e9, labels)
        if facts.seconds_per_output_token is not None:
            self._per_token.record(facts.seconds_per_output_token, labels)


def _request_class(facts: RequestFacts) -> dict[str, str]:
    caller, form, size = facts.labels.values
    return {"redraft.request.class": caller, "redraft.edit.form": form, "redraft.file.size": size}


def _attributes(facts: RequestFacts) -> dict[str, str | int | float]:
    attributes: dict[str, str | int | float] = {"redraft.request.id": facts.request_id, **_request_class(facts)}
    if facts.language:
        attributes["redraft.file.language"] = facts.language
    if facts.placement is not None:
        attributes["redraft.align.outcome"] = facts.placement.value
    if facts.generate_ns is not None:
        attributes["gen_ai.request.temperature"] = facts.temperature
        attributes["gen_ai.request.max_tokens"] = facts.max_tokens
        attributes["gen_ai.usage.input_tokens"] = facts.prompt_tokens
        attributes["gen_ai.usage.output_tokens"] = facts.output_tokens
    if facts.report is not None:
        attributes["redraft.target_passes"] = facts.report.target_passes
        attributes["redraft.draft_tokens"] = facts.report.drafted
        attributes["redraft.accepted_tokens"] = facts.report.accepted
    if facts.agreement is not None:
        attributes["redraft.agreement"] = facts.agreement.value
    return attributes


class _Interceptor(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """The standard instrumentation, for the calls of our service.

    Our streams write their messages and yield none (see service/interceptors.py), so that a caller who leaves is
    noticed at once. The instrumentation iterates over streams, so ours are shown to it as what they are: coroutines,
    like that of a call with one answer.
    """

    def __init__(self, tracer_provider: TracerProvider) -> None:
        from opentelemetry.instrumentation.grpc import aio_server_interceptor

        self._standard: Any = aio_server_interceptor(tracer_provider=tracer_provider)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        handler = await continuation(handler_call_details)
        if handler is None or not handler_call_details.method.startswith(_PREFIX):
            return handler
        coders = (handler.request_deserializer, handler.response_serializer)
        if handler.request_streaming:
            shown = grpc.stream_unary_rpc_method_handler(handler.stream_stream or handler.stream_unary, *coders)
        else:
            shown = grpc.unary_unary_rpc_method_handler(handler.unary_stream or handler.unary_unary, *coders)

        async def show(_: grpc.HandlerCallDetails) -> Any:
            return shown

        traced = await self._standard.intercept_service(show, handler_call_details)
        if not handler.response_streaming:
            return traced
        if handler.request_streaming:
            return grpc.stream_stream_rpc_method_handler(traced.stream_unary, *coders)
        return grpc.unary_stream_rpc_method_handler(traced.unary_unary, *coders)
