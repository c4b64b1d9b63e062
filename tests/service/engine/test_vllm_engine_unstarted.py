"""What the engine says and sets before anything is started."""

from __future__ import annotations

import pytest

from service.config import DraftingConfig, EngineConfig, ModelConfig
from service.engine.base import GenerateRequest
from service.engine.vllm import VllmEngine, environment
from service.errors import EngineUnavailable


async def test_engine_that_was_not_started_is_unavailable() -> None:
    engine = VllmEngine(ModelConfig(), EngineConfig(), DraftingConfig())
    with pytest.raises(EngineUnavailable, match="start"):
        await engine.check_health()
    with pytest.raises(EngineUnavailable, match="start"):
        await anext(engine.generate(GenerateRequest("test", [1, 2, 3], 10)))
    await engine.close()


def test_environment_keeps_the_operator_s_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    unset = ("VLLM_CPU_KVCACHE_SPACE", "VLLM_WORKER_MULTIPROC_METHOD", "OMP_NUM_THREADS", "VLLM_CPU_OMP_THREADS_BIND")
    for name in unset:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
    monkeypatch.setenv("VLLM_USE_V2_MODEL_RUNNER", "1")
    variables = environment(EngineConfig(kv_cache_gib=3, cpu_threads=2))
    assert "VLLM_LOGGING_LEVEL" not in variables
    assert variables["VLLM_USE_V2_MODEL_RUNNER"] == "0"
    assert variables["VLLM_CPU_KVCACHE_SPACE"] == "3"
    assert variables["OMP_NUM_THREADS"] == "2"
    assert variables["VLLM_WORKER_MULTIPROC_METHOD"] == "spawn"
