"""The files of deploy/ on their own: what Prometheus's own checker says, and that they fit together."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest

from service.config import MetricsConfig
from service.metrics import Metrics

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana" / "dashboards" / "redraft.json").read_text())


def load(path: str) -> Any:
    return yaml.safe_load((DEPLOY / path).read_text())


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "config", "prometheus.yml"),
        ("check", "rules", "--lint-fatal", "rules.yml"),
        ("test", "rules", "rules.test.yml"),
    ],
    ids=" ".join,
)
def test_promtool(promtool: Callable[..., None], arguments: tuple[str, ...]) -> None:
    promtool(*arguments)


def test_every_alert_has_a_test() -> None:
    alerts = {
        rule["alert"] for group in load("prometheus/rules.yml")["groups"] for rule in group["rules"] if "alert" in rule
    }
    tested = {
        one["alertname"]
        for test in load("prometheus/rules.test.yml")["tests"]
        for one in test.get("alert_rule_test", ())
        if one["exp_alerts"]
    }
    assert alerts == tested


def test_our_metrics_follow_prometheus_conventions(promtool_path: str) -> None:
    """Names, units and help texts, as promtool judges them."""
    metrics = Metrics()
    done = subprocess.run(
        [promtool_path, "check", "metrics"],
        input=generate_latest(metrics.registry),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (0, "", "")


def test_the_scrape_finds_a_service_with_default_settings() -> None:
    (job,) = load("prometheus/prometheus.yml")["scrape_configs"]
    defaults = MetricsConfig()
    assert job["static_configs"][0]["targets"] == [f"{defaults.host}:{defaults.port}"]
    assert "metrics_path" not in job


def test_compose_mounts_what_is_there_and_pins_its_images() -> None:
    compose = load("compose.yaml")
    named = set(compose["volumes"])
    for name, service in compose["services"].items():
        assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+", service["image"]), name
        for mount in service["volumes"]:
            source = mount.split(":")[0]
            assert source in named or (DEPLOY / source).exists(), mount
        assert service["network_mode"] == "host"
        assert "ports" not in service


def test_grafana_finds_its_dashboard_and_its_data_source() -> None:
    compose = load("compose.yaml")["services"]
    (source,) = load("grafana/provisioning/datasources/prometheus.yml")["datasources"]
    assert f"--web.listen-address={source['url'].removeprefix('http://')}" in compose["prometheus"]["command"]
    assert source["jsonData"]["timeInterval"] == load("prometheus/prometheus.yml")["global"]["scrape_interval"]
    (provider,) = load("grafana/provisioning/dashboards/redraft.yml")["providers"]
    mounts = {mount.split(":")[1]: mount.split(":")[0] for mount in compose["grafana"]["volumes"]}
    assert (DEPLOY / mounts[provider["options"]["path"]] / "redraft.json").exists()
    home = compose["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{provider['options']['path']}/redraft.json"
    (variable,) = [one for one in DASHBOARD["templating"]["list"] if one["name"] == "datasource"]
    assert variable["current"] == {"text": source["name"], "value": source["uid"]}


def data_sources(part: Any) -> Iterator[Any]:
    """Whatever the dashboard names as a data source, wherever that is."""
    if isinstance(part, dict):
        if "datasource" in part:
            yield part["datasource"]
        part = list(part.values())
    for one in part if isinstance(part, list) else ():
        yield from data_sources(one)


def test_everything_on_the_dashboard_asks_the_chosen_data_source() -> None:
    (source,) = load("grafana/provisioning/datasources/prometheus.yml")["datasources"]
    (variable,) = [one for one in DASHBOARD["templating"]["list"] if one["name"] == "datasource"]
    assert (variable["type"], variable["query"]) == ("datasource", source["type"])
    asked = list(data_sources(DASHBOARD))
    assert len(asked) > len([panel for panel in DASHBOARD["panels"] if panel["type"] != "row"])
    assert all(one == {"type": source["type"], "uid": "${datasource}"} for one in asked)


def test_the_images_find_what_is_mounted_where_they_look() -> None:
    compose = load("compose.yaml")["services"]

    def mounts(name: str) -> dict[str, str]:
        return {target: source for source, target, *_ in (mount.split(":") for mount in compose[name]["volumes"])}

    grafana = mounts("grafana")
    assert "GF_PATHS_PROVISIONING" not in compose["grafana"]["environment"]
    provisioning = DEPLOY / grafana["/etc/grafana/provisioning"]  # the image's own setting, and it knows these folders
    assert {folder.name for folder in provisioning.iterdir()} <= {"datasources", "dashboards", "plugins", "alerting"}
    for file in provisioning.glob("*/*"):
        assert file.suffix in (".yml", ".yaml")
        assert load(str(file.relative_to(DEPLOY)))["apiVersion"] == 1
    assert grafana["/var/lib/grafana"] == "grafana"

    prometheus = mounts("prometheus")
    flags = dict(flag.removeprefix("--").split("=", 1) for flag in compose["prometheus"]["command"])
    config = flags["config.file"]
    assert (DEPLOY / prometheus[config]).samefile(DEPLOY / "prometheus" / "prometheus.yml")
    for rules in load("prometheus/prometheus.yml")["rule_files"]:  # beside the configuration, in the image as here
        there = str(PurePosixPath(config).parent / rules)
        assert (DEPLOY / prometheus[there]).samefile(DEPLOY / "prometheus" / rules)
    assert prometheus[flags["storage.tsdb.path"]] == "prometheus"


def test_grafana_needs_no_plugin_from_elsewhere() -> None:
    types = {panel["type"] for panel in DASHBOARD["panels"]}
    assert types <= {"row", "stat", "timeseries", "heatmap", "histogram", "barchart", "bargauge", "gauge", "table"}
    assert load("compose.yaml")["services"]["grafana"]["environment"]["GF_PLUGINS_PREINSTALL_DISABLED"] == "true"


def test_panels_do_not_overlap_and_say_what_they_show() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells: dict[tuple[int, int], str] = {}
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24, panel["title"]
        for cell in itertools.product(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])):
            assert cell not in cells, (panel["title"], cells[cell])
            cells[cell] = panel["title"]
        if panel["type"] != "row":
            assert panel["description"], panel["title"]
            refs = [target["refId"] for target in panel["targets"]]
            assert len(set(refs)) == len(refs) > 0


def test_the_dashboard_shows_every_metric_of_ours() -> None:
    """A metric that nobody looks at is either missing from the dashboard or not worth having."""
    shown = " ".join(target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ()))
    for family in Metrics().registry.collect():
        if not family.name.endswith("_created"):
            assert family.name in shown, family.name


def test_the_readme_lists_every_metric_of_ours() -> None:
    listed = re.findall(r"^\| `(redraft_\w+)` \|", (DEPLOY / "README.md").read_text(), re.MULTILINE)
    families = [family for family in Metrics().registry.collect() if not family.name.endswith("_created")]
    assert sorted(listed) == sorted(f.name + ("_total" if f.type == "counter" else "") for f in families)
