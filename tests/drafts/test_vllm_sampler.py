"""What vLLM's sampler needs from our worker."""

from __future__ import annotations

import os

import pytest

from service.config import EngineConfig
from service.engine.vllm import environment


def test_temperatures_reach_the_drafted_positions() -> None:
    os.environ.update(environment(EngineConfig(kv_cache_gib=1)))
    import torch
    from vllm.platforms import current_platform
    from vllm.v1.sample.rejection_sampler import expand_batch_to_tokens

    from drafts.vllm_sampler import ensure_expansion

    current_platform.register_triton_kernel_overrides()  # as every worker of vLLM's begins
    ensure_expansion()
    ends = torch.tensor([3, 3, 8], dtype=torch.int32)  # the second request has no draft tokens
    assert expand_batch_to_tokens(torch.tensor([0.0, 0.4, 0.9]), ends, 8, 0, 1).tolist() == pytest.approx(
        [1.0] * 3 + [0.9] * 5
    )
    top_k = torch.tensor([5, 6, 7], dtype=torch.int32)
    assert expand_batch_to_tokens(top_k, ends, 8).tolist() == [5] * 3 + [7] * 5
    assert not ensure_expansion()
