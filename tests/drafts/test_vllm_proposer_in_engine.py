"""The proposer in a running engine."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from drafts.core.copy_drafter import CopyDrafter
from drafts.core.loop import replay
from drafts.core.step_cost import StepCost
from drafts.core.types import DraftRegion, DraftRequest, SourceKind
from service.config import DraftingConfig, EngineConfig, ModelConfig
from service.drafter_config import CopyDrafterConfig
from service.engine.base import FinishReason, GenerateRequest, Output
from service.engine.vllm import VllmEngine
from service.prompts import RenderedPrompt

pytestmark = pytest.mark.engine

K = 64


async def collect(engine: VllmEngine, request: GenerateRequest) -> tuple[list[int], Output]:
    """The tokens, and the last output."""
    outputs = [output async for output in engine.generate(request)]
    return [token for output in outputs for token in output.token_ids], outputs[-1]


@pytest.mark.parametrize("malformed", ["regions do not tile", "no such token"])
async def test_engine_serves_a_request_whose_payload_is_malformed(
    engine: VllmEngine, example_prompts: dict[str, RenderedPrompt], malformed: str
) -> None:
    failures = (await engine.draft_stats())["failures"]
    rendered = min(example_prompts.values(), key=lambda example: len(example.token_ids))
    draft = DraftRequest(predicted=rendered.expected.token_ids, regions=(DraftRegion(3, SourceKind.KEPT),))
    if malformed == "no such token":
        draft = DraftRequest(predicted=[10**6] * 40)
    plain, _ = await collect(engine, GenerateRequest("test", rendered.token_ids, 30))
    served, last = await collect(engine, GenerateRequest("test", rendered.token_ids, 30, draft=draft))
    assert len(plain) == 30
    assert served == plain
    assert last.finish_reason is FinishReason.LENGTH
    assert last.report is not None
    assert (last.report.drafted, last.report.target_passes) == (0, 30)
    assert (await engine.draft_stats())["failures"] == failures + 1


async def test_cost_is_fitted_to_a_running_engine_and_decides_k(
    engine: VllmEngine, engine_model: ModelConfig, example_prompts: dict[str, RenderedPrompt]
) -> None:
    """It begins with draft tokens that are taken for dearer than they are anywhere, and learns better."""
    drafter = CopyDrafterConfig(cost_ratio=2 * StepCost.MAX_RATIO, fit_cost=True)
    fitting = VllmEngine(
        engine_model,
        EngineConfig(kv_cache_gib=1, cpu_threads=1),
        DraftingConfig(max_draft_tokens=K, drafter=drafter),
    )
    shortest = sorted(example_prompts.values(), key=lambda example: len(example.token_ids))[:3]
    await fitting.start()
    try:
        passes = unfitted = 0
        for fitted in (False, True):
            for rendered in shortest:
                # The plan is that nothing changes: there are departures, and drafts of any width.
                whole = rendered.draft_request(K)
                kept = (DraftRegion(len(whole.original), SourceKind.KEPT),)
                draft = replace(whole, predicted=whole.original, regions=kept, nodes=(), confidence=0.0)
                asked = GenerateRequest("fit", rendered.token_ids, 600, stop_token_ids=rendered.stop_token_ids)
                plain, _ = await collect(engine, asked)
                tokens, last = await collect(fitting, replace(asked, draft=draft))
                assert tokens == plain
                assert last.report is not None
                if fitted:
                    passes += last.report.target_passes
                    unfitted += replay(CopyDrafter(StepCost(drafter.cost_ratio)), draft, plain, K)[1].target_passes
        ratio = (await fitting.draft_stats())["cost_ratio"]
    finally:
        await fitting.close()
    assert math.isfinite(ratio)
    assert 0 < ratio <= StepCost.MAX_RATIO
    assert passes < 0.75 * unfitted
