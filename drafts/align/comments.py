"""How a comment on a line of its own is written, by language."""

from __future__ import annotations

from typing import Final

_STYLES: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(("bash", "elixir", "graphql", "hcl", "julia", "make", "perl", "python", "r", "ruby"), ("# ", "")),
    **dict.fromkeys(("cmake", "dockerfile", "shell", "toml", "yaml"), ("# ", "")),
    **dict.fromkeys(("elm", "haskell", "lua", "sql"), ("-- ", "")),
    **dict.fromkeys(("clojure", "ini", "lisp", "scheme"), ("; ", "")),
    **dict.fromkeys(("erlang", "latex", "matlab", "prolog"), ("% ", "")),
    **dict.fromkeys(("html", "markdown", "svelte", "vue", "xml"), ("<!-- ", " -->")),
    "css": ("/* ", " */"),
    "ocaml": ("(* ", " *)"),
}
_MOST: Final = ("// ", "")


def comment(text: str, language: str | None) -> str:
    """The text as a comment line, without indentation and LF; as in C where the language is not known."""
    opening, closing = _STYLES.get((language or "").lower(), _MOST)
    return f"{opening}{text}{closing}"
