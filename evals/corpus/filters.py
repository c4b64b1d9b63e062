"""Which changed files make an edit of a corpus: text, hand-written, of usable size, and not rewritten. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from service import languages

MAX_LINE_LENGTH: Final = 500
"""Longer lines are data, or were made by a machine."""

_MACHINE_MADE_NAMES: Final = re.compile(
    r"""(^|/)(node_modules|vendor|vendored|third[-_]?party|external|deps|bower_components|__snapshots__|dist|build)/
    | [.-]min\.(js|css)$ | \.(lock|snap|map|svg)$ | (^|/)(package-lock|npm-shrinkwrap|composer\.lock)\.json$
    | _pb2(_grpc)?\.pyi?$ | \.pb\.(go|cc|h)$ | \.(g|freezed)\.dart$ | \.designer\.cs$ | \.generated\.""",
    re.VERBOSE | re.IGNORECASE,
)
_MACHINE_MADE_TEXT: Final = re.compile(
    r"""@generated\b
    | \bdo\ not\ (edit|modify)\b
    | \b(auto[- ]?generated|generated\ (by|from|with|automatically))\b
    | Object\.defineProperty\(exports,\ .__esModule""",
    re.VERBOSE | re.IGNORECASE,
)
_LOOKED_AT_LINES: Final = 12


@dataclass(frozen=True, slots=True)
class Limits:
    """languages: empty takes every known one but plain text. max_changed: see changed_share."""

    languages: tuple[str, ...] = ()
    min_lines: int = 5
    max_lines: int = 1000
    max_bytes: int = 100_000
    max_changed: float = 0.5

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"languages": list(self.languages)}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why a changed file makes no edit. reason: a few words, for counting."""

    reason: str


@dataclass(frozen=True, slots=True)
class Texts:
    """Both texts as they are, line ends and byte-order mark included."""

    language: str
    before: str
    after: str


def language_of(path: str, limits: Limits) -> str | LeftOut:
    """The language of a file that may make an edit, by its path alone: most files need not be read."""
    language = languages.detect(path)
    if limits.languages:
        if language not in limits.languages:
            return LeftOut("other language")
    elif language == languages.PLAIN_TEXT:
        return LeftOut("no known language")
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or path.startswith("/") or "\0" in path:
        return LeftOut("odd path")
    if _MACHINE_MADE_NAMES.search(path):
        return LeftOut("generated or vendored")
    return language


def texts_of(path: str, before: bytes, after: bytes, limits: Limits) -> Texts | LeftOut:
    """The edit between two versions of a file."""
    language = language_of(path, limits)
    if isinstance(language, LeftOut):
        return language
    if max(len(before), len(after)) > limits.max_bytes:
        return LeftOut("too large")
    if b"\0" in before or b"\0" in after:
        return LeftOut("no text")
    try:
        old, new = before.decode(), after.decode()
    except UnicodeDecodeError:
        return LeftOut("no UTF-8")
    old_lines, new_lines = bare_lines(old), bare_lines(new)
    if min(len(old_lines), len(new_lines)) < limits.min_lines:
        return LeftOut("too short")
    if max(len(old_lines), len(new_lines)) > limits.max_lines:
        return LeftOut("too long")
    if max(map(len, (*old_lines, *new_lines))) > MAX_LINE_LENGTH:
        return LeftOut("long lines")
    if any(_MACHINE_MADE_TEXT.search(line) for line in old_lines[:_LOOKED_AT_LINES]):
        return LeftOut("generated or vendored")
    if old_lines == new_lines:
        return LeftOut("only line ends")
    if changed_share(old_lines, new_lines) > limits.max_changed:
        return LeftOut("mostly rewritten")
    return Texts(language, old, new)


def changed_share(before: Sequence[str], after: Sequence[str]) -> float:
    """Lines removed and lines added, over the lines of both versions: 0 for the same, 1 for nothing in common."""
    total = len(before) + len(after)
    return 1 - difflib.SequenceMatcher(None, before, after, autojunk=False).ratio() if total else 0.0


def hunks(before: Sequence[str], after: Sequence[str]) -> int:
    """How many runs of lines changed."""
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return sum(code[0] != "equal" for code in codes)


def bare_lines(text: str) -> list[str]:
    """Without their ends, so that a change of line ends alone is none."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n").split("\n")
