from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from drafts.core.copy_drafter import CopyDrafter
from drafts.core.types import DraftRequest
from drafts.reference.adapter import CoreDrafter
from drafts.reference.copy_reference import CopyReference
from drafts.reference.function_engine import FunctionEngine
from drafts.reference.loop import Output, Params, Round
from drafts.reference.ngram_model import NgramDrafter, NgramModel
from drafts.reference.parts import Parts
from drafts.reference.penalties import Penalties
from drafts.reference.types import EMPTY, Proposal, ReferenceDrafter, seeded_uniform, token_tensor

V = 7
PROMPT = [3, 1, 4, 1, 5]
TEXT = [*PROMPT, *([2, 6, 5, 3, 5, 2, 2, 1, 6, 4] * 5)]


def scrambled(context: tuple[int, ...]) -> Tensor:
    """Logits that depend on the last three tokens and on the position: repeats itself, but not quite."""
    seed = sum(token * (7**i) for i, token in enumerate(reversed(context[-3:]))) + 1000 * (len(context) % 3)
    return torch.randn(V, generator=torch.Generator().manual_seed(seed)) * 2


class Foreseeing:
    """Proposes what `text` has at this place, `shift` added to each id."""

    def __init__(self, text: Sequence[int], shift: int = 0) -> None:
        self.text = [(token + shift) % V for token in text]
        self.at = 0

    def start(self, prompt: Sequence[int]) -> None:
        self.at = len(prompt)

    def observe(self, tokens: Sequence[int]) -> None:
        self.at += len(tokens)

    def propose(self, limit: int) -> Proposal:
        return Proposal(token_tensor(self.text[self.at : self.at + limit]))

    def finish(self) -> None:
        self.at = 0


class Greedy(Foreseeing):
    """Proposes one token more than allowed."""

    def propose(self, limit: int) -> Proposal:
        return super().propose(limit + 1)


def plain(engine: FunctionEngine, params: Params) -> Output:
    return Parts().loop(engine, None, Params(params.max_tokens, 0, penalties=params.penalties)).run(PROMPT)


@pytest.mark.parametrize(("shift", "passes", "accepted"), [(0, 4, 16), (1, 20, 0)])
def test_a_perfect_draft_of_20_takes_4_passes_and_a_wrong_one_20(
    parts: Parts, shift: int, passes: int, accepted: int
) -> None:
    engine = FunctionEngine.reciting(TEXT, V)
    output = parts.loop(engine, Foreseeing(TEXT, shift), Params(20, 4), verifier=parts.verifier()).run(PROMPT)
    assert output.tokens.tolist() == TEXT[len(PROMPT) :][:20]
    assert output.tokens.dtype == torch.int32
    assert (output.statistics.target_passes, engine.passes) == (passes, passes)
    assert output.statistics.accepted == accepted


def test_a_self_draft_emits_40_tokens_in_8_passes(parts: Parts) -> None:
    engine, draft = FunctionEngine(scrambled, V), FunctionEngine(scrambled, V)
    output = parts.loop(engine, parts.draft_model(draft), Params(40, 4), verifier=parts.verifier()).run(PROMPT)
    statistics = output.statistics
    assert (statistics.target_passes, statistics.drafted, statistics.acceptance_rate) == (8, 32, 1.0)
    without = plain(FunctionEngine(scrambled, V), Params(40))
    assert without.statistics.target_passes == 40
    assert without.statistics.drafted == 0
    assert output.tokens.tolist() == without.tokens.tolist()


