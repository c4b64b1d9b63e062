from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor
from transformers import OPTForCausalLM, PreTrainedTokenizerFast

from drafts.reference.cache import PagedCache
from drafts.reference.draft_model import DEFAULT_LENGTH, DraftModel
from drafts.reference.engine import TorchEngine, page_pool
from drafts.reference.function_engine import FunctionEngine
from drafts.reference.loop import Params
from drafts.reference.parts import Parts
from drafts.reference.tokenizers import TokenizerMismatchError, check_pair
from drafts.reference.types import seeded_uniform, token_tensor

V = 9


def summing(context: tuple[int, ...]) -> Tensor:
    """Depends on every token of the context, so that a stale cache shows."""
    seed = sum((i + 1) * (token + 1) for i, token in enumerate(context))
    return torch.randn(V, generator=torch.Generator().manual_seed(seed))


def fresh(context: list[int], length: int) -> list[int]:
    """Greedy decoding by an engine that has seen nothing."""
    return Parts().loop(FunctionEngine(summing, V), None, Params(length, 0)).run(context).tokens.tolist()


@given(blocks=st.lists(st.lists(st.integers(0, V - 1), max_size=6), max_size=8), kept=st.data())
@settings(max_examples=20, deadline=None)
def test_proposals_equal_fresh_greedy_decoding(parts: Parts, blocks: list[list[int]], kept: st.DataObject) -> None:
    """Whatever part of a draft is kept, and whatever comes instead."""
    drafter = parts.draft_model(FunctionEngine(summing, V))
    context = [1, 2]
    drafter.start(context)
    for block in blocks:
        draft = drafter.propose(kept.draw(st.integers(0, 6))).tokens.tolist()
        accepted = kept.draw(st.integers(0, len(draft)))
        tokens = [*draft[:accepted], *block]
        drafter.observe(tokens)
        context += tokens
        assert drafter.propose(9).tokens.tolist() == fresh(context, DEFAULT_LENGTH)


@pytest.mark.parametrize("paged", [False, True])
def test_on_a_real_model(parts: Parts, tiny_opt: OPTForCausalLM, paged: bool) -> None:
    pool = page_pool(tiny_opt, page_size=4)
    engine = TorchEngine(tiny_opt, PagedCache(pool) if paged else None)
    drafter = parts.draft_model(engine)
    context = [2, 3, 5, 7]
    drafter.start(context)
    for accepted, own in [(0, 9), (2, 4), (4, 11), (1, 1), (3, 20)]:
        draft = drafter.propose(4).tokens.tolist()
        expected = Parts().loop(TorchEngine(tiny_opt), None, Params(4, 0)).run(context)
        assert draft == expected.tokens.tolist()
        tokens = [*draft[:accepted], own]
        drafter.observe(tokens)
        context += tokens
        assert engine.offset == len(context) - 1
    drafter.finish()
    assert engine.offset == 0
    assert len(pool.free) == pool.keys.shape[1]


def test_default_length_is_4_and_zero_means_target_only(parts: Parts) -> None:
    drafter = parts.draft_model(FunctionEngine(summing, V))
    drafter.start([1])
    assert len(drafter.propose(99)) == DEFAULT_LENGTH == 4
    engine = FunctionEngine(summing, V)
    idle = parts.draft_model(engine, 0)
    output = parts.loop(FunctionEngine(summing, V), idle, Params(10, 4)).run([1])
    assert (engine.passes, output.statistics.drafted, output.statistics.target_passes) == (0, 0, 10)


def test_it_stops_at_end_of_sequence(parts: Parts) -> None:
    drafter = parts.draft_model(FunctionEngine.reciting([1, 2, 3, 4, 5, 6], V), eos=[3])
    drafter.start([1])
    assert drafter.propose(4).tokens.tolist() == [2, 3]


def test_sampled_drafts_come_with_the_models_distribution(parts: Parts) -> None:
    drafter = parts.draft_model(FunctionEngine(summing, V), uniform=seeded_uniform(3), temperature=0.5)
    drafter.start([1])
    proposal = drafter.propose(3)
    assert proposal.probabilities is not None
    assert proposal.tokens.dtype == torch.int32
    tokens = [1, *proposal.tokens.tolist()]
    for i, row in enumerate(proposal.probabilities):
        torch.testing.assert_close(row, torch.softmax(summing(tuple(tokens[: i + 1])).double() / 0.5, 0))


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="draft length must be at least 0"):
        DraftModel(FunctionEngine(summing, V), -1)
    with pytest.raises(ValueError, match="temperature must be above 0"):
        DraftModel(FunctionEngine(summing, V), temperature=0)


def tokenizer(
    *extra: str, eos: str = "<eos>", special: list[str] | None = None, split: bool = True
) -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: i for i, token in enumerate(["<eos>", "<pad>", *alphabet, "de", *extra])}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=[("d", "e")] if split else []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=eos, additional_special_tokens=special or [])


@pytest.mark.parametrize(
    ("draft", "says"),
    [
        ({"extra": ["zz"]}, "different vocabularies"),
        ({"special": ["<pad>"]}, "different special ids"),
        ({"eos": "<pad>", "special": ["<eos>"]}, "end-of-sequence ids"),
        ({"split": False}, "different encodings of a probe text"),
    ],
)
def test_a_wrong_pair_of_tokenizers_is_refused_before_either_model_runs(
    parts: Parts, draft: dict[str, object], says: str
) -> None:
    options = dict(draft)
    extra = options.pop("extra", [])
    assert isinstance(extra, list)
    other = tokenizer(*extra, **options)  # type: ignore[arg-type]
    engine = FunctionEngine(summing, V)
    with pytest.raises(TokenizerMismatchError, match=says):
        parts.draft_model.paired(engine, tokenizer(), other)
    assert engine.passes == 0


def test_a_right_pair_is_accepted(parts: Parts) -> None:
    check_pair(tokenizer(), tokenizer())
    drafter = parts.draft_model.paired(FunctionEngine(summing, V), tokenizer(), tokenizer())
    assert (drafter.eos, drafter.length) == (frozenset({0}), 4)
    assert token_tensor(tokenizer().encode("def")).dtype == torch.int32
