"""The whole path on a real model that is not ours: SmolLM2-135M-Instruct, by its chat template.

So small a general model edits badly. That drafting changes nothing, that its answers are cut as the format says, and
that a bad one is a typed failure and no result, holds for it as for any other.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.client import AppliedEdit, Client, DraftOptions, EditCall, Instruction, TextChunk, UpdateSnippet
from service.errors import EditNotApplicable, ResultRejected
from service.launch import launch

pytestmark = pytest.mark.engine

TEXT = "def area(width, height):\n    return width * height\n"
EDITS = [
    UpdateSnippet("def area(width, height):\n    # ... existing code ...\n\n\nprint(area(2, 3))\n"),
    Instruction("Rename the parameter `height` to `depth`."),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models") / "smollm2-135m-instruct"
    subprocess.run([sys.executable, str(Path(__file__).with_name("second_model.py")), str(made)], check=True)
    return made


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    flags = ["--model", str(folder), "--prompt-format", "chat", "--set", "model.dtype=float32"]
    with launch([*flags, "--set", "model.max_model_len=2048"], env={"VLLM_CPU_KVCACHE_SPACE": "1"}) as address:
        yield address


def outcome(client: Client, edit: UpdateSnippet | Instruction, draft: DraftOptions) -> tuple[str, bytes, int]:
    streamed, passes = b"", 0
    try:
        for event in client.stream(EditCall(path="a.py", content=TEXT, edit=edit, draft=draft)):
            if isinstance(event, TextChunk):
                streamed += event.data
            else:
                assert isinstance(event, AppliedEdit)
                assert (event.data, event.model) == (streamed, "smollm2-135m-instruct")
                passes = event.report.target_passes
    except (ResultRejected, EditNotApplicable) as error:
        return error.reason, streamed, 0
    return "OK", streamed, passes


@pytest.mark.parametrize("edit", EDITS, ids=["snippet", "instruction"])
def test_drafting_changes_neither_text_nor_outcome(address: str, edit: UpdateSnippet | Instruction) -> None:
    with Client(address, timeout_seconds=600) as client:
        reason, drafted, passes = outcome(client, edit, DraftOptions())
        plain_reason, plain, plain_passes = outcome(client, edit, DraftOptions(enabled=False))
    assert (reason, drafted) == (plain_reason, plain)
    assert b"<|im_" not in drafted
    assert b"```" not in drafted
    if reason == "OK":
        assert passes < plain_passes


def test_the_check_says_what_the_model_can(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "check.json"
    command = ["model", "check", str(folder), "--examples", "go_health_handler", "--json", str(out)]
    settings = ["--set", "model.dtype=float32", "--set", "model.max_model_len=4096"]
    done = subprocess.run(
        [sys.executable, "-m", "service.cli", *command, *settings],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    (row,) = json.loads(out.read_text())["rows"]
    assert row["identical"] is True
    assert done.returncode == (0 if row["right"] else 1), done.stderr
    assert f"{int(row['right'])} of 1 results right to the byte; 1 of 1 identical." in done.stdout
