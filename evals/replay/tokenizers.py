"""The tokenizer that edits are replayed in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from service.config import EMBEDDED_MODEL_PATH
from service.prompts.tokenization import TextTokenizer, TokenizerError

EMBEDDED = "embedded"
_REMEMBERED = 2048  # texts


class _RememberingTokenizer(TextTokenizer):
    """Every form of an edit has the same texts: each is encoded once."""

    def __init__(self, tokenizer_json: str) -> None:
        self._encoded = lru_cache(maxsize=_REMEMBERED)(super().encode_text)  # the constructor encodes, too
        super().__init__(tokenizer_json)

    def encode_text(self, text: str) -> list[int]:
        return list(self._encoded(text))


@dataclass(frozen=True, slots=True)
class NamedTokenizer:
    """name: "embedded", or the path as given. sha256: of its tokenizer.json."""

    name: str
    sha256: str
    tokenizer: TextTokenizer


def load_tokenizer(name: str) -> NamedTokenizer:
    """name: "embedded", a tokenizer.json, or a folder that holds one.

    Raises TokenizerError when there is none or it is not one that reproduces text byte for byte.
    """
    path = EMBEDDED_MODEL_PATH if name == EMBEDDED else Path(name)
    if path.is_dir():
        path = path / "tokenizer.json"
    if not path.is_file():
        raise TokenizerError(
            f'there is no tokenizer at {path}: give a tokenizer.json, a folder that holds one, or "{EMBEDDED}"'
        )
    data = path.read_bytes()
    try:
        tokenizer = _RememberingTokenizer(data.decode("utf-8"))
    except TokenizerError:
        raise
    except Exception as error:  # the tokenizers library raises bare Exceptions for what it cannot read
        raise TokenizerError(f"{path} is not a tokenizer.json as Hugging Face's tokenizers write it") from error
    return NamedTokenizer(name, hashlib.sha256(data).hexdigest(), tokenizer)
