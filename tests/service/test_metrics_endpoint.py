"""The endpoint over HTTP, and the service as a process that says where its metrics are."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge
from prometheus_client.parser import text_string_to_metric_families as parse

from service.client import Client, EditCall, UpdateSnippet
from service.config import MetricsConfig
from service.metrics import Metrics, MetricsEndpoint

CALL = EditCall(
    path="a.py",
    content="def f():\n    return 0\n\n\ndef g():\n    return 1\n",
    edit=UpdateSnippet("# ... existing code ...\ndef g():\n    return 2\n"),
)
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def get(url: str, accept: str = "*/*") -> str:
    with _DIRECT.open(urllib.request.Request(url, headers={"Accept": accept}), timeout=10) as answer:
        return str(answer.read().decode())


@pytest.fixture
def process_gauge() -> Iterator[Gauge]:
    """A metric in the process's own registry, where vLLM puts its own."""
    gauge = Gauge("vllm:something", "As vLLM registers them.")
    yield gauge
    REGISTRY.unregister(gauge)


def test_our_metrics_next_to_those_of_the_process(process_gauge: Gauge) -> None:
    process_gauge.set(7)
    metrics = Metrics()
    with MetricsEndpoint(MetricsConfig(port=0), metrics.registry) as endpoint:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", endpoint.url)
        text = get(endpoint.url)
        families = {family.name: family for family in parse(text)}
        assert {"redraft_outcomes", "vllm:something", "process_cpu_seconds"} <= families.keys()
        assert families["vllm:something"].samples[0].value == 7
        # What Prometheus 2 and 3 ask for, best first: whatever it is, a name must not change.
        for accept in (
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,*/*;q=0.1",
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=1.0.0;q=0.3",
        ):
            assert "\nvllm:something 7.0\n" in get(endpoint.url, accept)
    with pytest.raises(urllib.error.URLError):
        get(endpoint.url)


def test_an_endpoint_of_given_registries_only() -> None:
    registry = CollectorRegistry()
    Counter("mine", "text", registry=registry).inc(3)
    with MetricsEndpoint(MetricsConfig(port=0), registry, process=False) as endpoint:
        assert {family.name.removesuffix("_created") for family in parse(get(endpoint.url))} == {"mine"}


def test_two_endpoints_keep_their_metrics_apart() -> None:
    one, two = CollectorRegistry(), CollectorRegistry()
    Counter("mine", "text", registry=one).inc(1)
    Counter("mine", "text", registry=two).inc(2)
    config = MetricsConfig(port=0)
    with MetricsEndpoint(config, one) as first, MetricsEndpoint(config, two) as second:
        assert "mine_total 1.0" in get(first.url)
        assert "mine_total 2.0" in get(second.url)


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=r"metrics\.port"):
            MetricsEndpoint(MetricsConfig(port=port), CollectorRegistry())


def test_ipv6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with MetricsEndpoint(MetricsConfig(host="::1", port=0), Metrics().registry) as endpoint:
        assert endpoint.url.startswith("http://[::1]:")
        assert "redraft_outcomes_total" in get(endpoint.url)


def metrics_url(log: Path) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+/metrics", log.read_text())
    assert found, log.read_text()
    return found[0]


def test_the_service_says_where_its_metrics_are(spawn: Any) -> None:
    server = spawn()
    url = metrics_url(server.log)
    with Client(server.address) as client:
        client.apply(CALL)
    text = get(url)
    assert 'redraft_outcomes_total{class="interactive",reason="OK"} 1.0' in text
    assert 'redraft_requests_in_flight{class="interactive",form="update_snippet",size="small"} 0.0' in text


def test_metrics_answer_while_the_engine_starts(spawn: Any) -> None:
    server = spawn(seconds_to_start=600)
    assert "redraft_outcomes_total" in get(metrics_url(server.log))


def test_metrics_turned_off(spawn: Any) -> None:
    server = spawn(env={"REDRAFT_METRICS__ENABLED": "false"})
    assert "/metrics" not in server.log.read_text()


def test_the_service_does_not_start_without_its_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        flags = ["--port", "0", "--set", f"metrics.port={taken.getsockname()[1]}"]
        command = [sys.executable, "-m", "service.cli", "serve", *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert "metrics.port" in done.stderr
    assert "Traceback" not in done.stderr
