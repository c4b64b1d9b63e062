"""Which tree-sitter grammar parses which language; each is imported when its language is first met."""

from __future__ import annotations

import importlib
import itertools
import re
import time
from collections import Counter
from functools import cache
from typing import Final

from tree_sitter import Language, Parser, Tree

_MODULES: Final[dict[str, tuple[str, str]]] = {
    "bash": ("tree_sitter_bash", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "css": ("tree_sitter_css", "language"),
    "go": ("tree_sitter_go", "language"),
    "html": ("tree_sitter_html", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "json": ("tree_sitter_json", "language"),
    "kotlin": ("tree_sitter_kotlin", "language"),
    "markdown": ("tree_sitter_markdown", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "python": ("tree_sitter_python", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "scala": ("tree_sitter_scala", "language"),
    "sql": ("tree_sitter_sql", "language"),
    "swift": ("tree_sitter_swift", "language"),
    "toml": ("tree_sitter_toml", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "yaml": ("tree_sitter_yaml", "language"),
}
"""Canonical language name -> module and the function in it that gives the grammar."""

LANGUAGES: Final[frozenset[str]] = frozenset(_MODULES)
"""The languages with a grammar; all others are aligned by lines alone."""

MAX_BYTES: Final = 4 << 20
"""Longer texts are not parsed: a request's limit is lower, and a tree takes many times the text's memory."""
_CHUNK: Final = 1 << 16
_SECONDS: Final = 0.5
_SECONDS_A_BYTE: Final = 2e-6
"""Ordinary text takes a tenth of that; error recovery on garbage may take time without bounds."""
_CALLS: Final = 16
_COMMENT_ENDS: Final = re.compile(rb"/\*|\*/")
_YAML_COLUMNS: Final = 60
_YAML_INDICATORS: Final = re.compile(rb"[-?:]\s")
_UNCLOSED: Final = 50


def parse(data: bytes, language: str | None) -> Tree | None:
    """The syntax tree of a text in UTF-8, errors and all.

    None without a grammar for the language, and for text that would take tree-sitter beyond bounds of time or memory.
    """
    grammar = _grammar(language or "")
    if grammar is None or len(data) > MAX_BYTES or _is_beyond(data, language):
        return None
    until = time.thread_time() + _SECONDS + _SECONDS_A_BYTE * len(data)

    calls = itertools.count()

    def is_too_long(_offset: int, _has_error: bool) -> bool:
        # To ask for the time takes longer than what is parsed between two calls.
        return next(calls) % _CALLS == 0 and time.thread_time() > until

    try:
        return Parser(grammar).parse(lambda offset, _: data[offset : offset + _CHUNK], progress_callback=is_too_long)
    except ValueError:
        # Given up, by is_too_long.
        return None


def _is_beyond(data: bytes, language: str | None) -> bool:
    """Text that a grammar's own scanner does not survive.

    YAML's keeps one entry for each open level in a buffer of 1 KiB and does not look where it ends; Swift's and
    Kotlin's take ever longer for each comment opened inside another, and nobody can stop them there.
    """
    if language == "yaml":
        return any(
            len(line) > _YAML_COLUMNS
            and (_yaml_prefix(line) > _YAML_COLUMNS or len(_YAML_INDICATORS.findall(line)) > _YAML_COLUMNS)
            for line in data.split(b"\n")
        )
    if language in ("kotlin", "swift"):
        ends = Counter(_COMMENT_ENDS.findall(data))
        return ends[b"/*"] - ends[b"*/"] > _UNCLOSED
    return False


def _yaml_prefix(line: bytes) -> int:
    """Columns before what a line says, indicators of sequences and keys included."""
    return len(line) - len(line.lstrip(b" \t\r?-"))


@cache
def _grammar(language: str) -> Language | None:
    found = _MODULES.get(language)
    if found is None:
        return None
    module, function = found
    try:
        return Language(getattr(importlib.import_module(module), function)())
    except (ImportError, ValueError):
        # Not installed, or built for a tree-sitter that this one does not read: lines alone must do.
        return None
