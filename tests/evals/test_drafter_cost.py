from __future__ import annotations

import pytest

from evals.drafter_cost import Recorded, joined, measure, recorded
from service.config import EMBEDDED_MODEL_PATH, MAX_DRAFT_TOKENS
from service.prompts.tokenization import TextTokenizer


@pytest.fixture(scope="module")
def parts() -> list[Recorded]:
    return recorded(TextTokenizer.load(EMBEDDED_MODEL_PATH), MAX_DRAFT_TOKENS)


def test_long_contexts_are_whole_examples_in_a_row(parts: list[Recorded]) -> None:
    long = joined(parts, 4096, 3)
    size = len(long.request.predicted)
    assert 4096 <= size < 4096 + max(len(part.request.predicted) for part in parts)
    ends = [region.end for region in long.request.regions]
    assert ends == sorted(ends)
    assert ends[-1] == size
    assert list(long.request.predicted[: len(parts[3].request.predicted)]) == list(parts[3].request.predicted)


@pytest.mark.parametrize("batch", [1, 5])
def test_every_request_and_step_is_a_sample(parts: list[Recorded], batch: int) -> None:
    row = measure(1024, batch, parts, 40).to_json()
    assert row["samples"] == len(row["samples_ns"]) == 40 * batch
    assert all(sample > 0 for sample in row["samples_ns"])
    assert row["p50_us"] <= row["p99_us"] <= row["max_us"]
