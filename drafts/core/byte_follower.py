"""Following a source by its bytes where the target writes the same text in other tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class ByteFollower:
    """Compares the output with a source byte by byte, from a place where both are at a token's border.

    `position` is the source token that the output is at; at a common border the output's next byte is its first.
    Each token of either side is looked at once.
    """

    def __init__(self, tokens: Sequence[int], position: int, token_bytes: Callable[[int], bytes]) -> None:
        self.position = position
        self._tokens = tokens
        self._token_bytes = token_bytes
        # What the output has written of the source token at `position`, which is not whole yet.
        self._written = 0

    @property
    def at_border(self) -> bool:
        return self._written == 0

    def feed(self, token: int) -> bool:
        """Whether the output, with one more token, still follows. Tokens that are no text never do."""
        data = self._token_bytes(token)
        at = 0
        while at < len(data):
            if self.position >= len(self._tokens):
                return False
            expected = self._token_bytes(self._tokens[self.position])
            size = min(len(expected) - self._written, len(data) - at)
            if not expected or expected[self._written : self._written + size] != data[at : at + size]:
                return False
            at += size
            self._written += size
            if self._written == len(expected):
                self.position += 1
                self._written = 0
        return bool(data)

    def rest(self) -> bytes:
        """The bytes of the source token that the output has begun, from where it stands; empty at a border."""
        if self._written == 0:
            return b""
        return self._token_bytes(self._tokens[self.position])[self._written :]
