"""Which OpenTelemetry exporters the standard OTEL_* variables ask for. The exporters read the rest of them themselves.

OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER, and for OTLP the endpoints and protocols. Nothing is
sent unless an exporter or an endpoint is named: unlike the specification's default, silence means none.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any, Final

from service.config import ConfigError

_PROTOCOLS: Final = {"grpc": "otlp_proto_grpc", "http/protobuf": "otlp_proto_http"}
OFF: Final = "or set tracing.enabled=false"


def named(signal: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the exporters of a signal ("traces" or "metrics"), as their packages register them.

    An endpoint for everything means traces: not every receiver of traces takes metrics, and those are asked for by
    OTEL_METRICS_EXPORTER or OTEL_EXPORTER_OTLP_METRICS_ENDPOINT. Raises ConfigError for an unknown protocol.
    """
    if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ()
    asked = env.get(f"OTEL_{signal.upper()}_EXPORTER", "")
    names = [name for name in map(str.strip, asked.split(",")) if name]
    endpoints = [f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"]
    if signal == "traces":
        endpoints.append("OTEL_EXPORTER_OTLP_ENDPOINT")
    if not names and any(env.get(name) for name in endpoints):
        names = ["otlp"]
    return tuple(_otlp(signal, env) if name == "otlp" else name for name in names if name != "none")


def _otlp(signal: str, env: Mapping[str, str]) -> str:
    variables = (f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((env[name] for name in variables if env.get(name)), "grpc")
    if protocol not in _PROTOCOLS:
        raise ConfigError(
            f"OTLP's protocol is {protocol!r}: set {variables[0]} to one of {', '.join(_PROTOCOLS)}, {OFF}"
        )
    return _PROTOCOLS[protocol]


def load(signal: str, names: tuple[str, ...]) -> list[Any]:
    """New exporters, one for each name. Raises ConfigError for one that no installed package registers."""
    group = f"opentelemetry_{signal}_exporter"
    exporters: list[Any] = []
    for name in names:
        (entry, *_) = [*entry_points(group=group, name=name), None]
        if entry is None:
            known = ", ".join(sorted({"otlp", *entry_points(group=group).names}))
            raise ConfigError(
                f"no installed package has the {signal} exporter {name!r}: name one of {known} in "
                f"OTEL_{signal.upper()}_EXPORTER, {OFF}"
            )
        exporters.append(entry.load()())
    return exporters
