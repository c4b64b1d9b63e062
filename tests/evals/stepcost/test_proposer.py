"""The proposer that drafts a given width, called as vLLM calls it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from evals.stepcost.proposer import LOG_VARIABLE, FixedWidthProposer


def test_a_row_whose_prompt_is_still_being_read_drafts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "steps"
    monkeypatch.setenv(LOG_VARIABLE, str(log))
    proposer = FixedWidthProposer(
        SimpleNamespace(
            speculative_config=SimpleNamespace(num_speculative_tokens=8),
            model_config=SimpleNamespace(max_model_len=64, get_vocab_size=lambda: 100),
        )
    )
    prompts = np.full((3, 64), 5)
    # The second row is a chunk of a prompt that is too long for one pass: nothing was sampled for it.
    drafts = proposer.propose([[7], [], [99]], np.array([20, 20, 61]), prompts)
    assert drafts == [[8] * 5, [], [0] * 2]
    assert json.loads(log.read_text())[1:] == [2, 5, 2]
