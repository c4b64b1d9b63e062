"""Where an output ends: at an end-of-sequence token, or where a stop string is complete."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

StopReason = Literal["eos", "stop", "length"]
Decode = Callable[[Sequence[int]], str]


@dataclass(frozen=True, slots=True)
class Admitted:
    """The tokens of a block that belong to the output, and why the output ends there (None: it goes on)."""

    tokens: list[int]
    reason: StopReason | None = None


class Stopper:
    """Stops of one request.

    eos: ids that end the output and are not part of it. stop: strings that end it and are cut from the text.
    decode: the text of all output tokens; needed for stop strings. Raises ValueError on an empty stop string, or when
    there are stop strings and no decoder.
    """

    def __init__(self, eos: Collection[int] = (), stop: Sequence[str] = (), decode: Decode | None = None) -> None:
        if any(not s for s in stop):
            raise ValueError("a stop string must not be empty")
        if stop and decode is None:
            raise ValueError("stop strings need a decoder")
        self.eos = frozenset(eos)
        self.stop = tuple(stop)
        self.decode = decode

    def admit(self, output: Sequence[int], block: Sequence[int]) -> Admitted:
        """What of `block`, a pass's emitted tokens, joins `output`. Looks at each prefix, as plain decoding would."""
        tokens: list[int] = []
        for token in block:
            if token in self.eos:
                return Admitted(self.ended(tokens, token), "eos")
            tokens.append(token)
            if self.stop and self.stop_at(self.full_text([*output, *tokens])) is not None:
                return Admitted(tokens, "stop")
        return Admitted(tokens)

    def ended(self, tokens: list[int], eos: int) -> list[int]:
        """The block's tokens when `eos` came after them: without it."""
        return tokens

    def text(self, output: Sequence[int]) -> str | None:
        """The output's text, cut before the first stop string; None without a decoder."""
        if self.decode is None:
            return None
        full = self.full_text(output)
        return self.cut(full, self.stop_at(full))

    def cut(self, text: str, end: int | None) -> str:
        """`text` up to `end`, an index in code points; all of it when None."""
        return text[:end]

    def stop_at(self, text: str) -> int | None:
        """Where the first stop string begins in `text`, in code points; None when there is none."""
        return min((at for at in (text.find(s) for s in self.stop) if at >= 0), default=None)

    def full_text(self, output: Sequence[int]) -> str:
        return "" if self.decode is None else self.decode(output)
