"""One real engine for the whole session: starting it takes longer than everything it is asked.

Since drafting is chosen per request, the same engine serves both sides of every comparison.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from service.config import EMBEDDED_MODEL_PATH, DraftingConfig, EngineConfig, ModelConfig
from service.engine.vllm import VllmEngine


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A StableLM with random weights over single bytes: no weights to ship, and outputs that no drafter foresees."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, StableLmConfig, StableLmForCausalLM

    folder = tmp_path_factory.mktemp("tiny_model")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={"<eos>": 0, **{c: i + 1 for i, c in enumerate(alphabet)}}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>").save_pretrained(folder)
    torch.manual_seed(0)
    model = StableLmForCausalLM(
        StableLmConfig(
            vocab_size=512,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=4096,
            initializer_range=0.4,
            tie_word_embeddings=True,
            bos_token_id=0,
            eos_token_id=0,
        )
    )
    model.save_pretrained(folder)
    return folder


def has_embedded_model() -> bool:
    return (EMBEDDED_MODEL_PATH / "model.safetensors").is_file() and (EMBEDDED_MODEL_PATH / "config.json").is_file()


@pytest.fixture(scope="session")
def engine_model(request: pytest.FixtureRequest) -> ModelConfig:
    """The embedded model; the tiny one where the weights are missing."""
    if has_embedded_model():
        return ModelConfig()
    path: Path = request.getfixturevalue("tiny_model")
    return ModelConfig(path=path, name="tiny")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def engine(engine_model: ModelConfig) -> AsyncIterator[VllmEngine]:
    """The started engine, with copy drafting. k is 64 here, so that short outputs take several drafts."""
    engine = VllmEngine(
        engine_model,
        EngineConfig(kv_cache_gib=1, cpu_threads=2),
        DraftingConfig(max_draft_tokens=64, max_batch_draft_tokens=256),
    )
    await engine.start()
    yield engine
    await engine.close()
