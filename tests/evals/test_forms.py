"""Edit forms derived from before and after."""

from __future__ import annotations

import pytest

from drafts.align import Elision, SearchReplace, SearchReplaceBlock, split_snippet
from evals.forms import MARKER_WORDINGS, search_replace, unified_diff, update_snippet

BEFORE = "".join(f"    line {n}\n" for n in range(1, 31))
AFTER = BEFORE.replace("line 5\n", "line five\n").replace("    line 25\n", "")


def test_update_snippet() -> None:
    marker = "    # ... existing code ...\n"
    assert update_snippet(BEFORE, AFTER, "python", 1, 0) == (
        f"{marker}    line 4\n    line five\n    line 6\n{marker}    line 24\n    line 26\n{marker}"
    )


def test_update_snippet_shows_no_marker_where_nothing_is_left_out() -> None:
    assert update_snippet("a\nb\n", "a\nc\n", "go", 3, 0) == "a\nc\n"


def test_update_snippet_keeps_a_missing_final_newline() -> None:
    assert update_snippet("a\nb\nc", "a\nb\nd", "go", 1, 0) == "// ... existing code ...\nb\nd"


@pytest.mark.parametrize(
    ("before", "after", "context"), [("a\n", "a\n", 3), ("a\nb\nc\n", "a\nc\n", 0), ("a\n", "", 3)]
)
def test_update_snippet_of_what_it_cannot_say(before: str, after: str, context: int) -> None:
    assert update_snippet(before, after, "go", context, 0) is None


def test_update_snippet_refuses_negative_context() -> None:
    with pytest.raises(ValueError, match="context_lines"):
        update_snippet("a\n", "b\n", "go", -1, 0)


def test_seed_chooses_the_wording_and_nothing_else() -> None:
    snippets = [update_snippet(BEFORE, AFTER, "rust", 3, seed) for seed in range(2 * len(MARKER_WORDINGS))]
    assert len(set(snippets)) == len(MARKER_WORDINGS)
    assert snippets[0] == snippets[len(MARKER_WORDINGS)]
    for snippet in snippets:
        assert snippet is not None
        assert sum(isinstance(part, Elision) for part in split_snippet(snippet, BEFORE)) == 3


def test_a_marker_is_no_line_of_the_file() -> None:
    before = "# ... existing code ...\n" + BEFORE
    snippet = update_snippet(before, before.replace("line 9\n", "line nine\n"), "python", 1, 0)
    assert snippet is not None
    assert "# ... existing code ..." not in snippet


def test_unified_diff_marks_missing_final_newlines() -> None:
    assert unified_diff("a\nb", "a\nb\n", "x") == (
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
    )
    assert unified_diff("a\n", "a\n") is None


def test_search_replace_widens_until_unique() -> None:
    before = "x\ny\nz\n\nx\ny\nw\n"
    assert search_replace(before, before.replace("y\nw", "Y\nw"), 0) == SearchReplace(
        (SearchReplaceBlock("x\ny\nw\n", "x\nY\nw\n"),)
    )
    assert search_replace("", "x\n") is None
    assert search_replace("x\n", "x\n") is None
