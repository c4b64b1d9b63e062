from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from service.config import EMBEDDED_MODEL_PATH
from service.errors import ResultRejected
from service.prompts.tokenization import TextTokenizer
from service.text_stream import TextStream

TOKENIZER = TextTokenizer.load(EMBEDDED_MODEL_PATH)
OWN = Tokenizer.from_file(str(EMBEDDED_MODEL_PATH / "tokenizer.json"))
UNICODE = st.text(st.characters(exclude_categories=["Cs"]))


@settings(deadline=None)
@given(text=UNICODE, sizes=st.lists(st.integers(0, 5)))
def test_equals_the_full_decode_in_any_chunks(text: str, sizes: list[int]) -> None:
    token_ids = TOKENIZER.encode_text(text)
    stream = TextStream(TOKENIZER)
    parts: list[str] = []
    position = 0
    for size in [*sizes, len(token_ids)]:
        parts.append(stream.feed(token_ids[position : position + size]))
        position += size
        # Never more than has come, never half a character.
        assert text.startswith("".join(parts))
    assert "".join(parts) + stream.finish() == OWN.decode(token_ids, skip_special_tokens=False) == text


@settings(deadline=None)
@given(token_ids=st.lists(st.integers(5, OWN.get_vocab_size() - 1), max_size=30))
def test_any_tokens_decode_as_their_bytes_do(token_ids: list[int]) -> None:
    data = b"".join(map(TOKENIZER.token_bytes, token_ids))
    stream = TextStream(TOKENIZER)
    try:
        expected = data.decode()
    except UnicodeDecodeError:
        with pytest.raises(ResultRejected) as caught:
            [stream.feed([token]) for token in token_ids] + [stream.finish()]
        assert caught.value.reason == "RESULT_NOT_UTF8"
    else:
        assert "".join(stream.feed([token]) for token in token_ids) + stream.finish() == expected


def test_an_incomplete_character_is_held_back() -> None:
    token_ids = TOKENIZER.encode_text("\U0001f469")
    assert len(token_ids) > 1
    stream = TextStream(TOKENIZER)
    assert [stream.feed([token]) for token in token_ids[:-1]] == [""] * (len(token_ids) - 1)
    assert stream.feed(token_ids[-1:]) == "\U0001f469"


def test_ending_within_a_character_is_refused() -> None:
    stream = TextStream(TOKENIZER)
    stream.feed(TOKENIZER.encode_text("\U0001f469")[:-1])
    with pytest.raises(ResultRejected):
        stream.finish()


def test_control_tokens_are_refused() -> None:
    with pytest.raises(ResultRejected) as caught:
        TextStream(TOKENIZER).feed([TOKENIZER.control_id("<keep>")])
    assert caught.value.reason == "RESULT_CONTROL_TOKEN"
