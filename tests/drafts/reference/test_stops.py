from __future__ import annotations

from collections.abc import Sequence

import pytest

from drafts.reference.copy_reference import CopyReference
from drafts.reference.function_engine import FunctionEngine
from drafts.reference.loop import Output, Params, Round
from drafts.reference.parts import Parts

# a b c d; 4 ends the sequence.
LETTERS = "abcd"
PROMPT = [0]
TEXT = [0, 1, 2, 3, 1, 2, 2, 0, 4, 1, 1, 1, 1]


def decode(tokens: Sequence[int]) -> str:
    return "".join(LETTERS[token] for token in tokens)


def run(
    parts: Parts, k: int, max_tokens: int = 12, stop: Sequence[str] = (), rounds: list[Round] | None = None
) -> Output:
    engine = FunctionEngine.reciting(TEXT, 5)

    def check(seen: Round) -> None:
        assert engine.offset == len(seen.committed) - 1
        if rounds is not None:
            rounds.append(seen)

    stopper = parts.stopper(eos=[4], stop=stop, decode=decode)
    return parts.loop(engine, CopyReference(TEXT[1:]), Params(max_tokens, k), stopper=stopper, on_round=check).run(
        PROMPT
    )


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 7, 11])
def test_end_of_sequence_ends_the_output_and_is_not_emitted(parts: Parts, k: int) -> None:
    rounds: list[Round] = []
    output = run(parts, k, rounds=rounds)
    assert output.tokens.tolist() == TEXT[1:8]
    assert output.text == "bcdbcca"
    assert len(output.logprobs) == 7
    assert output.reason == "eos"
    if k == 11:  # the whole text is one accepted block, with tokens after the end of the sequence
        assert [r.verdict.accepted for r in rounds] == [11]


def test_end_of_sequence_as_the_first_token(parts: Parts) -> None:
    engine = FunctionEngine.reciting([0, 4], 5)
    output = parts.loop(engine, None, Params(5), stopper=parts.stopper(eos=[4], decode=decode)).run([0])
    assert output.tokens.tolist() == []
    assert (output.text, output.reason) == ("", "eos")


@pytest.mark.parametrize("k", [0, 1, 3, 5, 11])
@pytest.mark.parametrize(
    ("stop", "text", "tokens"),
    [(["db"], "bc", 4), (["cc", "zz"], "bcdb", 6), (["b"], "", 1), (["dbc", "cdb"], "b", 4), (["zz"], "bcdbcca", 7)],
)
def test_a_stop_string_cuts_the_text(parts: Parts, k: int, stop: list[str], text: str, tokens: int) -> None:
    output = run(parts, k, stop=stop)
    assert output.text == text
    assert output.tokens.tolist() == TEXT[1 : 1 + tokens]
    assert output.reason == ("eos" if stop == ["zz"] else "stop")


@pytest.mark.parametrize("max_tokens", range(1, 8))
def test_max_tokens_before_the_end(parts: Parts, max_tokens: int) -> None:
    output = run(parts, 11, max_tokens)
    assert output.tokens.tolist() == TEXT[1 : 1 + max_tokens]
    assert output.reason == "length"


def test_bad_arguments(parts: Parts) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        parts.stopper(stop=[""], decode=decode)
    with pytest.raises(ValueError, match="need a decoder"):
        parts.stopper(stop=["x"])
