"""vLLM's own dump, with vLLM's own logging set up as its processes set it up: nothing of it is printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from service.engine import vllm_logging

PROGRAM = """
import os
from service.config import EngineConfig
from service.engine import vllm_logging
from service.engine.vllm import environment

os.environ.update(environment(EngineConfig()))
if not os.environ.get("PLAIN"):
    os.environ.update(vllm_logging.environment(os.environ))
from vllm.config.logging import LoggingConfig
from vllm.logger import configure_logging
from vllm.logging_utils import dump_input

configure_logging(LoggingConfig())
dump_input.dump_engine_exception("config", {"extra_args": {"redraft_predicted": "the callers tokens"}}, None)
from vllm.logger import init_logger
init_logger("vllm.v1.engine.core").error("another error")
init_logger("vllm.v1.engine.core").info("not this")
"""


def run(**variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[3]), **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stderr + done.stdout


def test_a_failing_step_does_not_log_the_callers_tokens() -> None:
    printed = run()
    assert "the callers tokens" not in printed
    assert "another error" in printed
    assert "not this" not in printed


def test_without_it_they_are_logged() -> None:
    assert "the callers tokens" in run(PLAIN="1")


def test_an_operators_own_configuration_wins() -> None:
    assert vllm_logging.environment({vllm_logging.CONFIG_VARIABLE: "/etc/mine.json"}) == {}


def test_the_operators_level_holds() -> None:
    path = Path(vllm_logging.environment({"VLLM_LOGGING_LEVEL": "debug"})[vllm_logging.CONFIG_VARIABLE])
    assert '"level": "DEBUG"' in path.read_text(encoding="utf-8")
