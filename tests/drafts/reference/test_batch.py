from __future__ import annotations

import pytest
import torch
from transformers import OPTForCausalLM

from drafts.reference.batch import Slot, decode_batch, forward_batch
from drafts.reference.cache import DenseCache, KVCache, PagedCache
from drafts.reference.copy_reference import CopyReference
from drafts.reference.engine import TorchEngine, page_pool
from drafts.reference.loop import Params, SpeculativeLoop
from drafts.reference.parts import Parts
from drafts.reference.stops import Stopper
from drafts.reference.types import ReferenceDrafter, token_tensor

PROMPTS = [[2, 3, 5, 7], [11, 13], [1, 4, 9, 16, 2, 3], [8]]


def test_one_pass_equals_each_alone(tiny_opt: OPTForCausalLM) -> None:
    caches: list[KVCache] = [DenseCache(2) for _ in PROMPTS]
    logits = forward_batch(tiny_opt, caches, [token_tensor(prompt) for prompt in PROMPTS])
    caches[2].rewind(3)
    again = forward_batch(tiny_opt, caches[1:3], [token_tensor([6, 6]), token_tensor([16, 2, 3, 5])])
    for prompt, rows in zip(PROMPTS, logits, strict=True):
        expected = TorchEngine(tiny_opt).forward(token_tensor(prompt), len(prompt))
        torch.testing.assert_close(rows, expected, rtol=1e-4, atol=1e-5)
    for prompt, rows in zip([[*PROMPTS[1], 6, 6], [*PROMPTS[2], 5]], again, strict=True):
        expected = TorchEngine(tiny_opt).forward(token_tensor(prompt), len(rows))
        torch.testing.assert_close(rows, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("paged", [False, True])
def test_ragged_acceptance(parts: Parts, tiny_opt: OPTForCausalLM, paged: bool) -> None:
    """Sequences that accept all, nothing, something, and one that does not draft: each as if it were alone."""
    lengths = [20, 9, 14, 17]
    alone = [
        Parts().loop(TorchEngine(tiny_opt), None, Params(n, 0)).run(prompt)
        for n, prompt in zip(lengths, PROMPTS, strict=True)
    ]
    texts = [output.tokens.tolist() for output in alone]
    drafters: list[ReferenceDrafter | None] = [
        CopyReference(texts[0], 3),
        CopyReference([23] * 20),
        parts.prompt_lookup(),
        None,
    ]
    pool = page_pool(tiny_opt, page_size=4)

    def make_loop(i: int, slot: Slot) -> SpeculativeLoop:
        return parts.loop(slot, drafters[i], Params(lengths[i], 4), verifier=parts.verifier())

    outputs, passes = decode_batch(tiny_opt, lambda: PagedCache(pool) if paged else DenseCache(2), make_loop, PROMPTS)
    assert [output.tokens.tolist() for output in outputs] == texts
    for output, expected in zip(outputs, alone, strict=True):
        assert output.logprobs == pytest.approx(expected.logprobs, abs=1e-3)
    assert outputs[0].statistics.accepted > 0
    assert passes == max(output.statistics.target_passes for output in outputs)
    assert len(pool.free) == pool.keys.shape[1]


def test_a_slot_makes_no_pass(tiny_opt: OPTForCausalLM) -> None:
    with pytest.raises(RuntimeError, match="use decode_batch"):
        Slot(tiny_opt, DenseCache(2)).forward(token_tensor([1]), 1)
    assert Stopper().text([1]) is None
