"""One real engine for the whole session: starting it takes longer than everything it is asked.

Since drafting is chosen per request, the same engine serves both sides of every comparison.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

from drafts.align import plan_edit
from evals.example_edits import load_examples
from service.config import EMBEDDED_MODEL_PATH, DraftingConfig, EngineConfig, ModelConfig
from service.drafter_config import CopyDrafterConfig
from service.engine.vllm import VllmEngine
from service.prompts import RenderedPrompt, load_prompt_format
from service.types import ApplyRequest, SourceFile

# A deadline for one example is a timed test: a busy machine fails it.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever asks for an engine is marked so: tests/run.sh runs no two engines at once."""
    for item in items:
        if {"engine", "server_address"}.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.engine)


@pytest.fixture(scope="session")
def engine_model() -> ModelConfig:
    """The embedded model."""
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        if not (EMBEDDED_MODEL_PATH / name).is_file():
            pytest.fail(f"{EMBEDDED_MODEL_PATH} holds no {name}: the checkout is not complete")
    return ModelConfig()


@pytest.fixture(scope="session")
def example_prompts(engine_model: ModelConfig) -> dict[str, RenderedPrompt]:
    """Every example edit by name, as the service asks the embedded model."""
    prompt_format = load_prompt_format(engine_model.prompt_format, engine_model.path)
    prompts: dict[str, RenderedPrompt] = {}
    for example in load_examples():
        file = SourceFile(example.path, example.original.encode(), example.original, example.language)
        plan = plan_edit(file.text, example.edit, file.language)
        prompts[example.name] = prompt_format.render(ApplyRequest(example.name, file, example.edit), plan)
    return prompts


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def engine(engine_model: ModelConfig) -> AsyncIterator[VllmEngine]:
    """The started engine, with copy drafting. k is at most 64 here, so that an example takes many drafts."""
    engine = VllmEngine(
        engine_model,
        # The cache holds 16 of the examples at once: what is computed does not depend on who had to make room. So small
        # a model gains little from a second thread, and the two wait for each other wherever something else runs.
        EngineConfig(kv_cache_gib=2, cpu_threads=1),
        DraftingConfig(max_draft_tokens=64, drafter=CopyDrafterConfig(max_batch_draft_tokens=256)),
    )
    await engine.start()
    yield engine
    await engine.close()
