"""The service as a process: what ends it, and how it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from service.client import AppliedEdit, Client, EditCall, TextChunk, UpdateSnippet
from service.errors import Unavailable

BEFORE = "".join(f"value_{i} = {i}\n" for i in range(30))
CALL = EditCall(
    path="a.py", content=BEFORE, edit=UpdateSnippet("value_0 = 'new'\nvalue_1 = 1\n# ... existing code ...\n")
)
AFTER = BEFORE.replace("value_0 = 0", "value_0 = 'new'").encode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains(spawn: Any, number: signal.Signals) -> None:
    server = spawn(0.01)
    with Client(server.address) as client, Client(server.address) as other:
        events = client.stream(CALL)
        first = next(events)
        server.process.send_signal(number)
        _wait_for_line(server.log, "draining")
        with pytest.raises(Unavailable) as caught:
            other.apply(CALL)
        assert caught.value.reason == "DRAINING"
        *chunks, result = [first, *events]
        assert isinstance(result, AppliedEdit)
        assert result.data == AFTER
        assert b"".join(c.data for c in chunks if isinstance(c, TextChunk)) == AFTER
    assert server.process.wait(20) == 0
    assert "value_" not in server.log.read_text()


def test_the_end_of_standard_input_stops_it(spawn: Any) -> None:
    server = spawn(0.0)
    server.process.stdin.close()
    assert server.process.wait(20) == 0


def test_a_signal_during_the_start_ends_it_at_once(spawn: Any) -> None:
    """The start would take ten minutes; the engine's own process must not be left behind."""
    server = spawn(seconds_to_start=600)
    _wait_for_line(server.log, "child ")
    with Client(server.address) as client, pytest.raises(Unavailable) as caught:
        client.apply(CALL)
    assert caught.value.reason == "STARTING"
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(30) == 0
    child = server.log.read_text().split("child ")[1].split()[0]
    assert not Path(f"/proc/{child}").exists()


def test_a_start_that_takes_too_long_ends_with_advice(spawn: Any) -> None:
    """Neither the thread that starts the engine nor the engine's own process may be left behind."""
    server = spawn(seconds_to_start=600, env={"REDRAFT_ENGINE__START_SECONDS": "3"})
    _wait_for_line(server.log, "child ")
    assert server.process.wait(30) == 3
    assert "engine.start_seconds" in server.log.read_text()
    child = server.log.read_text().split("child ")[1].split()[0]
    assert not Path(f"/proc/{child}").exists()


def test_a_dead_engine_ends_the_service(spawn: Any) -> None:
    """A supervisor can tell: health says so, and the exit status asks for a restart."""
    server = spawn(env={"REDRAFT_SERVER__HEALTH_CHECK_SECONDS": "0.05"})
    server.process.send_signal(signal.SIGUSR1)
    assert server.process.wait(30) == 3
    log = server.log.read_text()
    assert "the engine is dead" in log
    assert "supervisor" in log
    assert "Traceback" not in log


def _wait_for_line(log: Path, text: str) -> None:
    end = time.monotonic() + 10
    while text not in log.read_text():
        assert time.monotonic() < end, "the line never came"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--port", "99999"], "server.port"),
        (["--config", "/nowhere/redraft.toml"], "/nowhere/redraft.toml"),
        (["--set", "nonsense"], "SECTION.KEY=VALUE"),
        (
            [f"--set={name}=?" for name in ("server.port", "model.prompt_format", "drafting.enabled")],
            "server.port: Input should be a valid integer",
        ),
        (["--set", "log.level=loud", "--set", "log.format=xml"], "log.level"),
        (["--prompt-format", "poem"], "model.prompt_format"),
    ],
)
def test_bad_configuration_ends_at_once(flags: list[str], says: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "service.cli", "serve", *flags], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
