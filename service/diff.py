"""Unified diffs for people and for `patch`."""

from __future__ import annotations

import difflib
from typing import Final

NO_NEWLINE: Final = "\\ No newline at end of file"


def unified_diff(before: str, after: str, path: str, context: int = 3) -> str:
    """A diff that `patch` and `git apply` take, with so many lines of context; empty when nothing changed."""
    return "".join(f"{line}\n" for line in diff_lines(before, after, (f"a/{path}", f"b/{path}"), context))


def diff_lines(before: str, after: str, names: tuple[str, str], context: int = 3) -> list[str]:
    """The same line by line, without their LF: the two of the header, and what follows; none when nothing changed.

    names: of the two sides, in the header.
    """
    lines: list[str] = []
    for line in difflib.unified_diff(split_lines(before), split_lines(after), *names, n=context):
        lines.append(line.removesuffix("\n"))
        if not line.endswith("\n"):
            lines.append(NO_NEWLINE)
    return lines


def split_lines(text: str) -> list[str]:
    """Lines with their ends, and LF alone ends one: str.splitlines would also split at form feeds and the like."""
    parts = text.split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines
