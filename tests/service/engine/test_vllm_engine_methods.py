"""An engine of its own: vLLM's n-gram drafting, and what is seen when the engine dies. Started once."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import AsyncIterator

import pytest

from drafts.core.types import DraftRequest
from service.config import DraftingConfig, EngineConfig, ModelConfig
from service.drafter_config import NgramDrafterConfig
from service.engine.base import FinishReason, GenerateRequest, Output
from service.engine.vllm import VllmEngine
from service.errors import EngineUnavailable
from service.prompts import RenderedPrompt

pytestmark = pytest.mark.engine


async def collect(engine: VllmEngine, request: GenerateRequest) -> list[Output]:
    return [output async for output in engine.generate(request)]


async def test_ngram_method_reports_its_drafts_and_a_dead_engine_is_unavailable(
    engine_model: ModelConfig, example_prompts: dict[str, RenderedPrompt]
) -> None:
    others = {child.pid for child in multiprocessing.active_children()}
    engine = VllmEngine(
        engine_model,
        EngineConfig(kv_cache_gib=1, cpu_threads=1),
        DraftingConfig(max_draft_tokens=8, drafter=NgramDrafterConfig(min_n=2, max_n=4)),
    )
    await engine.start()
    try:
        rendered = max(example_prompts.values(), key=lambda example: len(example.token_ids))
        prompt = rendered.token_ids
        # The engine drafts by its own method: what the request would copy from is not asked.
        outputs = await collect(engine, GenerateRequest("a", prompt, 100, draft=DraftRequest(predicted=[5] * 100)))
        report = outputs[-1].report
        assert report is not None
        stopped = outputs[-1].finish_reason is FinishReason.STOP
        assert report.output_tokens == sum(len(output.token_ids) for output in outputs) + stopped
        assert report.output_tokens == report.target_passes + report.accepted
        assert report.accepted > 0
        assert await engine.draft_stats() == {}

        answer = engine.generate(GenerateRequest("b", prompt, len(rendered.expected.token_ids)))
        await anext(answer)
        for child in multiprocessing.active_children():
            if child.pid not in others:
                child.kill()
        with pytest.raises(EngineUnavailable):
            await asyncio.wait_for(_drain(answer), 60)
        with pytest.raises(EngineUnavailable):
            await engine.check_health()
        with pytest.raises(EngineUnavailable):
            await collect(engine, GenerateRequest("c", prompt, 10))
    finally:
        await engine.close()


async def _drain(answer: AsyncIterator[Output]) -> None:
    async for _ in answer:
        pass
