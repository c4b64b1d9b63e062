"""Snippets told apart into text and elisions, and snippets made from plans."""

from __future__ import annotations

import pytest

from drafts.align import (
    Elision,
    SnippetPart,
    SnippetText,
    UnifiedDiff,
    UpdateSnippet,
    marker_line,
    plan_edit,
    render_snippet,
    snippet_from_plan,
    split_snippet,
)

ORIGINAL = "import os\n\ndef f():\n    ...\n\n# existing code\ndef g():\n    return 1\n"


def shape(parts: list[SnippetPart]) -> list[str]:
    return [part.text if isinstance(part, SnippetText) else f"<{part.words}>" for part in parts]


def test_parts_and_byte_spans() -> None:
    snippet = "# ... existing imports ...\nimport é\n    # ...\nx = 1\n# rest of file unchanged"
    parts = split_snippet(snippet, ORIGINAL)
    assert shape(parts) == ["<existing imports>", "import é\n", "<>", "x = 1\n", "<rest of file unchanged>"]
    data = snippet.encode()
    assert b"".join(data[part.span.start : part.span.end] for part in parts) == data
    elision = parts[2]
    assert isinstance(elision, Elision)
    assert data[elision.span.start : elision.span.end] == b"    # ...\n"
    assert elision.indent == "    "


def test_lines_of_the_original_are_text() -> None:
    assert shape(split_snippet("def f():\n    ...\n# existing code\nx\n", ORIGINAL)) == [
        "def f():\n    ...\n# existing code\nx\n"
    ]


def test_the_same_lines_are_markers_where_the_original_has_none() -> None:
    parts = split_snippet("...\nx\n# existing code\n", "x\n")
    assert shape(parts) == ["<>", "x\n", "<existing code>"]


def test_a_new_stub_body_is_text() -> None:
    assert shape(split_snippet("class New(Protocol):\n    ...\n", "x\n")) == ["class New(Protocol):\n    ...\n"]


def test_dots_that_stand_for_a_known_body_are_a_marker() -> None:
    parts = split_snippet("def g():\n    ...\n", "def g():\n    return 1\n")
    assert shape(parts) == ["def g():\n", "<>"]


def test_a_block_comment_of_three_lines_is_one_elision() -> None:
    parts = split_snippet("a\n/*\n * ... existing code ...\n */\nb\n", "a\nb\n")
    assert shape(parts) == ["a\n", "<existing code>", "b\n"]


def test_fence_lines_belong_to_no_part() -> None:
    assert shape(split_snippet("```python\n# ...\nx\n```\n", "y\n")) == ["<>", "x\n"]


def test_a_fence_of_the_original_is_text() -> None:
    assert shape(split_snippet("```python\nx\n```\n", "```python\n```\n")) == ["```python\nx\n```\n"]


@pytest.mark.parametrize("snippet", ["", "\n", "x", "# ..."])
def test_small_snippets_tile(snippet: str) -> None:
    parts = split_snippet(snippet, "")
    assert "".join(part.text if isinstance(part, SnippetText) else "# ..." for part in parts) == snippet


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("python", "# ... existing code ..."),
        ("go", "// ... existing code ..."),
        ("sql", "-- ... existing code ..."),
        ("html", "<!-- ... existing code ... -->"),
        (None, "// ... existing code ..."),
    ],
)
def test_marker_line_is_recognized(language: str | None, expected: str) -> None:
    marker = marker_line(language)
    assert marker == expected
    assert isinstance(split_snippet(marker, "")[0], Elision)


def test_snippet_from_plan() -> None:
    original = "".join(f"line {n}\n" for n in range(20))
    diff = "@@ -10,3 +10,3 @@\n line 9\n-line 10\n+changed\n line 11\n"
    plan = plan_edit(original, UnifiedDiff(diff))
    marker = "# ... existing code ..."
    parts = snippet_from_plan(original, plan, 2, marker)
    rendered = render_snippet(parts, marker)
    assert rendered == f"{marker}\nline 8\nline 9\nchanged\nline 11\nline 12\n{marker}\n"
    data = rendered.encode()
    assert [data[part.span.start : part.span.end].decode() for part in parts] == [
        f"{marker}\n",
        "line 8\nline 9\nchanged\nline 11\nline 12\n",
        f"{marker}\n",
    ]
    assert plan_edit(original, UpdateSnippet(rendered)).predicted == plan.predicted


def test_snippet_from_plan_shows_the_seam_of_a_deletion() -> None:
    plan = plan_edit("a\nb\nc\nd\ne\n", UnifiedDiff("@@ -2,3 +2,2 @@\n b\n-c\n d\n"))
    assert shape(snippet_from_plan("a\nb\nc\nd\ne\n", plan, 1, "# ...")) == ["<>", "b\nd\n", "<>"]


def test_snippet_from_a_plan_that_keeps_everything_shows_the_start() -> None:
    plan = plan_edit("a\nb\n", UpdateSnippet(""))
    assert shape(snippet_from_plan("a\nb\n", plan, 3, "# ...")) == ["a\nb\n"]
    assert shape(snippet_from_plan("a\nb\n", plan, 0, "# ...")) == ["a\n", "<>"]
