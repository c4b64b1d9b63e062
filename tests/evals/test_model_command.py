"""`redraft model info`, and the outcomes of `redraft model check` (the engine: tests/e2e/test_second_model.py)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evals.model_check import Checked
from evals.model_command import app
from evals.samples import Measurement
from service.config import EMBEDDED_MODEL_PATH
from service.model_info import ModelFolderError, read


def redraft(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "service.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"COLUMNS": "200", "PATH": "/usr/bin:/bin"},
    )


def test_the_embedded_model() -> None:
    done = redraft("model", "info")
    assert done.returncode == 0, done.stderr
    assert "OPTForCausalLM" in done.stdout
    assert "8,192 tokens" in done.stdout
    assert done.stdout.count("verified") >= 4
    assert "Training data" in done.stdout  # the card


def test_a_changed_file_is_named_and_a_service_does_not_start_on_it(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(EMBEDDED_MODEL_PATH, folder, ignore=shutil.ignore_patterns("training*", "__pycache__"))
    weights = folder / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    for arguments, status in ((("model", "info", str(folder)), 1), (("serve", "--model", str(folder)), 2)):
        done = redraft(*arguments)
        assert done.returncode == status, done.stderr
        assert "model.safetensors is not the file that SHA256SUMS names" in done.stderr
        assert "Traceback" not in done.stderr


def test_no_model_folder(tmp_path: Path) -> None:
    for verb in ("info", "check"):
        done = CliRunner().invoke(app, [verb, str(tmp_path)], env={"COLUMNS": "200"})
        assert done.exit_code == 2, done.output
        assert "holds no config.json" in done.stderr.replace("\n", " ")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelFolderError, match="safetensors"):
        read(tmp_path)
    (tmp_path / "config.json").write_text("[")
    with pytest.raises(ModelFolderError, match="cannot read"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("drafted", "plain", "identical", "right"),
    [
        (Measurement("OK", 1, 1, "a", matches_expected=True), Measurement("OK", 2, 1, "a"), True, True),
        (Measurement("OK", 1, 1, "a"), Measurement("OK", 2, 1, "b"), False, False),
        (Measurement("FAILED_PRECONDITION", 1, 1, "a"), Measurement("OK", 2, 1, "a"), False, False),
        (Measurement("FAILED_PRECONDITION", 1, 1, "a"), Measurement("FAILED_PRECONDITION", 2, 1, "a"), True, False),
    ],
)
def test_outcomes(drafted: Measurement, plain: Measurement, identical: bool, right: bool) -> None:
    checked = Checked("x", drafted, plain, None)
    assert (checked.identical, checked.right) == (identical, right)
