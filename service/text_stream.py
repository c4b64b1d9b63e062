"""Tokens to text as they come: byte-exact, a character that is not complete yet is held back."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from service.errors import ResultRejected
from service.prompts.tokenization import TextTokenizer


class TextStream:
    """Incremental detokenizer of one answer. The texts returned concatenate to the full decode.

    Tokens that the tokenizer flags as special stand for no text, and bytes that are not UTF-8 for no file of ours: both
    raise ResultRejected rather than being dropped or replaced.
    """

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")

    def feed(self, token_ids: Sequence[int]) -> str:
        """The text that the tokens complete."""
        for token in token_ids:
            if self._tokenizer.is_special(token):
                raise ResultRejected(
                    "the model wrote a control token inside the file; try again, or apply the edit in smaller parts",
                    reason="RESULT_CONTROL_TOKEN",
                )
        return self._decode(b"".join(self._tokenizer.token_bytes(token) for token in token_ids), final=False)

    def finish(self) -> str:
        """Always empty; raises when the answer ended within a character."""
        return self._decode(b"", final=True)

    def _decode(self, data: bytes, *, final: bool) -> str:
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            # `from None`: the error holds the bytes, which are the caller's.
            del error
            raise ResultRejected(
                "the model wrote bytes that are not UTF-8; try again, or apply the edit in smaller parts",
                reason="RESULT_NOT_UTF8",
            ) from None
