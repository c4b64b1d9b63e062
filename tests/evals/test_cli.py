"""The list of the commands, and what it costs to see it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from evals.cli import COMMANDS, app, load

SLOW = ("torch", "transformers", "vllm", "numba", "altair")
"""Packages whose import takes a second or more."""


@pytest.mark.parametrize("name", COMMANDS)
def test_what_the_list_says_of_a_command_is_what_its_own_help_says(name: str) -> None:
    first = load(name).help.split("\n\n")[0]
    assert " ".join(first.split()) == COMMANDS[name][1]
    helped = CliRunner().invoke(app, [name, "--help"])
    assert helped.exit_code == 0
    assert COMMANDS[name][1][:30] in helped.output
    assert f"{name} [OPTIONS]" in helped.output


def test_the_list_has_all_of_them_and_no_other_is_taken() -> None:
    listed = CliRunner().invoke(app, ["--help"])
    assert listed.exit_code == 0
    assert all(f" {name} " in listed.output for name in COMMANDS)
    wrong = CliRunner().invoke(app, ["measure"])
    assert wrong.exit_code == 2
    assert "No such command 'measure'" in wrong.output


_LOOK = """
import json, sys
from typer.testing import CliRunner
from evals.cli import app
codes = [CliRunner().invoke(app, arguments).exit_code for arguments in json.loads(sys.argv[1])]
print(json.dumps([codes, [name for name in json.loads(sys.argv[2]) if name in sys.modules]]))
"""


def test_neither_help_nor_a_bad_argument_waits_for_slow_packages() -> None:
    bad = [
        ["replay", "--drafters", "warp"],
        ["latency", "--configurations", "warp"],
        ["report", "no.json", "--html", "x"],
    ]
    bad += [[name, "--corpus", "no.jsonl", "--json", "x.json"] for name in ("identity", "quality")]
    bad += [["stepcost", "--dtype", "int4"], ["align", "--corpus", "no.jsonl"]]
    asked = [["--help"], *([name, "--help"] for name in COMMANDS), *bad]
    command = [sys.executable, "-c", _LOOK, json.dumps(asked), json.dumps(SLOW)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    codes, imported = json.loads(done.stdout)
    assert codes == [0] * (1 + len(COMMANDS)) + [2] * len(bad)
    assert imported == []
