"""The shipped clients and the command against the real service on the embedded model."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evals.example_edits import ExampleEdit, load_examples
from service.client import AppliedEdit, Client, DraftOptions, EditCall, TextChunk, UpdateSnippet
from service.errors import EditNotApplicable, InvalidRequest, ResultRejected

pytestmark = pytest.mark.engine

EXAMPLES = 4
TEXT = "def area(width, height):\n    return width * height\n\n\ndef greeting(name):\n    return 'Hello, ' + name\n"
SNIPPET = "# ... existing code ...\n\n\ndef greeting(name):\n    return 'Good evening, ' + name\n"


def outcome(client: Client, example: ExampleEdit, draft: DraftOptions) -> tuple[str, bytes]:
    """The text, or why there is none, with the text that had come: the same whatever drafts it."""
    call = EditCall(path=example.path, content=example.original, edit=example.edit, draft=draft)
    streamed = b""
    try:
        for event in client.stream(call):
            if isinstance(event, TextChunk):
                streamed += event.data
            else:
                assert event.data == streamed
    except (ResultRejected, EditNotApplicable) as error:
        return error.reason, streamed
    return "OK", streamed


def test_drafting_changes_nothing_but_the_passes(server_address: str) -> None:
    """Through gRPC, four at a time, drafted and plain. The shortest examples: the engine's tests take them all."""
    options = [DraftOptions(), DraftOptions(max_draft_tokens=5), DraftOptions(enabled=False)]
    examples = sorted(load_examples(), key=lambda example: len(example.original))[:EXAMPLES]
    with Client(server_address, timeout_seconds=600) as client, ThreadPoolExecutor(4) as pool:
        jobs = [(example, draft) for example in examples for draft in options]
        outcomes = list(pool.map(lambda job: outcome(client, *job), jobs))
    by_example = [outcomes[i : i + len(options)] for i in range(0, len(outcomes), len(options))]
    different = [e.name for e, found in zip(examples, by_example, strict=True) if len(set(found)) > 1]
    assert different == []


def test_a_batch_gives_what_calls_of_their_own_give(server_address: str) -> None:
    examples = sorted(load_examples(), key=lambda example: len(example.original))[:EXAMPLES]
    calls = [(e.name, EditCall(path=e.path, content=e.original, edit=e.edit)) for e in examples]
    calls.append(("empty", EditCall(path="a.py", content="", edit=UpdateSnippet(SNIPPET))))
    with Client(server_address, timeout_seconds=600) as client:
        together = {one.item_id: one.outcome for one in client.batch(calls)}
        alone = {name: outcome(client, e, DraftOptions()) for (name, _), e in zip(calls, examples, strict=False)}
    assert isinstance(together.pop("empty"), InvalidRequest)
    assert together.keys() == alone.keys()
    for name, (reason, text) in alone.items():
        one = together[name]
        if isinstance(one, AppliedEdit):
            assert (reason, text) == ("OK", one.data)
        else:
            assert reason == one.reason


def test_drafting_saves_passes(server_address: str) -> None:
    call = EditCall(path="a.py", content=TEXT, edit=UpdateSnippet(SNIPPET))
    plain = EditCall(path="a.py", content=TEXT, edit=UpdateSnippet(SNIPPET), draft=DraftOptions(enabled=False))
    with Client(server_address, timeout_seconds=120) as client:
        drafted_result, plain_result = client.apply(call), client.apply(plain)
    assert drafted_result.data == plain_result.data
    assert drafted_result.report.output_tokens == plain_result.report.output_tokens
    assert plain_result.report.target_passes == plain_result.report.output_tokens
    assert drafted_result.report.target_passes < plain_result.report.target_passes / 2
    assert isinstance(drafted_result, AppliedEdit)


def test_the_command_starts_a_service_of_its_own(tmp_path: Path, server_address: str) -> None:
    file, snippet = tmp_path / "a.py", tmp_path / "snippet"
    file.write_text(TEXT)
    snippet.write_text(SNIPPET)
    command = [sys.executable, "-m", "service.cli", "apply", str(file), "--update", str(snippet), "--in-place"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    with Client(server_address, timeout_seconds=120) as client:
        expected = client.apply(EditCall(path="a.py", content=TEXT, edit=UpdateSnippet(SNIPPET)))
    assert file.read_text() == expected.text
