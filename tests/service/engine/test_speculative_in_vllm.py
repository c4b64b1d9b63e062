"""vLLM's own configuration takes what each kind of drafter gives it. No engine is started, so for heads, of which there
are none to test with here, this is all that is tested."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from service.config import DraftingConfig, EngineConfig
from service.drafter_config import (
    CopyDrafterConfig,
    DrafterConfig,
    DraftModelConfig,
    EagleDrafterConfig,
    MtpDrafterConfig,
    NgramDrafterConfig,
    SuffixDrafterConfig,
)
from service.engine.speculative import engine_arguments
from service.engine.vllm import environment, start_failure

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 128,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "dtype": "float32",
}
WITH_MTP_LAYER = {
    **LLAMA,
    "architectures": ["Glm4MoeForCausalLM"],
    "model_type": "glm4_moe",
    "num_nextn_predict_layers": 1,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "first_k_dense_replace": 1,
    "head_dim": 16,
}
EAGLE3 = {**LLAMA, "architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": 64}

Configure = Callable[[dict[str, Any], DrafterConfig], Any]


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str, dict[str, Any]], Path]:
    def make(name: str, config: dict[str, Any]) -> Path:
        path = tmp_path / name
        path.mkdir()
        (path / "config.json").write_text(json.dumps(config))
        return path

    return make


@pytest.fixture
def configure(folder: Callable[[str, dict[str, Any]], Path]) -> Configure:
    """vLLM's speculative configuration for a target and a drafter."""
    os.environ.update(environment(EngineConfig(kv_cache_gib=1)))
    from vllm.engine.arg_utils import EngineArgs

    def configured(target: dict[str, Any], drafter: DrafterConfig) -> Any:
        arguments = EngineArgs(
            model=str(folder("target", target)),
            max_model_len=128,
            enforce_eager=True,
            async_scheduling=False,
            skip_tokenizer_init=True,
            **engine_arguments(DraftingConfig(max_draft_tokens=32, drafter=drafter)),
        )
        return arguments.create_engine_config().speculative_config

    return configured


@pytest.mark.parametrize(
    ("target", "drafter", "method", "length"),
    [
        (LLAMA, CopyDrafterConfig(), "custom_class", 32),
        (LLAMA, NgramDrafterConfig(min_n=3, max_n=5), "ngram", 32),
        pytest.param(
            LLAMA,
            SuffixDrafterConfig(),
            "suffix",
            32,
            marks=pytest.mark.skipif(find_spec("arctic_inference") is None, reason="`suffix` is not installed"),
        ),
        (WITH_MTP_LAYER, MtpDrafterConfig(length=2), "mtp", 2),
    ],
)
def test_drafters_without_a_folder(
    configure: Configure, target: dict[str, Any], drafter: DrafterConfig, method: str, length: int
) -> None:
    config = configure(target, drafter)
    assert (config.method, config.num_speculative_tokens) == (method, length)


@pytest.mark.parametrize(
    ("config", "make", "method", "architecture"),
    [
        (LLAMA, lambda path: DraftModelConfig(path=path), "draft_model", "LlamaForCausalLM"),
        (LLAMA, lambda path: EagleDrafterConfig(path=path, version="eagle"), "eagle", "EagleLlamaForCausalLM"),
        (EAGLE3, lambda path: EagleDrafterConfig(path=path), "eagle3", "LlamaForCausalLMEagle3"),
    ],
)
def test_drafters_with_a_model_of_their_own(
    configure: Configure,
    folder: Callable[[str, dict[str, Any]], Path],
    config: dict[str, Any],
    make: Callable[[Path], DrafterConfig],
    method: str,
    architecture: str,
) -> None:
    made = configure(LLAMA, make(folder("drafter", config)))
    assert (made.method, made.num_speculative_tokens) == (method, 4)
    assert made.draft_model_config.architectures == [architecture]


def test_a_model_without_such_layers_names_the_drafter(configure: Configure) -> None:
    with pytest.raises(NotImplementedError) as caught:
        configure(LLAMA, MtpDrafterConfig())
    message = start_failure(caught.value, drafter="mtp").message
    assert "drafting.drafter (here mtp)" in message
    assert "copy drafts for any" in message
