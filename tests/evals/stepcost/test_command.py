"""Real passes of a small shape with made-up weights, on torch and on vLLM."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evals.cli import app
from evals.stepcost.profile import StepCostProfile

SHAPE: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
    "dtype": "float32",
}


def redraft(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "service.cli", "eval", "stepcost", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("engine", ["torch", pytest.param("vllm", marks=pytest.mark.engine)])
def test_every_kind_of_pass_is_measured(engine: str, tmp_path: Path) -> None:
    # The longest context that the shape's positions leave room for: vLLM must still take every draft there.
    deep = SHAPE["max_position_embeddings"] - 8 - 2 * 129
    config, out = tmp_path / "shape.json", tmp_path / "new" / "profile.json"
    config.write_text(json.dumps(SHAPE))
    done = redraft(
        *("--config", str(config), "--engine", engine, "--json", str(out), "--repeats", "5"),
        *("--widths", "0,128", "--contexts", f"64,{deep}", "--batches", "2"),
    )
    assert done.returncode == 0, done.stderr
    profile = StepCostProfile.from_json(json.loads(out.read_text()))
    assert (profile.engine, profile.model) == (engine, "shape")
    assert [(cell.draft_tokens, cell.context, cell.batch) for cell in profile.cells] == [
        (0, 64, 2),
        (128, 64, 2),
        (0, deep, 2),
        (128, deep, 2),
    ]
    assert all(len(cell.seconds) >= 3 and min(cell.seconds) > 0 for cell in profile.cells)
    assert [(fit.context, fit.batch) for fit in profile.fits()] == [(64, 2), (deep, 2)]
    assert f"--profile {out}" in done.stderr.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--widths", "0,513"), "at most 512"),
        (("--widths", "x"), "comma-separated"),
        (("--contexts", "0"), "below 1"),
        (("--dtype", "int4"), "int4"),
        (("--config", "nowhere.json"), "not there"),
        (("--contexts", "100000"), "a context of 7151 at most"),
    ],
)
def test_bad_arguments(arguments: tuple[str, ...], says: str) -> None:
    """In this process: starting one takes longer than the test."""
    done = CliRunner().invoke(app, ["stepcost", *arguments], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert says in done.stderr.replace("\n", " ")
