"""The contract through a client that is not ours: Node.js, grpc-js, and the proto as it lies in proto/."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import google.rpc
import pytest

from service.client import Client, EditCall, UpdateSnippet

pytestmark = [pytest.mark.engine, pytest.mark.node]

ROOT = Path(__file__).parents[2]
NODE = Path(__file__).parent / "node"
GOOGLE_PROTOS = Path(next(iter(google.rpc.__path__))).parents[1]


@pytest.fixture(scope="session")
def node_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """client.js with its packages, in a folder of its own."""
    folder = tmp_path_factory.mktemp("node") / "client"
    shutil.copytree(NODE, folder, ignore=shutil.ignore_patterns("node_modules"))
    subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True, capture_output=True
    )
    return folder / "client.js"


def ask(client: Path, address: str, request: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        ["node", str(client), address, str(ROOT / "proto"), str(GOOGLE_PROTOS)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        # A proxy for the package registry is no proxy for the loopback address.
        env={key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")},
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


TEXT = """\
def area(width: float, height: float) -> float:
    return width * height


def greeting(name: str) -> str:
    return "Hello, " + name
"""
SNIPPET = """\
# ... existing code ...


def greeting(name: str) -> str:
    return "Good evening, " + name
"""


@pytest.fixture(scope="session")
def answers(node_client: Path, server_address: str) -> dict[str, Any]:
    return ask(node_client, server_address, {"path": "greeting.py", "text": TEXT, "snippet": SNIPPET})


def test_unary(answers: dict[str, Any], server_address: str) -> None:
    """Both clients see the same: at temperature 0 the answer is a function of the request."""
    result = answers["unary"]
    with Client(server_address, timeout_seconds=120) as client:
        ours = client.apply(EditCall(path="greeting.py", content=TEXT, edit=UpdateSnippet(SNIPPET)))
    assert result["content"] == "text"
    assert result["text"] == ours.text
    assert "Good evening, " in result["text"]
    assert bytes(result["sha256"]["data"]) == hashlib.sha256(result["text"].encode()).digest()
    assert rebuilt(result) == result["text"]
    assert result["stopReason"] in ("STOP_REASON_END_OF_TEXT", "STOP_REASON_FORMAT_END")
    assert result["agreement"] in ("AGREEMENT_MODEL_AND_PLAN", "AGREEMENT_MODEL_ONLY")
    assert result["model"] == ours.model
    report = result["draftReport"]
    assert report["outputTokens"] == ours.report.output_tokens
    assert report["targetPasses"] == sum(length["targetPasses"] for length in report["draftLengths"])
    assert 0 < report["targetPasses"] < report["outputTokens"]
    assert report["acceptedTokens"] + report["rejectedTokens"] <= report["draftedTokens"]
    assert {region["kind"] for region in result["plan"]["regions"]} >= {"REGION_KIND_KEPT"}
    assert result["timing"]["totalDuration"].keys() == {"seconds", "nanos"}


def rebuilt(result: dict[str, Any]) -> str:
    """The result from the file sent and the hunks: what an editor would do with them."""
    sent, data = TEXT.encode(), result["text"].encode()
    position, out = 0, b""
    for hunk in result["hunks"]:
        out += sent[position : hunk["original"]["startByte"]]
        out += data[hunk["result"]["startByte"] : hunk["result"]["endByte"]]
        position = hunk["original"]["endByte"]
    return (out + sent[position:]).decode()


def test_stream(answers: dict[str, Any]) -> None:
    stream = answers["stream"]
    *chunks, last = stream["order"]
    assert last == "result"
    assert chunks
    assert set(chunks) == {"chunk"}
    assert stream["streamedText"] == stream["result"]["text"] == answers["unary"]["text"]


@pytest.mark.parametrize("kind", ["badUnary", "badStream"])
def test_error_with_details(answers: dict[str, Any], kind: str) -> None:
    error = answers[kind]
    assert error["failed"]
    assert (error["code"], error["status"]["code"]) == (3, 3)
    assert error["status"]["message"] == error["message"]
    info, bad = error["status"]["details"]
    assert (info["type"], info["reason"], info["domain"]) == ("google.rpc.ErrorInfo", "INVALID_REQUEST", "redraft")
    assert bad["type"] == "google.rpc.BadRequest"
    assert sorted((v["field"], v["reason"]) for v in bad["fieldViolations"]) == [
        ("edit.update_snippet", "EMPTY"),
        ("file.data", "NOT_UTF8"),
    ]


def test_stale_base(answers: dict[str, Any]) -> None:
    error = answers["stale"]
    assert (error["failed"], error["code"]) == (True, 10)
    info, failure = error["status"]["details"]
    assert info["reason"] == "BASE_DIGEST_MISMATCH"
    assert failure["violations"][0]["subject"] == "file"
