"""What vLLM's sampler needs: a kernel where the platform's own is wrong, and room for longer drafts."""

from __future__ import annotations

import torch
from vllm.platforms import current_platform
from vllm.triton_utils.dispatcher import register_kernels
from vllm.v1.sample import rejection_sampler

MOST_DRAFT_TOKENS = 512
"""Of a request in one pass. Logits are computed for each of them, over the whole vocabulary and several times over."""


def _expand(
    output: torch.Tensor,
    values: torch.Tensor,
    ends: torch.Tensor,
    replace_from: float,
    replace_to: float,
    max_tokens: int | None = None,
) -> None:
    """output[ends[i - 1] : ends[i]] = values[i], or replace_to where values[i] is replace_from."""
    counts = torch.diff(ends, prepend=ends.new_zeros(1))
    output.copy_(torch.repeat_interleave(torch.where(values == replace_from, replace_to, values), counts))


def ensure_expansion() -> bool:
    """Whether the platform's kernel had to be replaced that spreads each request's temperature over its draft tokens.

    That of vLLM's CPU build leaves its output unwritten (vllm-project/vllm#55005): as soon as one request of a batch
    is sampled, the logits at the drafted positions of the whole batch are divided by whatever the memory held. vLLM's
    registry for kernels of one's own is the supported way to put a right one in place. Raises RuntimeError if it stays
    wrong. Nothing is done where the platform's kernel is right, so this goes away by itself.
    """

    def right() -> bool:
        values = torch.tensor([0.7, 0.0, 0.3])
        expanded = rejection_sampler.expand_batch_to_tokens(values, torch.tensor([2, 3, 6], dtype=torch.int32), 6, 0, 1)
        return torch.equal(expanded, torch.tensor([0.7, 0.7, 1.0, 0.3, 0.3, 0.3]))

    if not current_platform.is_cpu() or right():
        return False
    register_kernels({"vllm.v1.sample.rejection_sampler.expand_kernel": _expand})
    if not right():
        raise RuntimeError(
            "vLLM's sampler does not expand temperatures to draft tokens: serve with drafting.enabled = false"
        )
    return True


def allow_draft_length(length: int) -> None:
    """Let vLLM's rejection sampler take drafts of `length` tokens. Raises ValueError above MOST_DRAFT_TOKENS.

    Two things hold them to its MAX_SPEC_LEN, both of which read it as they run: an assertion, and the width of the
    kernel that spreads a request's temperature over its draft tokens. So the constant is what is raised.
    """
    if length > MOST_DRAFT_TOKENS:
        raise ValueError(
            f"num_speculative_tokens is {length}, but at most {MOST_DRAFT_TOKENS} draft tokens of a request are "
            "verified in one pass: lower it"
        )
    if length > rejection_sampler.MAX_SPEC_LEN:
        rejection_sampler.MAX_SPEC_LEN = 1 << (length - 1).bit_length()  # a kernel's width is a power of two
