"""One real service on the embedded model for all end-to-end tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from service.config import EMBEDDED_MODEL_PATH
from service.launch import launch

START_SECONDS = 600.0


@pytest.fixture(scope="session")
def server_address() -> Iterator[str]:
    """HOST:PORT of `redraft serve` in a process of its own."""
    if not (EMBEDDED_MODEL_PATH / "model.safetensors").exists():
        pytest.fail(f"{EMBEDDED_MODEL_PATH} holds no model.safetensors: the checkout is not complete")
    with launch(env={"VLLM_CPU_KVCACHE_SPACE": "1"}, start_seconds=START_SECONDS) as address:
        yield address
