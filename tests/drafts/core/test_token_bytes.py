from __future__ import annotations

import pytest

from drafts.core.token_bytes import UnknownTokenBytesError, token_bytes


def test_byte_level_tokens_spell_bytes() -> None:
    document = {"decoder": {"type": "Sequence", "decoders": [{"type": "ByteLevel"}]}, "model": {}}
    table = token_bytes(document, {"Ġdef": 0, "Ċ": 1, "Ã©": 3})
    assert table == [b" def", b"\n", b"", "é".encode()]


def test_byte_fallback_tokens_are_text_or_one_byte() -> None:
    document = {"model": {"byte_fallback": True}}
    assert token_bytes(document, {"▁def": 0, "<0x0A>": 1, "é": 2}) == [b" def", b"\n", "é".encode()]


def test_added_tokens_stand_for_themselves() -> None:
    document = {
        "pre_tokenizer": {"type": "ByteLevel"},
        "model": {},
        "added_tokens": [{"id": 1, "content": "<é>"}],
    }
    assert token_bytes(document, {"a": 0, "<é>": 1}) == [b"a", "<é>".encode()]


def test_other_vocabularies_are_refused() -> None:
    with pytest.raises(UnknownTokenBytesError, match="byte fallback"):
        token_bytes({"model": {"type": "WordPiece"}}, {"a": 0})
