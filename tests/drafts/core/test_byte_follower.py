"""Following by bytes, on its own and in the drafter, with the embedded model's real vocabulary."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafts.core.byte_follower import ByteFollower
from drafts.core.copy_drafter import CopyDrafter
from drafts.core.loop import replay
from drafts.core.step_cost import StepCost
from drafts.core.types import DraftRegion, DraftRequest, SourceKind
from evals.example_edits import load_examples
from service.config import EMBEDDED_MODEL_PATH
from service.prompts.tokenization import TextTokenizer

VOCABULARY = [b"", b"a", b"b", b"ab", b"ba", b"aab", b"\n"]


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return TextTokenizer.load(EMBEDDED_MODEL_PATH)


def spell(tokens: list[int]) -> bytes:
    return b"".join(VOCABULARY[token] for token in tokens)


@given(st.lists(st.integers(1, 6), max_size=20), st.lists(st.integers(0, 6), max_size=20))
def test_follows_exactly_as_long_as_the_bytes_agree(source: list[int], output: list[int]) -> None:
    follower = ByteFollower(source, 0, VOCABULARY.__getitem__)
    followed = 0
    while followed < len(output) and follower.feed(output[followed]):
        followed += 1
        written = spell(output[:followed])
        assert spell(source).startswith(written)
        if follower.at_border:
            assert spell(source[: follower.position]) == written
        else:
            assert spell(source[: follower.position + 1]) == written + follower.rest()
    if followed < len(output):
        token = output[followed]
        assert not VOCABULARY[token] or not spell(source).startswith(spell(output[: followed + 1]))


def test_special_tokens_are_never_followed() -> None:
    assert not ByteFollower([0, 1], 0, VOCABULARY.__getitem__).feed(0)
    assert not ByteFollower([], 0, VOCABULARY.__getitem__).feed(1)


def other_tokens(tokenizer: TextTokenizer, text: str, seed: int) -> list[int]:
    """The same text, now and then cut where the tokenizer would not cut it."""
    rng = random.Random(seed)
    tokens: list[int] = []
    at = 0
    while at < len(text):
        size = rng.randrange(1, 4) if rng.random() < 0.3 else rng.randrange(150, 300)
        tokens += tokenizer.encode_text(text[at : at + size])
        at += size
    return tokens


@pytest.mark.parametrize("seed", range(4))
def test_text_in_other_tokens_is_followed_from_the_next_common_border(tokenizer: TextTokenizer, seed: int) -> None:
    passes = {True: 0, False: 0}
    for example in load_examples()[seed::6]:
        predicted = tokenizer.encode_text(example.original)
        output = other_tokens(tokenizer, example.original, seed)
        for by_bytes in (True, False):
            request = DraftRequest(
                predicted=predicted,
                regions=(DraftRegion(len(predicted), SourceKind.KEPT),),
                newline_tokens=tokenizer.newline_tokens,
                token_bytes=tokenizer.token_bytes if by_bytes else None,
            )
            emitted, report = replay(CopyDrafter(StepCost(0.01)), request, output, 128)
            assert emitted == output
            passes[by_bytes] += report.target_passes
    assert passes[True] < 0.9 * passes[False]


def test_one_foreign_cut_costs_two_passes(tokenizer: TextTokenizer) -> None:
    text = load_examples()[0].original
    predicted = tokenizer.encode_text(text)
    at = next(i for i in range(40, len(predicted)) if len(tokenizer.token_bytes(predicted[i])) >= 4)
    word = tokenizer.token_bytes(predicted[at]).decode()
    parts = [*tokenizer.encode_text(word[:2]), *tokenizer.encode_text(word[2:])]
    output = [*predicted[:at], *parts, *predicted[at + 1 :]]
    request = DraftRequest(
        predicted=predicted,
        regions=(DraftRegion(len(predicted), SourceKind.KEPT),),
        token_bytes=tokenizer.token_bytes,
    )
    drafter = CopyDrafter(StepCost(0.01))
    drafter.start(request)
    drafter.observe(output[: at + len(parts)])
    assert drafter.propose(16) == predicted[at + 1 : at + 17]
