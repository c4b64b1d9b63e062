"""The parts under test, one of them replaced when a bug is planted (see planted.py), and tiny models."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest
import torch
from transformers import OPTConfig, OPTForCausalLM

from drafts.reference.parts import Parts

PLANTED = Path(__file__).with_name("planted.py")


@pytest.fixture(scope="session")
def parts() -> Parts:
    bug = os.environ.get("REDRAFT_PLANTED_BUG")
    if bug is None:
        return Parts()
    spec = importlib.util.spec_from_file_location("planted_bugs", PLANTED)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    planted: Parts = module.BUGS[bug].plant()
    return planted


def _tiny(seed: int) -> OPTForCausalLM:
    torch.manual_seed(seed)
    config = OPTConfig(
        vocab_size=24,
        hidden_size=16,
        word_embed_proj_dim=16,
        ffn_dim=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=96,
        init_std=0.6,
        dropout=0.0,
        pad_token_id=None,
        bos_token_id=0,
        eos_token_id=1,
    )
    return OPTForCausalLM(config).eval()  # type: ignore[no-any-return]


@pytest.fixture(scope="session")
def tiny_opt() -> OPTForCausalLM:
    """Random weights, 24 ids, two layers: outputs that vary, in microseconds."""
    return _tiny(3)


@pytest.fixture(scope="session")
def other_opt() -> OPTForCausalLM:
    """Of the same shape as tiny_opt, with other weights: a poor draft model."""
    return _tiny(4)
