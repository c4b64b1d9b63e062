from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import OPTForCausalLM, PreTrainedTokenizerFast

from drafts.reference.cache import PagedCache
from drafts.reference.copy_reference import CopyReference
from drafts.reference.engine import TorchEngine, page_pool
from drafts.reference.loop import Params, Round
from drafts.reference.parts import Parts
from drafts.reference.penalties import Penalties
from drafts.reference.stops import Stopper
from drafts.reference.types import ReferenceDrafter, token_tensor

PROMPT = [2, 3, 5, 7, 11, 13]
EMBEDDED = Path(__file__).parents[3] / "service" / "embedded"


def engine(model: OPTForCausalLM, paged: bool = False) -> TorchEngine:
    return TorchEngine(model, PagedCache(page_pool(model, page_size=4)) if paged else None)


def greedy_by_transformers(model: OPTForCausalLM, prompt: list[int], n: int) -> tuple[list[int], list[float]]:
    """Plain decoding by whole forward passes, without any cache."""
    tokens, logprobs = list(prompt), []
    with torch.inference_mode():
        for _ in range(n):
            row = torch.log_softmax(model(torch.tensor([tokens])).logits[0, -1].double(), 0)
            tokens.append(int(row.argmax()))
            logprobs.append(float(row[tokens[-1]]))
    return tokens[len(prompt) :], logprobs


@pytest.mark.parametrize("paged", [False, True])
def test_logits_equal_a_pass_over_everything(tiny_opt: OPTForCausalLM, paged: bool) -> None:
    tested = engine(tiny_opt, paged)
    tokens = torch.tensor([*PROMPT, 1, 4, 9, 16], dtype=torch.int32)
    with torch.inference_mode():
        expected = tiny_opt(tokens[None]).logits[0]
    torch.testing.assert_close(tested.forward(tokens[:3], 3), expected[:3], rtol=1e-4, atol=1e-5)
    tested.forward(token_tensor([20, 21, 22, 23]), 1)
    tested.rewind(4)
    torch.testing.assert_close(tested.forward(tokens[3:7], 2), expected[5:7], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(tested.forward(tokens[7:], 3), expected[7:], rtol=1e-4, atol=1e-5)
    assert tested.cache.lengths == (10, 10)


@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("drafter", ["none", "lookup", "copy", "self", "other"])
def test_greedy_equals_transformers(
    parts: Parts, tiny_opt: OPTForCausalLM, other_opt: OPTForCausalLM, paged: bool, drafter: str
) -> None:
    """Ids and log-probabilities; after every round the draft's offset, the target's and each layer's length agree."""
    tokens, logprobs = greedy_by_transformers(tiny_opt, PROMPT, 40)
    assert len(set(tokens)) > 5
    target, draft = engine(tiny_opt, paged), engine(tiny_opt if drafter == "self" else other_opt, paged)
    with_draft_model = drafter in ("self", "other")
    made: dict[str, ReferenceDrafter | None] = {
        "lookup": parts.prompt_lookup(),
        "copy": CopyReference([t if i % 7 else (t + 1) % 24 for i, t in enumerate(tokens)], 2),
        "self": parts.draft_model(draft),
        "other": parts.draft_model(draft),
    }

    def check(seen: Round) -> None:
        expected = len(seen.committed) - 1
        for tested in (target, draft) if with_draft_model else (target,):
            assert tested.offset == expected
            assert tested.cache.lengths == (expected,) * 2
            if isinstance(tested.cache, PagedCache):
                assert len(tested.cache.pages) == -(-expected // 4)
                assert tested.cache.tail_length == (expected - 1) % 4 + 1

    loop = parts.loop(target, made.get(drafter), Params(40, 4), verifier=parts.verifier(), on_round=check)
    passes = {"none": range(40, 41), "self": range(8, 9)}.get(drafter, range(8, 41))
    for output in [loop.run(PROMPT), loop.run(PROMPT)]:  # the second run starts from a used cache
        assert output.tokens.tolist() == tokens
        assert output.logprobs == pytest.approx(logprobs, abs=1e-3)
        assert output.statistics.target_passes in passes


def test_penalties_and_sampling_on_a_real_model(parts: Parts, tiny_opt: OPTForCausalLM) -> None:
    penalties = Penalties(1.2, 0.3, 0.2)
    plain = Parts().loop(engine(tiny_opt), None, Params(30, 0, penalties=penalties)).run(PROMPT)
    loop = parts.loop(
        engine(tiny_opt),
        parts.draft_model(engine(tiny_opt)),
        Params(30, 4, penalties=penalties),
        penalizer=parts.penalizer(),
    )
    assert loop.run(PROMPT).tokens.tolist() == plain.tokens.tolist()
    sampled = parts.loop(engine(tiny_opt), parts.prompt_lookup(), Params(30, 4, temperature=1.0, seed=1))
    first, second = sampled.run(PROMPT), sampled.run(PROMPT)
    assert first.tokens.tolist() == second.tokens.tolist() != plain.tokens.tolist()


def test_bad_arguments(tiny_opt: OPTForCausalLM) -> None:
    tested = engine(tiny_opt)
    with pytest.raises(ValueError, match="3 rows of predictions need as many tokens fed, not 2"):
        tested.forward(token_tensor([1, 2]), 3)
    with pytest.raises(ValueError, match="position 96 lies beyond the model's 96"):
        tested.forward(token_tensor([1] * 97), 1)
    with pytest.raises(TypeError, match="int32"):
        tested.forward(torch.tensor([1, 2]), 1)
    assert tested.offset == 0


@pytest.mark.skipif(not (EMBEDDED / "model.safetensors").is_file(), reason="the embedded model is not there")
def test_the_embedded_model() -> None:
    """The oracle runs on the model that is served: drafted and plain decoding agree on a small edit."""
    tested = TorchEngine.load(EMBEDDED, paged=True)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(EMBEDDED)
    original = "def area(width, height):\n    return width * height\n"
    special = {name: int(tokenizer.convert_tokens_to_ids(name)) for name in ("<file>", "<edit>", "<out>", "<eos>")}
    body = [int(i) for i in tokenizer.encode(original, add_special_tokens=False)]
    prompt = [special["<file>"], *body, special["<edit>"], *body, special["<out>"]]
    stopper = Stopper([special["<eos>"]], decode=lambda ids: str(tokenizer.decode(list(ids))))
    plain = Parts().loop(tested, None, Params(32, 0), stopper=stopper).run(prompt)
    drafted = Parts().loop(tested, CopyReference(body), Params(32, 8), stopper=stopper).run(prompt)
    assert drafted.tokens.tolist() == plain.tokens.tolist()
    assert drafted.logprobs == pytest.approx(plain.logprobs, abs=1e-3)
    assert drafted.statistics.target_passes <= plain.statistics.target_passes
