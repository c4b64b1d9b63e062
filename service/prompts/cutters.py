"""Cutting the file out of an answer while it streams. Pure: text in, text out.

The end of a file is decided by the model's end of turn, never by the first text that looks like it. Until then,
text that may turn out to be the format's end is held back.

Formats that wrap the file leave its first and last line break ambiguous: models write `<tag>` and the file on one line
or on two. `expected` (the plan's predicted text) settles it: a surplus of exactly one line break belongs to the format.
"""

from __future__ import annotations

import re
from typing import Protocol

from service.errors import ResultRejected
from service.types import StopReason


class AnswerCutter(Protocol):
    """One answer. `feed` and `finish` return text of the file; together they are the file."""

    @property
    def stop_reason(self) -> StopReason: ...

    def feed(self, text: str) -> str: ...

    def finish(self) -> str:
        """Called at the model's end of turn. Raises ResultRejected when the format's own end is missing."""


class WholeAnswer:
    """The answer is the file, to the byte."""

    stop_reason = StopReason.END_OF_TEXT

    def feed(self, text: str) -> str:
        return text

    def finish(self) -> str:
        return ""


class BareFile:
    """The answer is the file, perhaps after one line break that models put before it."""

    stop_reason = StopReason.END_OF_TEXT

    def __init__(self, expected: str) -> None:
        self._lead = _Lead(expected)

    def feed(self, text: str) -> str:
        return self._lead.feed(text)

    def finish(self) -> str:
        return self._lead.finish()


class Tagged:
    """The file between an opening tag that starts the answer and the last closing tag, which ends it."""

    stop_reason = StopReason.FORMAT_END

    def __init__(self, opening: str, closing: str, expected: str) -> None:
        self._opening = opening
        self._closing = closing
        self._closings_left = expected.count(closing)
        self._trailing = _trailing_newlines(expected)
        self._lead = _Lead(expected)
        self._opened = False
        self._held = ""

    def feed(self, text: str) -> str:
        self._held += text
        if not self._opened and not self._open():
            return ""
        return self._release()

    def finish(self) -> str:
        answer = self._held.rstrip()
        if not self._opened or not answer.endswith(self._closing):
            if self._closings_left < 0:
                raise not_in_format(f"there is text after {self._closing}")
            raise truncated(self._closing)
        inner = self._lead.feed(answer.removesuffix(self._closing)) + self._lead.finish()
        return _settle_trailing(inner, self._trailing)

    def _open(self) -> bool:
        start = self._held.lstrip()
        if len(start) < len(self._opening) and self._opening.startswith(start):
            return False
        if not start.startswith(self._opening):
            raise not_in_format(f"it does not begin with {self._opening}")
        self._opened = True
        self._held = start.removeprefix(self._opening)
        return True

    def _release(self) -> str:
        """Lets go of everything before what may be the end: line breaks, the tag or a part of it, blanks."""
        answer = self._held.rstrip()
        if answer.endswith(self._closing):
            keep_from = len(answer) - len(self._closing)
        else:
            keep_from = len(self._held) - _overlap(self._held, self._closing)
        keep_from = len(self._held[:keep_from].rstrip("\n"))
        released, self._held = self._held[:keep_from], self._held[keep_from:]
        # A closing tag is held until what follows it is there, so it is released whole. One that the file itself is not
        # expected to hold was most likely the format's own.
        self._closings_left -= released.count(self._closing)
        return self._lead.feed(released)


class Fenced:
    """The file in a fenced block: from the opening fence to the first line that closes it (CommonMark's rule).

    minimum: backticks in the fence that the prompt asked for, more than any run in the file and the edit, so that
    nothing copied can close the block. Text before and after the block is no part of the file; a further fence after
    it makes the end ambiguous, and the answer is rejected (RESULT_AMBIGUOUS) rather than guessed at.
    """

    stop_reason = StopReason.FORMAT_END

    def __init__(self, minimum: int, expected: str) -> None:
        self._minimum = minimum
        self._opening = re.compile(rf"(`{{{minimum},}})[^`]*")
        self._trailing = _trailing_newlines(expected)
        self._fence = 0
        self._closed = False
        self._line = ""
        self._line_is_text = False
        self._line_breaks = ""

    def feed(self, text: str) -> str:
        return "".join(self._feed_part(part) for part in _lines(text))

    def finish(self) -> str:
        rest = self._end_line()
        if not self._fence:
            raise not_in_format(f"it has no code block opened by {self._minimum} or more backticks, as asked for")
        if not self._closed:
            raise truncated("the closing fence")
        return rest

    def _feed_part(self, part: str) -> str:
        """part: the next piece of one line, with its line break if it has one."""
        if part.endswith("\n"):
            self._line += part[:-1]
            return self._end_line(line_break="\n")
        self._line += part
        if not self._fence or self._closed or (not self._line_is_text and not self._line.rstrip().strip("`")):
            return ""
        return self._release_line()

    def _release_line(self) -> str:
        released = self._line_breaks + self._line
        self._line_breaks = self._line = ""
        self._line_is_text = True
        return released

    def _end_line(self, line_break: str = "") -> str:
        """Decides on a whole line: a fence, or text. Line breaks are held: the last one may belong to the fence."""
        line = self._line.rstrip()
        if self._closed:
            if line.startswith("```"):
                raise ResultRejected(
                    "the model's answer holds more than one fenced block, so the end of the file is not certain; "
                    "try again, or apply the edit as a snippet or a diff",
                    reason="RESULT_AMBIGUOUS",
                )
            self._line = ""
            return ""
        if not self._fence:
            opening = self._opening.fullmatch(line)
            self._fence = len(opening[1]) if opening else 0
            self._line = ""
            return ""
        if not self._line_is_text and len(line) >= self._fence and not line.strip("`"):
            self._closed = True
            self._line = ""
            return _settle_trailing(self._line_breaks, self._trailing)
        released = self._release_line() if self._line else ""
        self._line_is_text = False
        self._line_breaks += line_break
        return released


class _Lead:
    """Drops the line break that a format puts before the file: only when there is exactly one more than expected."""

    def __init__(self, expected: str) -> None:
        self._expected = len(expected) - len(expected.lstrip("\n"))
        self._held = ""
        self._done = False

    def feed(self, text: str) -> str:
        if self._done:
            return text
        self._held += text
        if not self._held.lstrip("\n"):
            return ""
        return self.finish()

    def finish(self) -> str:
        if self._done:
            return ""
        self._done = True
        found = len(self._held) - len(self._held.lstrip("\n"))
        return self._held[1:] if found == self._expected + 1 else self._held


def _trailing_newlines(text: str) -> int:
    return len(text) - len(text.rstrip("\n"))


def _settle_trailing(text: str, expected: int) -> str:
    """Drops the line break before a closing tag or fence, unless the file is expected to end with just these."""
    found = _trailing_newlines(text)
    return text[:-1] if found and found != expected else text


def _overlap(text: str, tag: str) -> int:
    """Length of the longest end of `text` that begins `tag`."""
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:size]):
            return size
    return 0


def _lines(text: str) -> list[str]:
    """Lines with their LF; other line separators are text."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def truncated(end: str) -> ResultRejected:
    return ResultRejected(
        f"the model's answer ended before {end}; allow more output tokens or apply the edit in smaller parts",
        reason="RESULT_TRUNCATED",
    )


def not_in_format(detail: str) -> ResultRejected:
    return ResultRejected(
        f"the model's answer is not in its prompt format: {detail}; check that prompt_format fits the model",
        reason="RESULT_NOT_IN_FORMAT",
    )
