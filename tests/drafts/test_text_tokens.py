from __future__ import annotations

from drafts.text_tokens import TextTokens
from service.config import EMBEDDED_MODEL_PATH
from service.prompts.tokenization import TextTokenizer


def test_text_is_tokenized_as_the_service_does() -> None:
    tokens = TextTokens((EMBEDDED_MODEL_PATH / "tokenizer.json").read_text())
    service = TextTokenizer.load(EMBEDDED_MODEL_PATH)
    for text in ("", "def f(x):\n\treturn x\n", "na\u00efve \u6f22\u5b57 \U0001f469\u200d\U0001f4bb\r\n", "a" * 50_000):
        assert tokens(text) == service.encode_text(text)
        assert b"".join(map(service.token_bytes, tokens(text))) == text.encode()


def test_special_tokens_that_a_text_spells_are_text() -> None:
    tokens = TextTokens((EMBEDDED_MODEL_PATH / "tokenizer.json").read_text())
    special = TextTokenizer.load(EMBEDDED_MODEL_PATH).control_id("<eos>")
    assert special not in tokens("a <eos> b")


def test_the_bytes_of_tokens() -> None:
    tokens = TextTokens((EMBEDDED_MODEL_PATH / "tokenizer.json").read_text())
    service = TextTokenizer.load(EMBEDDED_MODEL_PATH)
    assert tokens.known
    assert tokens.newlines == service.newline_tokens
    text = "def f(x):\n\treturn '\u6f22'\n"
    assert b"".join(map(tokens.bytes_of, tokens(text))) == text.encode()
    assert tokens.bytes_of(service.control_id("<eos>")) == tokens.bytes_of(10**6) == b""


def test_a_tokenizer_that_cannot_write_every_text_still_tokenizes() -> None:
    tokens = TextTokens(
        '{"version":"1.0","added_tokens":[],"pre_tokenizer":{"type":"Whitespace"},'
        '"model":{"type":"WordLevel","vocab":{"a":0,"?":1},"unk_token":"?"}}'
    )
    assert tokens("a b") == [0, 1]
    assert not tokens.known
    assert tokens.bytes_of(0) == b""
