"""The forms that one real edit (before, after) can take on the wire, derived deterministically.

Every function here is pure: the same arguments give the same form, on every machine and Python version, so an
evaluation can be repeated from the corpus and a seed alone. Texts have LF line ends.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from drafts.align.comments import comment
from drafts.align.plan import SearchReplace, SearchReplaceBlock
from service import diff

MARKER_WORDINGS: tuple[str, ...] = (
    "... existing code ...",
    "... rest of the file unchanged ...",
    "... unchanged ...",
    "... keep existing code ...",
    "rest of the code remains the same",
    "existing code",
)
"""Elision wordings that models use; the first is by far the most common one."""

_Opcode = tuple[str, int, int, int, int]


def update_snippet(before: str, after: str, language: str, context_lines: int, seed: int) -> str | None:
    """The edit as an update snippet: its hunks with context, and a marker line for what is left out.

    seed chooses the wording of the markers (0: the most common one). A marker takes the indentation of the hunk
    that follows it, the last one that of the hunk before it. None when the form cannot say the edit: no change,
    nothing left of the file, or a hunk without any line (a bare deletion with no context).
    """
    if context_lines < 0:
        raise ValueError(f"context_lines must be at least 0, got {context_lines}")
    old, new = diff.split_lines(before), diff.split_lines(after)
    hunks = _hunks(old, new, context_lines)
    if not hunks:
        return None
    parts: list[str] = []
    marker = _marker(language, seed, old)
    end = 0
    indent = ""
    for hunk in hunks:
        first_old, first_new, last_old, last_new = hunk[0][1], hunk[0][3], hunk[-1][2], hunk[-1][4]
        body = new[first_new:last_new]
        if not body:
            return None
        indent = _first_indent(body)
        if first_old > end:
            parts.append(indent + marker + "\n")
        parts.extend(body)
        indent = _first_indent(body[::-1])
        end = last_old
    if end < len(old):
        if not parts[-1].endswith("\n"):
            parts[-1] += "\n"
        parts.append(indent + marker + "\n")
    return "".join(parts)


def unified_diff(before: str, after: str, path: str = "file", context_lines: int = 3) -> str | None:
    """The edit as `diff -u` writes it, final newlines included. None when nothing changed."""
    if before == after:
        return None
    return diff.unified_diff(before, after, path, context_lines)


def search_replace(before: str, after: str, context_lines: int = 1) -> SearchReplace | None:
    """The edit as search/replace blocks, one a hunk, in order.

    Each search text has at least `context_lines` lines of context and as many more as make it occur once in the
    file as it stands when its turn comes. None when nothing changed or there is nothing to search in.
    """
    old, new = diff.split_lines(before), diff.split_lines(after)
    if before == after or not old:
        return None
    current = list(old)
    blocks: list[SearchReplaceBlock] = []
    for hunk in _hunks(old, new, 0):
        start, removed = hunk[0][3], hunk[-1][2] - hunk[0][1]
        added = new[hunk[0][3] : hunk[-1][4]]
        context = context_lines
        while True:
            low, high = max(0, start - context), min(len(current), start + removed + context)
            search = "".join(current[low:high])
            whole = low == 0 and high == len(current)
            if whole or (search.strip() and _occurrences("".join(current) + "\n", search) == 1):
                break
            context += 1
        replaced = current[low:start] + added + current[start + removed : high]
        blocks.append(SearchReplaceBlock(search=search, replace="".join(replaced)))
        current[low:high] = replaced
    return SearchReplace(tuple(blocks))


def _occurrences(text: str, part: str) -> int:
    """How often a part occurs, overlapping ones counted."""
    count, at = 0, text.find(part)
    while at >= 0:
        count, at = count + 1, text.find(part, at + 1)
    return count


def _hunks(old: Sequence[str], new: Sequence[str], context_lines: int) -> list[list[_Opcode]]:
    if old == new:
        return []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    groups = [list(group) for group in matcher.get_grouped_opcodes(context_lines)]
    return [group for group in groups if any(code[0] != "equal" for code in group)]


def _marker(language: str, seed: int, old: Sequence[str]) -> str:
    """A marker that is no line of the file, or else the last one tried."""
    turn = seed % len(MARKER_WORDINGS)
    wordings = MARKER_WORDINGS[turn:] + MARKER_WORDINGS[:turn]
    stripped = {line.strip() for line in old}
    marker = ""
    for wording in wordings:
        marker = comment(wording, language)
        if marker not in stripped:
            break
    return marker


def _first_indent(lines: Sequence[str]) -> str:
    for line in lines:
        if line.strip():
            return line[: len(line) - len(line.lstrip())]
    return ""
