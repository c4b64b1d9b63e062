"""Which tree-sitter grammar parses which language; each is imported when its language is first met."""

from __future__ import annotations

import importlib
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


def parse(data: bytes, language: str | None) -> Tree | None:
    """The syntax tree of a text in UTF-8, errors and all; None without a grammar for the language."""
    grammar = _grammar(language or "")
    if grammar is None or len(data) > MAX_BYTES:
        return None
    return Parser(grammar).parse(data)


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
