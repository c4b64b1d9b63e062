"""The proposer that drafts a given width, called as vLLM calls it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from evals.stepcost.proposer import LOG_VARIABLE, WIDTH_VARIABLE, FixedWidthProposer


def test_a_row_whose_prompt_is_still_being_read_drafts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, width = tmp_path / "steps", tmp_path / "width"
    monkeypatch.setenv(LOG_VARIABLE, str(log))
    monkeypatch.setenv(WIDTH_VARIABLE, str(width))
    width.write_text("5")
    proposer = FixedWidthProposer(
        SimpleNamespace(
            speculative_config=SimpleNamespace(num_speculative_tokens=8),
            model_config=SimpleNamespace(max_model_len=64, get_vocab_size=lambda: 100),
        )
    )
    # The second row is a chunk of a prompt that is too long for one pass: nothing was sampled for it.
    drafts = proposer.propose([[7], [], [99]], np.array([20, 20, 61]), np.zeros((3, 64), dtype=int))
    assert drafts == [[8] * 5, [], [0] * 2]
    assert json.loads(log.read_text())[1:] == [2, 5, 2]
