"""Language names, and how a path gives one."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

PLAIN_TEXT: Final = "text"

_EXTENSIONS: Final[dict[str, tuple[str, ...]]] = {
    "bash": ("sh", "bash", "zsh"),
    "c": ("c", "h"),
    "clojure": ("clj", "cljs", "cljc"),
    "cpp": ("cc", "cpp", "cxx", "hh", "hpp", "hxx"),
    "csharp": ("cs",),
    "css": ("css",),
    "dart": ("dart",),
    "elixir": ("ex", "exs"),
    "erlang": ("erl", "hrl"),
    "go": ("go",),
    "graphql": ("graphql", "gql"),
    "haskell": ("hs",),
    "hcl": ("hcl", "tf"),
    "html": ("html", "htm"),
    "ini": ("ini", "cfg"),
    "java": ("java",),
    "javascript": ("js", "mjs", "cjs", "jsx"),
    "json": ("json",),
    "julia": ("jl",),
    "kotlin": ("kt", "kts"),
    "lua": ("lua",),
    "make": ("mk",),
    "markdown": ("md", "markdown"),
    "ocaml": ("ml", "mli"),
    "perl": ("pl", "pm"),
    "php": ("php",),
    "proto": ("proto",),
    "python": ("py", "pyi", "pyw"),
    "r": ("r",),
    "ruby": ("rb", "rake", "gemspec"),
    "rust": ("rs",),
    "scala": ("scala", "sc"),
    "scss": ("scss",),
    "sql": ("sql",),
    "swift": ("swift",),
    "text": ("txt", "text"),
    "toml": ("toml",),
    "tsx": ("tsx",),
    "typescript": ("ts", "mts", "cts"),
    "xml": ("xml",),
    "yaml": ("yaml", "yml"),
    "zig": ("zig",),
}

_FILE_NAMES: Final[dict[str, str]] = {
    "makefile": "make",
    "gnumakefile": "make",
    "dockerfile": "dockerfile",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "cmakelists.txt": "cmake",
}

_BY_EXTENSION: Final = {extension: language for language, group in _EXTENSIONS.items() for extension in group}

KNOWN: Final[frozenset[str]] = frozenset(_EXTENSIONS) | frozenset(_FILE_NAMES.values())
"""Every name that a request may give."""


def detect(path: str) -> str:
    """The language of a file by its name; PLAIN_TEXT where the name says nothing."""
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    if name in _FILE_NAMES:
        return _FILE_NAMES[name]
    return _BY_EXTENSION.get(PurePosixPath(name).suffix.removeprefix("."), PLAIN_TEXT)
