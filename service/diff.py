"""Unified diffs for people and for `patch`."""

from __future__ import annotations

import difflib
import re


def unified_diff(before: str, after: str, path: str) -> str:
    """A diff that `patch` and `git apply` take; empty when nothing changed."""
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Lines with their ends, and LF alone ends one: str.splitlines would also split at form feeds and the like."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
