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
    "groovy": ("groovy", "gradle"),
    "haskell": ("hs",),
    "hcl": ("hcl", "tf"),
    "html": ("html", "htm", "svelte", "vue"),
    "ini": ("ini", "cfg"),
    "java": ("java",),
    "javascript": ("js", "mjs", "cjs", "jsx"),
    "json": ("json",),
    "julia": ("jl",),
    "kotlin": ("kt", "kts"),
    "lua": ("lua",),
    "make": ("mk",),
    "markdown": ("md", "markdown"),
    "objectivec": ("m", "mm"),
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

ALIASES: Final[dict[str, str]] = {
    # Language ids of editors (VS Code, the language server protocol) and names in common use.
    "c++": "cpp",
    "clojurescript": "clojure",
    "csh": "bash",
    "cuda-cpp": "cpp",
    "dockercompose": "yaml",
    "django-html": "html",
    "git-commit": "text",
    "git-rebase": "text",
    "golang": "go",
    "handlebars": "html",
    "html.erb": "html",
    "javascriptreact": "javascript",
    "jinja": "html",
    "jinja-html": "html",
    "json5": "json",
    "jsonc": "json",
    "jsonl": "json",
    "latex": "text",
    "less": "scss",
    "makefile": "make",
    "mdx": "markdown",
    "objc": "objectivec",
    "objcpp": "objectivec",
    "objective-c": "objectivec",
    "objective-cpp": "objectivec",
    "plain": "text",
    "plaintext": "text",
    "properties": "ini",
    "proto3": "proto",
    "protobuf": "proto",
    "restructuredtext": "text",
    "sass": "scss",
    "shell": "bash",
    "shellscript": "bash",
    "svelte": "html",
    "svg": "xml",
    "terraform": "hcl",
    "typescriptreact": "tsx",
    "vue": "html",
    "xsl": "xml",
    "zsh": "bash",
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
"""Every language; a request may also give one of the aliases."""


def canonical(name: str) -> str:
    """The language that a request's name stands for; the name itself where it is no alias of a known one."""
    name = name.lower()
    return ALIASES.get(name, name)


def detect(path: str) -> str:
    """The language of a file by its name; PLAIN_TEXT where the name says nothing."""
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    if name in _FILE_NAMES:
        return _FILE_NAMES[name]
    return _BY_EXTENSION.get(PurePosixPath(name).suffix.removeprefix("."), PLAIN_TEXT)
