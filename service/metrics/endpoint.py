"""Serves metrics over HTTP, from a thread of its own: a scrape takes nothing from the event loop but its turn."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Thread
from typing import TYPE_CHECKING, Final, Self, cast
from wsgiref.simple_server import WSGIServer

from prometheus_client import REGISTRY, CollectorRegistry, Metric, start_http_server
from prometheus_client.registry import Collector

from service.config import MetricsConfig

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_CLOSE_SECONDS: Final = 5.0


class _Forward(Collector):
    """Everything that another registry holds. It names nothing when it is registered: what it holds comes and goes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        return self._registry.collect()


def together(*registries: CollectorRegistry) -> CollectorRegistry:
    """One registry with the metrics of all of them, as they are whenever it is read."""
    union = CollectorRegistry()
    for registry in registries:
        union.register(_Forward(registry))
    return union


def _as_text(app: WSGIApplication) -> WSGIApplication:
    """Answers in Prometheus's text format, whatever is asked for. Prometheus prefers OpenMetrics, and there
    prometheus_client (0.26) turns the colons of names into underscores: each of vLLM's names has one."""

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return app({**environ, "HTTP_ACCEPT": "text/plain"}, start_response)

    return answer


class MetricsEndpoint:
    """`GET /metrics` on the configured address: our metrics, and those of this process: vLLM's and Python's own.

    Opening raises OSError when the port cannot be had.
    """

    def __init__(self, config: MetricsConfig, *registries: CollectorRegistry, process: bool = True) -> None:
        """process: also what this process registers globally, as vLLM's AsyncLLM does."""
        everything = together(*registries, *((REGISTRY,) if process else ()))
        host = config.host
        try:
            started: tuple[WSGIServer, Thread] = start_http_server(config.port, host, everything)
        except OSError as error:
            raise OSError(
                f"cannot serve metrics on {host}:{config.port} ({error.strerror}): is the port taken? Set metrics.port "
                "or metrics.host, or metrics.enabled=false"
            ) from error
        self._server, self._thread = started
        self._server.set_app(_as_text(cast("WSGIApplication", self._server.get_app())))
        port = self._server.server_port
        self.url = f"http://[{host}]:{port}/metrics" if ":" in host else f"http://{host}:{port}/metrics"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Blocks for up to half a second: the server looks that often whether it is to end."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(_CLOSE_SECONDS)
