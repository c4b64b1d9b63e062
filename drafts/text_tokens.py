"""The model's tokenizer as the worker needs it: for predicted texts that come as text, and for the bytes of tokens."""

from __future__ import annotations

import json
import logging

from tokenizers import Tokenizer

from drafts.core.token_bytes import UnknownTokenBytesError, token_bytes

logger = logging.getLogger(__name__)


class TextTokens:
    """Callers' text to token ids; special tokens that it spells are text.

    tokenizer_json: the content of a Hugging Face tokenizer.json. Costs about a millisecond for 10 kB of text.

    known: whether the bytes of the tokens are known. newlines: the ids whose text holds a line feed.
    """

    def __init__(self, tokenizer_json: str) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer_json)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        self._bytes = _table(tokenizer_json, self._tokenizer.get_vocab(with_added_tokens=True))
        self.known = bool(self._bytes)
        self.newlines = frozenset(token for token, data in enumerate(self._bytes) if b"\n" in data)

    def __call__(self, text: str) -> list[int]:
        """The ids of `text`, nothing added at either end."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def bytes_of(self, token: int) -> bytes:
        """Empty for a special token, and for an id past the vocabulary, as models pad their output layer."""
        return self._bytes[token] if 0 <= token < len(self._bytes) else b""


def _table(tokenizer_json: str, vocabulary: dict[str, int]) -> list[bytes]:
    document = json.loads(tokenizer_json)
    try:
        table = token_bytes(document, vocabulary)
    except UnknownTokenBytesError as error:
        logger.info("text is followed by its tokens only: %s", error)
        return []
    for added in document.get("added_tokens", []):
        if added["special"]:
            table[int(added["id"])] = b""
    return table
