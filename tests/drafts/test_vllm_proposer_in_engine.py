"""The proposer in a running engine."""

from __future__ import annotations

import pytest

from drafts.core.types import DraftRegion, DraftRequest, SourceKind
from service.engine.base import FinishReason, GenerateRequest, Output
from service.engine.vllm import VllmEngine
from service.prompts import RenderedPrompt

pytestmark = pytest.mark.engine


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
