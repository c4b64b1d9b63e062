"""Prometheus's own programs, and a real Prometheus on a port and a folder of its own."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
WAIT_SECONDS = 60.0

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def program(name: str) -> str:
    """One of Prometheus's programs: from where `make test` puts them, or installed."""
    unpacked = ROOT / ".venv" / "debian" / "usr" / "bin" / name
    found = str(unpacked) if unpacked.exists() else shutil.which(name)
    if found is None:
        pytest.fail(
            f"{name} is not there: `sh requirements/system.sh python3 prometheus` sees to it, as `make test` does"
        )
    return found


@pytest.fixture(scope="session")
def promtool_path() -> str:
    return program("promtool")


@pytest.fixture(scope="session")
def promtool(promtool_path: str) -> Callable[..., None]:
    """promtool(*arguments) runs it in deploy/prometheus and fails with what it says."""

    def run(*arguments: str) -> None:
        done = subprocess.run(
            [promtool_path, *arguments],
            cwd=DEPLOY / "prometheus",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    return run


class Prometheus:
    """Scrapes one target every `interval` seconds, under the shipped configuration and rules. A context manager."""

    def __init__(self, folder: Path, target: str, interval: float = 0.5) -> None:
        self._folder = folder
        text = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
        for shipped, ours in (("127.0.0.1:9464", target), ("10s", f"{round(interval * 1000)}ms")):
            assert shipped in text
            text = text.replace(shipped, ours)
        (folder / "prometheus.yml").write_text(text)
        shutil.copy(DEPLOY / "prometheus" / "rules.yml", folder)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._address = f"127.0.0.1:{free.getsockname()[1]}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        command = [
            program("prometheus"),
            f"--config.file={self._folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self._folder / 'data'}",
            f"--web.listen-address={self._address}",
        ]
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=self._folder)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)

    def get(self, path: str, **parameters: str | float) -> Any:
        """The `data` of an answer of the HTTP API."""
        url = f"http://{self._address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with _DIRECT.open(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # still starting
                raise
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error

    def query(self, expression: str) -> list[Any]:
        """Series, each with `metric` and one `value`."""
        result: list[Any] = self.get("query", query=expression)["result"]
        return result

    def query_range(self, expression: str, seconds: float) -> list[Any]:
        """Series, each with `metric` and `values`: one a second of the last `seconds`."""
        now = time.time()
        found = self.get("query_range", query=expression, start=now - seconds, end=now, step=1)
        result: list[Any] = found["result"]
        return result

    def wait_for(self, expression: str) -> None:
        """Returns once the expression gives anything. Queries are asked until then: Prometheus tells nobody."""
        end = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                if self.query(expression):
                    return
            except (urllib.error.URLError, ConnectionError):
                pass  # not listening yet
            if time.monotonic() > end:
                raise AssertionError(f"{expression} never came true:\n{(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[Callable[[str], Prometheus]]:
    """prometheus(target) starts one that scrapes HOST:PORT; it is stopped afterwards."""
    running: list[Prometheus] = []

    def start(target: str) -> Prometheus:
        running.append(Prometheus(tmp_path, target).__enter__())
        return running[-1]

    yield start
    for one in running:
        one.__exit__()
