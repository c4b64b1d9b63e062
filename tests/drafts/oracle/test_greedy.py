"""Greedy decoding on vLLM against the reference loop: tokens, passes, penalties and log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from torch import Tensor

from drafts.reference.loop import Params
from drafts.reference.penalties import Penalizer, Penalties
from service.prompts.tokenization import TextTokenizer
from tests.drafts.oracle.conftest import K, Oracle, Served, follow, short_prompts

pytestmark = pytest.mark.engine

TOKENS = 60
PENALTIES = Penalties(repetition=1.3, presence=0.5, frequency=0.4)
# Two programs, two orders of adding: the same float32 weights, not the same roundings.
CLOSE = 2e-3
DECISIVE = 0.02


class ForgetfulPenalizer(Penalizer):
    """Blind to the drafts kept in the same round."""

    def history(self, output: object, kept: object) -> list[int]:
        return list(output)  # type: ignore[call-overload, no-any-return]


class WatchfulPenalizer(Penalizer):
    """margin: the least by which the likeliest token was ahead of the next, in logits."""

    margin = math.inf

    def row(self, row: Tensor, penalties: Penalties, prompt: Sequence[int], output: Sequence[int]) -> Tensor:
        penalized = super().row(row, penalties, prompt, output)
        first, second = penalized.topk(2).values.tolist()
        self.margin = min(self.margin, first - second)
        return penalized


def sampling(penalties: Penalties) -> dict[str, float]:
    """In vLLM's words."""
    return {
        "repetition_penalty": penalties.repetition,
        "presence_penalty": penalties.presence,
        "frequency_penalty": penalties.frequency,
    }


def spoiled(tokens: list[int], every: int) -> list[int]:
    return [token if i % every else (token + 1) % 4000 + 5 for i, token in enumerate(tokens, 1)]


@pytest.mark.parametrize("draft", ["perfect", "wrong at every ninth token", "unrelated", "empty"])
async def test_tokens_and_passes_are_the_oracle_s(
    served: Served, oracle: Oracle, prompt: list[int], draft: str
) -> None:
    """The same drafter on both sides, so each pass drafts and keeps the same tokens."""
    plain = oracle(prompt, None, Params(TOKENS, 0))
    tokens: list[int] = plain.tokens.tolist()
    assert plain.statistics.target_passes == TOKENS
    request = follow(
        {
            "perfect": tokens,
            "wrong at every ninth token": spoiled(tokens, 9),
            "unrelated": list(range(500, 500 + TOKENS)),
            "empty": [],
        }[draft]
    )
    expected = oracle(prompt, request, Params(TOKENS, K))
    assert expected.tokens.tolist() == tokens
    for drawn in (
        await served.run(prompt, None, max_tokens=TOKENS),
        await served.run(prompt, request, max_tokens=TOKENS),
    ):
        assert drawn.tokens == tokens
        assert drawn.reason == "length"
    assert drawn.report.target_passes == expected.statistics.target_passes
    assert drawn.report.accepted == expected.statistics.accepted
    assert sorted(drawn.report.draft_lengths.items()) == sorted(
        (k, expected.statistics.draft_lengths.count(k)) for k in set(expected.statistics.draft_lengths)
    )


async def test_every_limit_is_kept_the_bonus_included(served: Served, oracle: Oracle, prompt: list[int]) -> None:
    tokens: list[int] = oracle(prompt, None, Params(TOKENS, 0)).tokens.tolist()
    for limit in [*range(1, 8), 33, TOKENS]:
        drawn = await served.run(prompt, follow(tokens), max_tokens=limit)
        assert drawn.tokens == tokens[:limit]
        assert drawn.reason == "length"
        assert drawn.report.target_passes == oracle(prompt, follow(tokens), Params(limit, K)).statistics.target_passes


async def test_penalties_see_the_drafts_kept_in_the_same_pass(
    served: Served, oracle: Oracle, tokenizer: TextTokenizer
) -> None:
    # A prompt on which an output that forgets them comes out otherwise: else this would tell nothing. And on which no
    # token is chosen by a hair: rounding would decide. So rewards, not penalties: what the embedded model makes second
    # best is often many tokens alike.
    count, penalties = 12, Penalties(repetition=0.95, presence=-1.0, frequency=-0.5)
    params = Params(count, K, penalties=penalties)
    for prompt in short_prompts(tokenizer):
        watchful = WatchfulPenalizer()
        tokens: list[int] = oracle(prompt, None, replace(params, k=0), penalizer=watchful).tokens.tolist()
        forgotten = oracle(prompt, follow(tokens), params, penalizer=ForgetfulPenalizer()).tokens.tolist()
        if watchful.margin > DECISIVE and forgotten != tokens:
            break
    else:
        pytest.fail("no prompt tells the two histories apart")
    expected = oracle(prompt, follow(tokens), params)
    plain = await served.run(prompt, None, max_tokens=count, **sampling(penalties))
    drafted = await served.run(prompt, follow(tokens), max_tokens=count, **sampling(penalties))
    assert plain.tokens == drafted.tokens == expected.tokens.tolist() == tokens
    assert drafted.report.accepted == expected.statistics.accepted > count / 2
    assert drafted.report.target_passes == expected.statistics.target_passes


@pytest.mark.parametrize("penalties", [Penalties(), PENALTIES], ids=["alone", "with penalties"])
async def test_log_probabilities_are_the_target_s(
    served: Served, oracle: Oracle, prompt: list[int], penalties: Penalties
) -> None:
    """Those of the model before temperature and penalties, at each position of a block, wrong drafts or not."""
    plain_oracle = oracle(prompt, None, Params(TOKENS, 0, penalties=penalties))
    tokens: list[int] = plain_oracle.tokens.tolist()
    plain = await served.run(prompt, None, max_tokens=TOKENS, logprobs=3, **sampling(penalties))
    for predicted in (tokens, spoiled(tokens, 9)):
        drafted = await served.run(prompt, follow(predicted), max_tokens=TOKENS, logprobs=3, **sampling(penalties))
        assert drafted.report.accepted > 0
        assert drafted.tokens == plain.tokens == tokens
        assert drafted.logprobs == pytest.approx(plain.logprobs, abs=CLOSE)
        assert drafted.logprobs == pytest.approx(plain_oracle.logprobs, abs=CLOSE)
        for one, other in zip(drafted.top, plain.top, strict=True):
            # Near-ties may change places; the likeliest may not, as the tokens are the same.
            both = one.keys() & other.keys()
            assert len(both) >= 1
            assert {t: one[t] for t in both} == pytest.approx({t: other[t] for t in both}, abs=CLOSE)
