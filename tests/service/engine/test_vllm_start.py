"""What an operator reads when the engine does not start. No engine is started here."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.config import DraftingConfig, EngineConfig, ModelConfig
from service.engine.vllm import VllmEngine, start_failure
from service.errors import EngineUnavailable


@pytest.mark.parametrize(
    ("error", "names"),
    [
        (RuntimeError("Engine core initialization failed. See root cause above."), ["model.path", "model.dtype"]),
        (RuntimeError("Engine core initialization failed. See root cause above."), ["engine.kv_cache_gib"]),
        (ValueError("No available memory for the cache blocks."), ["model.max_model_len", "engine.kv_cache_gib"]),
        (MemoryError(), ["model.max_model_len", "MemoryError"]),
    ],
)
def test_a_failed_start_names_settings(error: Exception, names: list[str]) -> None:
    message = start_failure(error).message
    assert all(name in message for name in names)


def test_a_long_cause_is_cut() -> None:
    assert len(start_failure(ValueError("x" * 100_000)).message) < 1200


async def test_a_folder_without_a_model(tmp_path: Path) -> None:
    engine = VllmEngine(ModelConfig(path=tmp_path / "none"), EngineConfig(kv_cache_gib=1), DraftingConfig())
    with pytest.raises(EngineUnavailable, match=r"model\.path"):
        await engine.start()
    await engine.close()
