"""From the model's text back to the caller's file: line ends, byte-order mark, final line break; and the hunks."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from itertools import accumulate

from drafts.align.lines import matching_blocks
from drafts.align.plan import Span
from service.types import Hunk, SourceFile


class ResultStream:
    """The result's bytes while the model's text comes. All bytes returned concatenate to the result.

    In a file whose lines all end alike, text streams as it comes. In a file with mixed line ends, kept lines keep their
    own: the lines that agree with the original from its start stream, and the rest waits for the whole text, because
    which later lines were kept is known only then.

    predicted: the plan's text; the result ends with a line break when it does.
    """

    def __init__(self, file: SourceFile, predicted: str) -> None:
        self._mark = codecs.BOM_UTF8 if file.byte_order_mark else b""
        self._final_line_break = predicted.endswith("\n")
        self._parts: list[str] = []
        self._held = ""
        lines = _lines(file.data.decode("utf-8-sig" if file.byte_order_mark else "utf-8"))
        ends = {_line_end(line) for line in lines} - {""}
        self._ends: _UniformEnds | _MixedEnds = (
            _MixedEnds(lines, file.newline.value) if len(ends) > 1 else _UniformEnds(ends.pop() if ends else "\n")
        )

    @property
    def text(self) -> str:
        """The text so far, as the model sees text; the whole file once `finish` was called."""
        return "".join(self._parts)

    def feed(self, text: str) -> bytes:
        if not text:
            return b""
        # The last line break waits: whether it stays depends on whether it ends the file.
        text = self._held + text
        self._held = "\n" if text.endswith("\n") else ""
        return self._emit(text.removesuffix("\n"))

    def finish(self) -> bytes:
        """The last bytes: the final line break as the plan has it, and whatever waited for the whole text."""
        wanted = "\n" if self._final_line_break and (self._parts or self._held) else ""
        return self._emit(wanted) + self._ends.finish(self.text).encode()

    def _emit(self, text: str) -> bytes:
        if not text:
            return b""
        self._parts.append(text)
        mark, self._mark = self._mark, b""
        return mark + self._ends.feed(text).encode()


class _UniformEnds:
    def __init__(self, line_end: str) -> None:
        self._line_end = line_end

    def feed(self, text: str) -> str:
        return text.replace("\n", self._line_end)

    def finish(self, text: str) -> str:
        del text
        return ""


class _MixedEnds:
    """original: the lines as sent, with their ends. newline: for a new line with no line before it."""

    def __init__(self, original: Sequence[str], newline: str) -> None:
        self._contents = [line.removesuffix("\n").removesuffix("\r") if _line_end(line) else line for line in original]
        self._ends = [_line_end(line) for line in original]
        self._newline = newline
        self._agreed = 0
        self._pending: str | None = ""

    def feed(self, text: str) -> str:
        if self._pending is None:
            return ""
        out: list[str] = []
        lines = _lines(self._pending + text)
        self._pending = ""
        for line in lines:
            if not line.endswith("\n"):
                self._pending = line
            elif self._agrees(line[:-1]):
                out.append(line[:-1] + self._ends[self._agreed])
                self._agreed += 1
            else:
                self._pending = None
                break
        return "".join(out)

    def finish(self, text: str) -> str:
        """text: the whole one. A kept line keeps its end, a changed one ends as the line it replaces, and a new one as
        the line before it.
        """
        old, old_ends = self._contents[self._agreed :], self._ends[self._agreed :]
        lines = _lines(text)[self._agreed :]
        new = [line.removesuffix("\n") for line in lines]
        ends = [""] * len(new)
        old_line = new_line = 0
        for old_start, new_start, size in [*matching_blocks(old, new), (len(old), len(new), 0)]:
            replaced = min(old_start - old_line, new_start - new_line)
            ends[new_line : new_line + replaced] = old_ends[old_line : old_line + replaced]
            ends[new_start : new_start + size] = old_ends[old_start : old_start + size]
            old_line, new_line = old_start + size, new_start + size
        out: list[str] = []
        before = self._ends[self._agreed - 1] if self._agreed else self._newline
        for line, content, end in zip(lines, new, ends, strict=True):
            before = (end or before) if line.endswith("\n") else ""
            out.append(content + before)
        return "".join(out)

    def _agrees(self, content: str) -> bool:
        index = self._agreed
        return index < len(self._contents) and self._contents[index] == content and bool(self._ends[index])


def hunks(before: bytes, after: bytes) -> tuple[Hunk, ...]:
    """What changed, by whole lines, in about linear time: `before` with every hunk's bytes replaced is `after`."""
    old, new = _byte_lines(before), _byte_lines(after)
    old_offsets, new_offsets = _offsets(old), _offsets(new)
    found: list[Hunk] = []
    old_line = new_line = 0
    for old_start, new_start, size in [*matching_blocks(old, new), (len(old), len(new), 0)]:
        if old_line < old_start or new_line < new_start:
            found.append(
                Hunk(
                    original=Span(old_offsets[old_line], old_offsets[old_start]),
                    result=Span(new_offsets[new_line], new_offsets[new_start]),
                )
            )
        old_line, new_line = old_start + size, new_start + size
    return tuple(found)


def _lines(text: str) -> list[str]:
    """Lines with their ends. Only LF ends a line; a lone CR is text."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _line_end(line: str) -> str:
    return "\r\n" if line.endswith("\r\n") else "\n" if line.endswith("\n") else ""


def _byte_lines(data: bytes) -> list[str]:
    # Latin-1 maps bytes to characters one to one, so offsets in characters are offsets in bytes.
    return _lines(data.decode("latin-1"))


def _offsets(lines: Sequence[str]) -> list[int]:
    return [0, *accumulate(len(line) for line in lines)]
