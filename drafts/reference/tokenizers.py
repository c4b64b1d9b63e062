"""Whether two tokenizers are the same to a pair of target and draft model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

# Indentation, digits, punctuation, accents, a script without spaces, an emoji of several code points, odd line ends.
PROBE = "def f(x):\n\tif x >= 10_000:\r\n        return 'na\u00efve \u6f22\u5b57 \U0001f469\u200d\U0001f4bb' != x\n\n"


class TokenizerMismatchError(ValueError):
    """A draft model cannot serve this target: the same ids would mean different text."""


class Tokenizer(Protocol):
    """The part of a Hugging Face tokenizer that is looked at."""

    @property
    def all_special_ids(self) -> Sequence[int]: ...

    @property
    def eos_token_id(self) -> int | None: ...

    def get_vocab(self) -> Mapping[str, int]: ...

    def encode(self, text: str, *, add_special_tokens: bool) -> Any: ...


def check_pair(target: Tokenizer, draft: Tokenizer, probe: str = PROBE) -> None:
    """Raises TokenizerMismatchError unless vocabularies, special ids, end-of-sequence and a probe's encoding agree."""
    checks = (
        ("vocabularies", dict(target.get_vocab()) == dict(draft.get_vocab())),
        ("special ids", sorted(target.all_special_ids) == sorted(draft.all_special_ids)),
        ("end-of-sequence ids", target.eos_token_id == draft.eos_token_id),
        ("encodings of a probe text", _encode(target, probe) == _encode(draft, probe)),
    )
    differing = [name for name, agree in checks if not agree]
    if differing:
        raise TokenizerMismatchError(
            f"the target's and the draft model's tokenizers have different {', '.join(differing)}: "
            "choose a draft model of the target's family"
        )


def _encode(tokenizer: Tokenizer, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))
