"""The bytes that each token of a vocabulary stands for: byte-level BPE, and vocabularies with byte fallback."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_METASPACE = "▁"


class UnknownTokenBytesError(ValueError):
    """The tokenizer is neither byte-level nor has it byte fallback: it cannot write every text."""


def token_bytes(document: Mapping[str, Any], vocabulary: Mapping[str, int]) -> list[bytes]:
    """The UTF-8 bytes (perhaps a part of a character) of every id; empty for ids that the vocabulary skips.

    document: the content of a Hugging Face tokenizer.json. vocabulary: token to id, added tokens included; an added
    token stands for its own content. Raises UnknownTokenBytesError.
    """
    if _names(document.get("decoder"), "ByteLevel") or _names(document.get("pre_tokenizer"), "ByteLevel"):
        to_bytes = _byte_level_bytes
    elif document["model"].get("byte_fallback"):
        to_bytes = _byte_fallback_bytes
    else:
        raise UnknownTokenBytesError(
            "the tokenizer is neither byte-level nor has it byte fallback: it cannot write every text"
        )
    table = [b""] * (max(vocabulary.values(), default=-1) + 1)
    for token, token_id in vocabulary.items():
        table[token_id] = to_bytes(token)
    for token in document.get("added_tokens", []):
        table[int(token["id"])] = str(token["content"]).encode()
    return table


def _names(part: Mapping[str, Any] | None, kind: str) -> bool:
    if part is None:
        return False
    children = part.get("decoders") or part.get("pretokenizers") or []
    return part.get("type") == kind or any(_names(child, kind) for child in children)


def _byte_alphabet() -> dict[str, int]:
    """Byte-level BPE writes each byte as one character: printable Latin-1 as itself, the rest from U+0100 on."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    shown = set(visible)
    hidden = [byte for byte in range(256) if byte not in shown]
    alphabet = {chr(byte): byte for byte in visible}
    alphabet.update({chr(0x100 + index): byte for index, byte in enumerate(hidden)})
    return alphabet


_ALPHABET = _byte_alphabet()


def _byte_level_bytes(token: str) -> bytes:
    if all(character in _ALPHABET for character in token):
        return bytes(_ALPHABET[character] for character in token)
    return token.encode()


def _byte_fallback_bytes(token: str) -> bytes:
    if (byte := _BYTE_TOKEN.fullmatch(token)) is not None:
        return bytes([int(byte[1], 16)])
    return token.replace(_METASPACE, " ").encode()
