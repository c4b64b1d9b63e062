"""vLLM's own dump, with vLLM's own logging set up as its processes set it up: nothing of it is printed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from service.engine import vllm_logging

SECRET = "the callers tokens"
PROGRAM = f"""
import os
from service.config import EngineConfig
from service.engine import vllm_logging
from service.engine.vllm import environment

os.environ.update(environment(EngineConfig()))
os.environ.update(vllm_logging.environment(os.environ))

from vllm.config.logging import LoggingConfig
from vllm.logger import configure_logging, init_logger
from vllm.logging_utils import dump_input

def fail_a_step():
    configure_logging(LoggingConfig())
    dump_input.dump_engine_exception("config", {{"extra_args": {{"redraft_predicted": "{SECRET}"}}}}, None)
    init_logger("vllm.v1.engine.core").error("another error")
    init_logger("vllm.v1.engine.core").info("not this")

fail_a_step()
print("without it", flush=True)
del os.environ[vllm_logging.CONFIG_VARIABLE]
fail_a_step()
"""


def test_a_failing_step_does_not_log_the_callers_tokens() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[3])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=True,
    )
    with_it, _, without_it = done.stdout.partition("without it")
    assert SECRET not in with_it
    assert "another error" in with_it
    assert "not this" not in with_it
    assert SECRET in without_it  # or the first line proves nothing


def test_an_operators_own_configuration_wins() -> None:
    assert vllm_logging.environment({vllm_logging.CONFIG_VARIABLE: "/etc/mine.json"}) == {}
    assert vllm_logging.environment({"VLLM_CONFIGURE_LOGGING": "0"}) == {}


def test_the_operators_level_holds() -> None:
    path = Path(vllm_logging.environment({"VLLM_LOGGING_LEVEL": "debug"})[vllm_logging.CONFIG_VARIABLE])
    assert '"level": "DEBUG"' in path.read_text(encoding="utf-8")


def test_a_closed_engine_leaves_no_file_and_the_next_writes_its_own() -> None:
    variables: dict[str, str] = {}
    for _ in range(2):
        variables.update(vllm_logging.environment(variables))
        path = Path(variables[vllm_logging.CONFIG_VARIABLE])
        assert path.exists()
        vllm_logging.remove(variables)
        assert not path.parent.exists()
        assert variables == {}
    vllm_logging.remove(variables)


def test_an_operators_own_file_stays() -> None:
    vllm_logging.environment({})
    variables = {vllm_logging.CONFIG_VARIABLE: "/etc/mine.json"}
    vllm_logging.remove(variables)
    assert variables == {vllm_logging.CONFIG_VARIABLE: "/etc/mine.json"}


@pytest.mark.engine
def test_a_service_stopped_while_its_engine_starts_leaves_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "service.cli", "serve", "--port", "0"],
        env={**os.environ, "TMPDIR": str(tmp_path), "REDRAFT_METRICS__PORT": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with process:
        until = time.monotonic() + 60
        while not list(tmp_path.glob("redraft-vllm-*/*")):
            assert time.monotonic() < until, "vLLM's logging was not configured"
            time.sleep(0.1)
        process.terminate()
        said, _ = process.communicate(timeout=60)
    assert b"stopped while starting" in said
    assert not list(tmp_path.glob("redraft-vllm-*"))
