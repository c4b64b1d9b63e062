"""The one failure of this package: an edit whose text is not in its form."""

from __future__ import annotations


class EditParseError(ValueError):
    """An edit's text is malformed. line: the first wrong line, counted from 1.

    The message says what to do and quotes no text of the caller.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.message = message
        self.line = line