def drafters(parts: Parts) -> dict[str, Callable[[], ReferenceDrafter | None]]:
    expected = [*PROMPT, *plain(FunctionEngine(scrambled, V), Params(60)).tokens.tolist()]
    spoiled = [token if i % 5 else (token + 1) % V for i, token in enumerate(expected)]
    return {
        "none": lambda: None,
        "perfect": lambda: Foreseeing(expected),
        "useless": lambda: Foreseeing(expected, 1),
        "empty": lambda: Foreseeing([]),
        "spoiled": lambda: Foreseeing(spoiled),
        "lookup": lambda: parts.prompt_lookup(3),
        "copy": lambda: CopyReference(spoiled[len(PROMPT) :], 2),
        "ngram": lambda: NgramDrafter(NgramModel(3, V)),
        "self": lambda: parts.draft_model(FunctionEngine(scrambled, V), 3),
        "poor": lambda: parts.draft_model(FunctionEngine(lambda c: scrambled(c[-1:]), V), 3),
        "served": lambda: CoreDrafter(CopyDrafter(), DraftRequest(predicted=spoiled[len(PROMPT) :])),
    }


NAMES = list(drafters(Parts()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [0, 1, 5])
@pytest.mark.parametrize("penalties", [Penalties(), Penalties(1.3, 0.5, 0.25)], ids=["plain", "penalized"])
def test_greedy_equals_plain_decoding(parts: Parts, name: str, k: int, penalties: Penalties) -> None:
    params = Params(48, k, penalties=penalties)
    expected = plain(FunctionEngine(scrambled, V), params)
    output = parts.loop(
        FunctionEngine(scrambled, V),
        drafters(parts)[name](),
        params,
        verifier=parts.verifier(),
        penalizer=parts.penalizer(),
    ).run(PROMPT)
    assert output.tokens.tolist() == expected.tokens.tolist()
    assert output.logprobs == pytest.approx(expected.logprobs, abs=1e-9)
    statistics = output.statistics
    assert statistics.target_passes == 48 - statistics.accepted
    assert max(statistics.draft_lengths) <= k


@pytest.mark.parametrize("max_tokens", range(1, 12))
@pytest.mark.parametrize("k", [1, 4, 20])
def test_max_tokens_is_never_exceeded(parts: Parts, max_tokens: int, k: int) -> None:
    engine = FunctionEngine.reciting(TEXT, V)
    output = parts.loop(engine, Foreseeing(TEXT), Params(max_tokens, k)).run(PROMPT)
    assert output.tokens.tolist() == TEXT[len(PROMPT) :][:max_tokens]
    assert output.reason == "length"


def test_the_models_length_bounds_the_output(parts: Parts) -> None:
    engine = FunctionEngine.reciting(TEXT, V, max_positions=len(PROMPT) + 6)
    assert len(parts.loop(engine, Foreseeing(TEXT), Params(20, 4)).run(PROMPT).tokens) == 6


@pytest.mark.parametrize("wrong_at", [0, 2, 3, None], ids=["first", "middle", "last", "full"])
def test_caches_agree_after_every_round(parts: Parts, wrong_at: int | None) -> None:
    """The draft's and the target's caches hold all that is committed but its last token."""
    text = [t if wrong_at is None or (i - len(PROMPT)) % 5 != wrong_at else (t + 1) % V for i, t in enumerate(TEXT)]
    engine, draft = FunctionEngine.reciting(TEXT, V), FunctionEngine.reciting(text, V)
    rounds: list[Round] = []

    def check(seen: Round) -> None:
        rounds.append(seen)
        assert engine.cached == seen.committed[:-1]
        assert draft.cached == seen.committed[:-1]
        assert engine.offset == draft.offset

    output = parts.loop(engine, parts.draft_model(draft), Params(20, 4), on_round=check).run(PROMPT)
    assert output.tokens.tolist() == TEXT[len(PROMPT) :][:20]
    assert {r.verdict.accepted for r in rounds if len(r.draft) == 4} >= {4 if wrong_at is None else wrong_at}


def chi_square_p(counts: Counter[tuple[int, ...]], expected: dict[tuple[int, ...], float]) -> float:
    """The p-value of counts against expected numbers; cells expected below 5 are pooled."""
    rare = {key for key, e in expected.items() if e < 5}
    cells = [(counts[key], e) for key, e in expected.items() if key not in rare]
    if rare:
        cells.append((sum(counts[key] for key in rare), sum(expected[key] for key in rare)))
    statistic = sum((seen - e) ** 2 / e for seen, e in cells)
    freedom = torch.tensor((len(cells) - 1) / 2, dtype=torch.float64)
    return float(torch.special.gammaincc(freedom, torch.tensor(statistic / 2, dtype=torch.float64)))


def mild(context: tuple[int, ...]) -> Tensor:
    """Three ids, probabilities far enough from even that a wrong rule shows."""
    return torch.tensor([[1.2, 0.0, 0.3], [0.0, 1.5, -0.5], [-0.3, 0.6, 0.8]])[context[-1]]


@pytest.mark.parametrize("kind", ["none", "certain", "sampled"])
def test_sampled_output_passes_a_chi_square_test(parts: Parts, kind: str) -> None:
    """Three tokens, end to end, over 400 seeds: 27 outcomes against their probabilities."""
    counts: Counter[tuple[int, ...]] = Counter()
    for seed in range(400):
        drafter: ReferenceDrafter | None = None
        if kind == "certain":
            drafter = parts.draft_model(FunctionEngine(mild, 3), 2)
        elif kind == "sampled":
            other = FunctionEngine(lambda c: mild(c).flip(0), 3)
            drafter = parts.draft_model(other, 2, uniform=seeded_uniform(10_000 + seed))
        loop = parts.loop(
            FunctionEngine(mild, 3), drafter, Params(3, 2, temperature=0.8, seed=seed), verifier=parts.verifier()
        )
        counts[tuple(loop.run([0]).tokens.tolist())] += 1
    steps = torch.stack([torch.softmax(mild((x,)).double() / 0.8, 0) for x in range(3)])
    expected: dict[tuple[int, ...], float] = {
        (a, b, c): 400 * float(steps[0, a] * steps[a, b] * steps[b, c])
        for a in range(3)
        for b in range(3)
        for c in range(3)
    }
    assert sum(counts.values()) == 400
    assert chi_square_p(counts, expected) > 1e-3


def test_k_zero_samples_as_plain_decoding_does(parts: Parts) -> None:
    params = Params(20, 0, temperature=1.0, seed=5)
    drafted = parts.loop(FunctionEngine(scrambled, V), Foreseeing(TEXT), params).run(PROMPT)
    without = parts.loop(FunctionEngine(scrambled, V), None, params).run(PROMPT)
    assert drafted.tokens.tolist() == without.tokens.tolist()
    assert drafted.statistics.drafted == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"max_tokens": 4, "k": -1}, "k must be at least 0"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"max_tokens": 4, "temperature": -0.1}, "temperature must be at least 0"),
    ],
)
def test_bad_params(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Params(**arguments)


@pytest.mark.parametrize(
    ("prompt", "says"),
    [([], "prompt is empty"), ([1] * 10, "leaves no room in a model of 10"), ([1, V], "outside of the vocabulary")],
)
def test_bad_prompts_fail_before_a_pass(parts: Parts, prompt: list[int], says: str) -> None:
    engine = FunctionEngine.reciting(TEXT, V, max_positions=10)
    with pytest.raises(ValueError, match=says):
        parts.loop(engine, None, Params(4)).run(prompt)
    assert engine.passes == 0


def test_a_drafter_that_ignores_its_limit_is_refused(parts: Parts) -> None:
    with pytest.raises(ValueError, match="proposed 5 tokens where 4 were allowed"):
        parts.loop(FunctionEngine.reciting(TEXT, V), Greedy(TEXT), Params(20, 4)).run(PROMPT)


def test_nothing_is_asked_of_the_drafter_when_one_token_remains(parts: Parts) -> None:
    class Refusing(Foreseeing):
        def propose(self, limit: int) -> Proposal:
            raise RuntimeError("not to be asked")

    assert len(parts.loop(FunctionEngine.reciting(TEXT, V), Refusing(TEXT), Params(1, 4)).run(PROMPT).tokens) == 1
    assert len(EMPTY) == 0
