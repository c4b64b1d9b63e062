"""Scores of one result. Pure: texts in, figures out. Nothing is stripped, normalized or repaired before comparing.

`before` is the file that was sent, `expected` what its author made of it, `result` what the service gave.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from drafts.align.grammars import parse
from service.diff import diff_lines, split_lines

_Span = tuple[int, int]
_Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Score:
    """parses: None where that cannot be told, see `parses`. untouched_lines_changed: see `compare_hunks`."""

    byte_exact: bool
    exact_but_blank_lines: bool
    parses: bool | None
    hunks: int
    hunks_applied: int
    untouched_lines_changed: int


def score(before: str, expected: str, result: bytes, language: str) -> Score:
    """A result's scores."""
    text = result.decode("utf-8", errors="surrogateescape")
    hunks, applied, untouched = compare_hunks(before, expected, text)
    return Score(
        byte_exact=result == expected.encode(),
        exact_but_blank_lines=filled_lines(text) == filled_lines(expected),
        parses=parses(expected, result, language),
        hunks=hunks,
        hunks_applied=applied,
        untouched_lines_changed=untouched,
    )


def no_result(before: str, expected: str, language: str) -> Score:
    """The scores where there is no result (cut off, refused): all of it is wrong, and nothing else was changed."""
    hunks, _, _ = compare_hunks(before, expected, expected)
    can_parse = parses(expected, expected.encode(), language)
    return Score(False, False, None if can_parse is None else False, hunks, 0, 0)


def filled_lines(text: str) -> list[str]:
    """The lines that hold more than blanks, each as it is: its indentation and trailing blanks count."""
    return [line for line in text.split("\n") if line.strip()]


def parses(expected: str, result: bytes, language: str) -> bool | None:
    """Whether the result has no syntax error by its language's tree-sitter grammar.

    None where there is no grammar, or where it finds errors in the expected text, too (macros, dialects, templates):
    then errors say nothing about the result.
    """
    wanted = parse(expected.encode(), language)
    if wanted is None or wanted.root_node.has_error:
        return None
    found = parse(result, language)
    return found is not None and not found.root_node.has_error


def compare_hunks(before: str, expected: str, result: str) -> tuple[int, int, int]:
    """(hunks of the edit, hunks applied, untouched lines changed), by lines.

    A hunk is applied when the result is as expected within it and at its edges. An untouched line is one that the
    edit leaves as it was; changed are those that the result lacks or has otherwise, and lines that it has too many
    away from any hunk.
    """
    old, new, got = map(split_lines, (before, expected, result))
    hunks = [(j1, j2) for tag, _, _, j1, j2 in _opcodes(old, new) if tag != "equal"]
    differences = [code for code in _opcodes(new, got) if code[0] != "equal"]
    applied = sum(not any(_touch((a1, a2), hunk) for _, a1, a2, _, _ in differences) for hunk in hunks)
    return len(hunks), applied, sum(_untouched(code, hunks) for code in differences)


def _untouched(code: _Opcode, hunks: Sequence[_Span]) -> int:
    _, a1, a2, b1, b2 = code
    lost = sum(not any(j1 <= line < j2 for j1, j2 in hunks) for line in range(a1, a2))
    at_a_hunk = any(_touch((a1, a2), hunk) for hunk in hunks)
    return lost if at_a_hunk else max(lost, b2 - b1)


def _touch(one: _Span, other: _Span) -> bool:
    """Whether two runs of lines overlap or meet."""
    return one[0] <= other[1] and other[0] <= one[1]


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[_Opcode]:
    return list(difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes())


def difference(expected: str, result: bytes, max_lines: int = 80) -> str:
    """A unified diff from the expected text to the result, cut after so many lines; empty when they are the same."""
    text = result.decode("utf-8", errors="replace")
    lines = diff_lines(expected, text, ("expected", "result"), context=2)
    cut = [f"... and {len(lines) - max_lines} more lines"] if len(lines) > max_lines else []
    return "\n".join(lines[:max_lines] + cut)
