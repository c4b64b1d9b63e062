"""Engines of their own, each started once: vLLM's own drafters, and what is seen when an engine dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import shutil
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from drafts.core.types import DraftReport, DraftRequest
from service.config import EMBEDDED_MODEL_PATH, DraftingConfig, EngineConfig, ModelConfig
from service.drafter_config import DrafterConfig, DraftModelConfig, NgramDrafterConfig, SuffixDrafterConfig
from service.engine.base import FinishReason, GenerateRequest, Output
from service.engine.vllm import VllmEngine
from service.errors import EngineUnavailable
from service.prompts import RenderedPrompt

pytestmark = pytest.mark.engine

K = 8


async def collect(engine: VllmEngine, request: GenerateRequest) -> list[Output]:
    return [output async for output in engine.generate(request)]


@contextlib.asynccontextmanager
async def started(model: ModelConfig, drafter: DrafterConfig) -> AsyncIterator[VllmEngine]:
    drafting = DraftingConfig(max_draft_tokens=K, drafter=drafter)
    engine = VllmEngine(model, EngineConfig(kv_cache_gib=1, cpu_threads=1), drafting)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()


async def check_same_text(plain: VllmEngine, tested: VllmEngine, prompts: dict[str, RenderedPrompt]) -> DraftReport:
    """Both of the two shortest examples come out the same; the second one's report."""
    report = DraftReport()
    for name, rendered in sorted(prompts.items(), key=lambda item: len(item[1].token_ids))[:2]:
        # The engine drafts by its own method: what the request would copy from is not asked.
        draft = DraftRequest(predicted=[5] * 100)
        asked = GenerateRequest(name, rendered.token_ids, 250, stop_token_ids=rendered.stop_token_ids)
        expected = await collect(plain, asked)
        answer = await collect(
            tested, GenerateRequest(name, rendered.token_ids, 250, stop_token_ids=rendered.stop_token_ids, draft=draft)
        )
        tokens = [token for output in answer for token in output.token_ids]
        assert tokens == [token for output in expected for token in output.token_ids], name
        last = answer[-1]
        assert last.finish_reason is expected[-1].finish_reason
        assert last.report is not None
        report = last.report
        assert report.output_tokens == len(tokens) + (last.finish_reason is FinishReason.STOP)
        assert report.output_tokens == report.target_passes + report.accepted
        assert report.accepted + report.rejected <= report.drafted
        assert sum(report.draft_lengths.values()) == report.target_passes
        assert sum(k * passes for k, passes in report.draft_lengths.items()) == report.drafted
        assert len(answer) <= report.target_passes
        assert report.target_passes < report.output_tokens / 1.5
    assert await tested.draft_stats() == {}
    return report


@pytest.fixture
def draft_model(tmp_path: Path) -> Path:
    """The embedded model, its two projections multiplied into its embeddings: vLLM drafts with none that has any."""
    weights = {name: tensor.float() for name, tensor in load_file(EMBEDDED_MODEL_PATH / "model.safetensors").items()}
    enter = weights.pop("model.decoder.project_in.weight")
    leave = weights.pop("model.decoder.project_out.weight")
    tied = weights["model.decoder.embed_tokens.weight"]
    weights |= {"model.decoder.embed_tokens.weight": tied @ enter.T, "lm_head.weight": tied @ leave}
    save_file({name: tensor.contiguous() for name, tensor in weights.items()}, tmp_path / "model.safetensors")
    config = json.loads((EMBEDDED_MODEL_PATH / "config.json").read_text())
    config |= {"word_embed_proj_dim": config["hidden_size"], "tie_word_embeddings": False}
    (tmp_path / "config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(EMBEDDED_MODEL_PATH / name, tmp_path)
    return tmp_path


async def test_a_draft_model_changes_no_token(
    engine: VllmEngine, engine_model: ModelConfig, example_prompts: dict[str, RenderedPrompt], draft_model: Path
) -> None:
    """The embedded model drafts for itself: nearly all is accepted."""
    async with started(engine_model, DraftModelConfig(path=draft_model, length=4)) as tested:
        report = await check_same_text(engine, tested, example_prompts)
        assert report.accepted > 0.95 * report.drafted
        assert max(report.draft_lengths) == 4


@pytest.mark.skipif(find_spec("arctic_inference") is None, reason="the extra `suffix` is not installed")
async def test_suffix_decoding_changes_no_token(
    engine: VllmEngine, engine_model: ModelConfig, example_prompts: dict[str, RenderedPrompt]
) -> None:
    async with started(engine_model, SuffixDrafterConfig(max_spec_factor=4.0)) as tested:
        await check_same_text(engine, tested, example_prompts)


async def test_ngram_drafting_changes_no_token_and_a_dead_engine_is_unavailable(
    engine: VllmEngine, engine_model: ModelConfig, example_prompts: dict[str, RenderedPrompt]
) -> None:
    await collect(engine, GenerateRequest("first", [5, 6, 7], 1))  # its processes are there from now on
    others = {child.pid for child in multiprocessing.active_children()}
    async with started(engine_model, NgramDrafterConfig(min_n=2, max_n=4)) as tested:
        report = await check_same_text(engine, tested, example_prompts)
        assert set(report.draft_lengths) <= {0, *range(1, K + 1)}

        rendered = max(example_prompts.values(), key=lambda example: len(example.token_ids))
        answer = tested.generate(GenerateRequest("b", rendered.token_ids, len(rendered.expected.token_ids)))
        await anext(answer)
        for child in multiprocessing.active_children():
            if child.pid not in others:
                child.kill()
        with pytest.raises(EngineUnavailable):
            await asyncio.wait_for(_drain(answer), 60)
        with pytest.raises(EngineUnavailable):
            await tested.check_health()
        with pytest.raises(EngineUnavailable):
            await collect(tested, GenerateRequest("c", rendered.token_ids, 10))


async def _drain(answer: AsyncIterator[Output]) -> None:
    async for _ in answer:
        pass
