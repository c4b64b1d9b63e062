"""Where an output ends, on vLLM against the reference loop: inside an accepted block, as anywhere else."""

from __future__ import annotations

import pytest

from drafts.reference.loop import Params
from drafts.reference.stops import Stopper
from service.prompts.tokenization import TextTokenizer
from tests.drafts.oracle.conftest import K, Oracle, Served, follow

pytestmark = pytest.mark.engine

LIMIT = 60


@pytest.fixture(scope="module")
def tokens(oracle: Oracle, prompt: list[int]) -> list[int]:
    """The plain output, through anything that would end it."""
    ids: list[int] = oracle(prompt, None, Params(LIMIT, 0)).tokens.tolist()
    return ids


def first_seen(tokens: list[int], after: int) -> int:
    """The first place from `after` on whose token is new there, with more of the same draft behind it."""
    return next(i for i in range(after, len(tokens) - 4) if tokens[i] not in tokens[:i])


@pytest.mark.parametrize("after", [3, 14])
async def test_end_of_sequence_inside_an_accepted_block(
    served: Served, oracle: Oracle, prompt: list[int], tokens: list[int], after: int
) -> None:
    at = first_seen(tokens, after)
    end = tokens[at]
    expected = oracle(prompt, follow(tokens), Params(LIMIT, K), stopper=Stopper([end]))
    assert (expected.tokens.tolist(), expected.reason) == (tokens[:at], "eos")
    plain, drawn = [
        await served.run(prompt, draft, max_tokens=LIMIT, stop_token_ids=[end]) for draft in (None, follow(tokens))
    ]
    for answer in (plain, drawn):
        # vLLM hands the ending token out too; the service drops it.
        assert answer.tokens == [*tokens[:at], end]
        assert (answer.reason, answer.stop) == ("stop", end)
    assert drawn.report.target_passes == expected.statistics.target_passes < at
    assert drawn.report.output_tokens == at + 1
    assert drawn.report.accepted + drawn.report.rejected < drawn.report.drafted, "the draft went on behind the end"


async def test_stop_string_inside_an_accepted_block(
    served: Served, oracle: Oracle, prompt: list[int], tokens: list[int], tokenizer: TextTokenizer
) -> None:
    def decode(ids: object) -> str:
        return b"".join(tokenizer.token_bytes(token) for token in ids).decode()  # type: ignore[attr-defined]

    text = decode(tokens)
    # Half a word and what follows it: no token ends where the string ends.
    at = first_seen(tokens, 14)
    begin = len(decode(tokens[:at]))
    stop = text[begin + 1 : begin + 4]
    assert text.find(stop) > 0
    expected = oracle(prompt, follow(tokens), Params(LIMIT, K), stopper=Stopper(stop=[stop], decode=decode))
    assert expected.reason == "stop"
    assert expected.text == text[: text.find(stop)]
    plain, drawn = [await served.run(prompt, draft, max_tokens=LIMIT, stop=[stop]) for draft in (None, follow(tokens))]
    for answer in (plain, drawn):
        assert answer.text == expected.text
        assert (answer.reason, answer.stop) == ("stop", stop)
        assert answer.tokens == expected.tokens.tolist()
    assert drawn.report.target_passes <= expected.statistics.target_passes < len(drawn.tokens)


async def test_the_model_s_own_end(
    served: Served, oracle: Oracle, prompt: list[int], eos: int, tokenizer: TextTokenizer
) -> None:
    """The draft foresees the end, or goes on behind it."""
    plain = oracle(prompt, None, Params(400, 0), stopper=Stopper([eos]))
    assert plain.reason == "eos", "the model did not end this answer"
    tokens: list[int] = plain.tokens.tolist()
    for predicted in ([*tokens, eos], [*tokens, eos, *tokens]):
        expected = oracle(prompt, follow(predicted), Params(400, K), stopper=Stopper([eos]))
        drawn = await served.run(prompt, follow(predicted), max_tokens=400, ignore_eos=False)
        assert drawn.tokens == [*tokens, eos]
        assert expected.tokens.tolist() == tokens
        assert drawn.reason == "stop"
        assert drawn.report.target_passes == expected.statistics.target_passes < len(tokens) / 8
