"""Every query of the dashboard and every rule, through a real Prometheus, over a real service on the embedded model."""

from __future__ import annotations

import json
import math
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from service.client import (
    Client,
    ClientEdit,
    DraftOptions,
    EditCall,
    Instruction,
    RequestClass,
    Sampling,
    SearchReplace,
    SearchReplaceBlock,
    UnifiedDiff,
    UpdateSnippet,
)
from service.errors import RedraftError
from service.launch import ServerProcess

pytestmark = pytest.mark.engine

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana" / "dashboards" / "redraft.json").read_text())
RULES = yaml.safe_load((DEPLOY / "prometheus" / "rules.yml").read_text())

WAIT = 120.0
TEXT = "".join(f"def area_{i}(width, height):\n    return width * height\n\n\n" for i in range(4))
TEXT += "def greeting(name):\n    return 'Hello, ' + name\n"
EDITS: tuple[ClientEdit, ...] = (
    UpdateSnippet("# ... existing code ...\n\n\ndef greeting(name):\n    return 'Good evening, ' + name\n"),
    UnifiedDiff(
        "@@ -18,2 +18,2 @@\n def greeting(name):\n-    return 'Hello, ' + name\n+    return 'Good evening, ' + name\n"
    ),
    SearchReplace((SearchReplaceBlock("return 'Hello, ' + name", "return 'Good evening, ' + name"),)),
)
LONG = "".join(f"def area_{i}(width, height):\n    return width * height\n\n\n" for i in range(60))
PLAIN = EditCall(
    path="a.py",
    content=LONG,
    edit=UpdateSnippet("def area_0(width, height):\n    return width * height + 1\n# ... existing code ...\n"),
    draft=DraftOptions(enabled=False),
)
RUNNING = 2  # and one may wait
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Service:
    address: str
    metrics: str


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """`redraft serve` on the embedded model, found by what it logs."""
    flags = {
        "engine.max_num_seqs": RUNNING,
        "server.max_queued_requests": 1,
        "engine.kv_cache_gib": 1,
        "engine.cpu_threads": 1,
    }
    arguments = [part for name, value in flags.items() for part in ("--set", f"{name}={value}")]
    with ServerProcess(arguments) as server:
        found = re.search(r"http://(127\.0\.0\.1:\d+)/metrics", server.log())
        assert found, server.log()
        yield Service(server.address, found[1])


def ask(client: Client, call: EditCall, seconds: float = WAIT) -> str:
    try:
        client.apply(call, timeout_seconds=seconds)
    except RedraftError as error:
        return str(error.reason)
    return "OK"


def drive(service: Service) -> list[str]:
    """Requests of both classes and of all forms that the model takes, and one for every outcome that a caller can bring
    about. Returns what became of each."""
    outcomes: list[str] = []
    classes = (RequestClass.INTERACTIVE, RequestClass.BATCH)
    snippet = EDITS[0]
    with Client(service.address) as client, ThreadPoolExecutor(2) as pool:
        good = [EditCall(path="a.py", content=TEXT, edit=e, request_class=c) for e in EDITS for c in classes]
        outcomes += pool.map(lambda call: ask(client, call), good)
        bad = (
            EditCall(path="a.py", content="", edit=snippet),
            EditCall(path="a.py", content=TEXT, edit=snippet, model="another"),
            EditCall(path="a.py", content=TEXT, edit=snippet, base_sha256=bytes(32)),
            EditCall(path="a.py", content=TEXT, edit=Instruction("say good evening")),
            EditCall(path="a.py", content=TEXT, edit=snippet, sampling=Sampling(max_output_tokens=5)),
        )
        outcomes += [ask(client, call) for call in bad]
        outcomes.append(ask(client, PLAIN, seconds=1.0))
        running = [client.stream(PLAIN, timeout_seconds=WAIT) for _ in range(RUNNING)]
        for stream in running:
            next(stream)
        waiting = pool.submit(ask, client, good[0])
        until_in_flight(service, RUNNING + 1)
        outcomes.append(ask(client, PLAIN))  # one too many
        for stream in running:
            stream.close()
        outcomes += ["CANCELLED"] * RUNNING
        outcomes.append(waiting.result())
    return outcomes


def until_in_flight(service: Service, requests: int) -> None:
    """By the service's own metrics: nobody else can tell how many it has let in."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        with DIRECT.open(f"http://{service.metrics}/metrics", timeout=10) as answer:
            families = {family.name: family for family in text_string_to_metric_families(answer.read().decode())}
        if sum(sample.value for sample in families["redraft_requests_in_flight"].samples) == requests:
            return
        time.sleep(0.02)
    raise AssertionError(f"there were never {requests} requests in flight")


def targets() -> Iterator[tuple[str, Any]]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield f"{panel['title']} {target['refId']}", target


def as_grafana_asks(expression: str) -> str:
    """With the variables at All, and the intervals that this test lasts."""
    for variable, value in (("$class", ".*"), ("$form", ".*"), ("$size", ".*")):
        expression = expression.replace(variable, value)
    expression = expression.replace("$__rate_interval", "60s").replace("$__range", "120s")
    assert "$" not in expression
    return expression


def numbers(series: list[Any]) -> list[float]:
    values = [pair for one in series for pair in (one.get("values") or [one["value"]])]
    return [float(value) for _, value in values if math.isfinite(float(value))]


def test_every_query_gives_figures(service: Service, prometheus: Callable[[str], Any]) -> None:
    db = prometheus(service.metrics)
    db.wait_for('count_over_time(up{job="redraft"}[60s]) >= 2')
    outcomes: list[str] = []
    for _ in range(2):  # a rate needs figures before and after
        outcomes += drive(service)
        db.wait_for(f"sum(redraft_outcomes_total) == {len(outcomes)}")
    counted = {
        one["metric"]["reason"]: int(one["value"][1])
        for one in db.query("sum by (reason) (redraft_outcomes_total) > 0")
    }
    assert counted == {reason: outcomes.count(reason) for reason in set(outcomes)}
    assert set(outcomes) == {
        *("OK", "INVALID_REQUEST", "MODEL_NOT_FOUND", "BASE_DIGEST_MISMATCH", "FORM_NOT_SUPPORTED_BY_MODEL"),
        *("RESULT_TRUNCATED", "DEADLINE_EXCEEDED", "QUEUE_FULL", "CANCELLED"),
    }

    empty = [name for name, target in targets() if not _figures(db, target)]
    assert empty == []
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"]).groups()  # type: ignore[union-attr]
            assert db.get(f"label/{label}/values", **{"match[]": metric})

    recorded = [rule["record"] for group in RULES["groups"] for rule in group["rules"] if "record" in rule]
    assert [name for name in recorded if not numbers(db.query(name))] == []
    rules = [rule for group in db.get("rules")["groups"] for rule in group["rules"]]
    assert len(rules) == sum(len(group["rules"]) for group in RULES["groups"])
    assert [rule["name"] for rule in rules if rule["health"] != "ok" or rule.get("lastError")] == []
    # Drafting on the embedded model gains a lot; a figure that means what it says shows it.
    (tokens_per_pass,) = numbers(db.query("1 + sum(redraft_accepted_tokens_total) / sum(redraft_target_passes_total)"))
    assert tokens_per_pass > 2


def _figures(db: Any, target: Any) -> list[float]:
    expression = as_grafana_asks(target["expr"])
    return numbers(db.query(expression) if target.get("instant") else db.query_range(expression, 10))
