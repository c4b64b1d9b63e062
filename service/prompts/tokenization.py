"""A tokenizer that keeps callers' text and templates apart, and knows the bytes of every token.

Two views of one tokenizer.json: `encode_text` never yields a control token, whatever the text spells; `encode_template`
parses control tokens. Both are checked at load to be byte-exact, so that pieces can be encoded on their own and joined.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from drafts.core.token_bytes import UnknownTokenBytesError, token_bytes

# Tokens such as Qwen's `<|fim_prefix|>` are not flagged special in tokenizer.json, yet they are no text either.
_CONTROL = re.compile(r"<[|\uff5c].*[|\uff5c]>")
_UNICODE_NORMALIZERS = frozenset({"NFC", "NFD", "NFKC", "NFKD"})
_PROBES = (
    "def f(x):\n\treturn x\n",
    " leading and trailing ",
    "\n\n    \n",
    "é — 変数 🙂 e\u0301",
    "x\r\ny",
    "<|im_end|></code>```",
)


class TokenizerError(ValueError):
    """The model's tokenizer cannot serve here; the message says why."""


class TextTokenizer:
    """Encodes text and templates; gives each token's bytes.

    tokenizer_json: the content of a Hugging Face tokenizer.json, byte-level BPE or BPE with byte fallback.
    template: the model's chat template; an added token that it names is a control token too.

    newline_tokens: the ids whose text holds a line feed.

    Raises TokenizerError when the tokenizer does not reproduce text byte for byte.
    """

    newline_tokens: frozenset[int]

    def __init__(self, tokenizer_json: str, template: str = "") -> None:
        document: dict[str, Any] = json.loads(tokenizer_json)
        _drop_unicode_normalizers(document)
        added: list[dict[str, Any]] = document.get("added_tokens", [])
        self._special = frozenset(int(token["id"]) for token in added if token["special"])
        self._template = _tokenizer(document)
        for token in added:
            content = str(token["content"])
            if _CONTROL.fullmatch(content) or (not content.isspace() and content in template):
                token["special"] = True
        self._text = _tokenizer(document)
        self._text.encode_special_tokens = True
        try:
            self._bytes = token_bytes(document, self._text.get_vocab(with_added_tokens=True))
        except UnknownTokenBytesError as error:
            raise TokenizerError(str(error)) from error
        self.newline_tokens = frozenset(token for token, data in enumerate(self._bytes) if b"\n" in data)
        self._check()

    @classmethod
    def load(cls, model_path: Path, template: str = "") -> TextTokenizer:
        """Reads `model_path/tokenizer.json`."""
        path = model_path / "tokenizer.json"
        if not path.is_file():
            raise TokenizerError(
                f"{path} does not exist: redraft needs the model's fast tokenizer; save it with "
                "transformers' AutoTokenizer.from_pretrained(...).save_pretrained(...)"
            )
        return cls(path.read_text(encoding="utf-8"), template)

    def encode_text(self, text: str) -> list[int]:
        """Token ids of a caller's text; control tokens that it spells are encoded as text."""
        return list(self._text.encode(text, add_special_tokens=False).ids)

    def encode_template(self, text: str) -> list[int]:
        """Token ids of the template's own text, control tokens parsed, nothing added at either end."""
        return list(self._template.encode(text, add_special_tokens=False).ids)

    def control_id(self, token: str) -> int:
        """The id of a control token. Raises TokenizerError when the tokenizer has none of that name."""
        found = self._template.token_to_id(token)
        if found is None or found not in self._special:
            raise TokenizerError(f"the tokenizer has no special token {token}: is prompt_format the model's own?")
        return int(found)

    def is_special(self, token_id: int) -> bool:
        """Whether the tokenizer itself flags the token as special: it never stands for text."""
        return token_id in self._special

    def token_bytes(self, token_id: int) -> bytes:
        """The UTF-8 bytes (perhaps a part of a character) that a token stands for.

        Empty for ids past the vocabulary, as models pad their output layer.
        """
        return self._bytes[token_id] if 0 <= token_id < len(self._bytes) else b""

    def byte_ends(self, token_ids: Sequence[int]) -> list[int]:
        """For each token the byte offset at which it ends, from 0 at the first token's start."""
        return list(accumulate(len(self._bytes[token]) for token in token_ids))

    def _check(self) -> None:
        for probe in _PROBES:
            joined = b"".join(self._bytes[token] for token in self.encode_text(probe))
            if joined != probe.encode():
                raise TokenizerError(
                    "the tokenizer does not reproduce text byte for byte (it adds, drops or changes bytes); "
                    "redraft needs a byte-level BPE, or a BPE with byte fallback that adds no prefix"
                )


def _tokenizer(document: dict[str, Any]) -> Tokenizer:
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _drop_unicode_normalizers(document: dict[str, Any]) -> None:
    """Normalizing would rewrite the file's bytes. Byte-level BPE encodes any text without it."""
    normalizer = document.get("normalizer")
    if normalizer is None:
        return
    if normalizer["type"] in _UNICODE_NORMALIZERS:
        document["normalizer"] = None
    elif normalizer["type"] == "Sequence":
        kept = [part for part in normalizer["normalizers"] if part["type"] not in _UNICODE_NORMALIZERS]
        document["normalizer"] = {**normalizer, "normalizers": kept} if kept else None
