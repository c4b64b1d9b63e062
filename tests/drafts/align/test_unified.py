"""Unified diffs: parsing, and placing by content when line numbers and context have drifted."""

from __future__ import annotations

import pytest

from drafts.align import EditParseError, UnifiedDiff, parse_unified_diff, plan_edit

ORIGINAL = "".join(f"line {n}\n" for n in range(1, 41))
DIFF = """\
--- a/file
+++ b/file
@@ -9,5 +9,5 @@ def around():
 line 9
 line 10
-line 11
+changed
 line 12
 line 13
@@ -30,3 +30,4 @@
 line 30
+added
 line 31
 line 32
"""
EXPECTED = ORIGINAL.replace("line 11\n", "changed\n").replace("line 30\n", "line 30\nadded\n")


def applied(original: str, diff: str) -> tuple[str, float]:
    plan = plan_edit(original, UnifiedDiff(diff))
    return plan.predicted, plan.confidence


def test_exact_diff() -> None:
    assert applied(ORIGINAL, DIFF) == (EXPECTED, 1.0)


def test_wrong_line_numbers_are_only_hints() -> None:
    wrong = DIFF.replace("@@ -9,5 +9,5", "@@ -109,5 +1,5").replace("-30,3", "-2,3")
    assert applied(ORIGINAL, wrong)[0] == EXPECTED


def test_headers_without_numbers() -> None:
    bare = DIFF.replace("@@ -9,5 +9,5 @@ def around():", "@@ ... @@").replace("@@ -30,3 +30,4 @@", "@@")
    assert applied(ORIGINAL, bare)[0] == EXPECTED


def test_repeated_context_goes_to_the_place_nearest_to_the_hint() -> None:
    original = "a\nb\nc\n" * 6
    diff = "@@ -13,3 +13,3 @@\n a\n-b\n+B\n c\n"
    predicted, confidence = applied(original, diff)
    assert predicted == "a\nb\nc\n" * 4 + "a\nB\nc\n" + "a\nb\nc\n"
    assert confidence == 1.0
    predicted, confidence = applied(original, diff.replace("-13,3", "-14,3"))
    assert predicted == "a\nb\nc\n" * 4 + "a\nB\nc\n" + "a\nb\nc\n"
    assert confidence < 0.7


def test_context_that_lost_its_indentation_keeps_the_file_s_own() -> None:
    original = "class A:\n    def f(self):\n        x = 1\n        return x\n"
    diff = "@@ -2,3 +2,4 @@\n def f(self):\n     x = 1\n+    y = 2\n     return x\n"
    predicted, confidence = applied(original, diff)
    assert predicted == "class A:\n    def f(self):\n        x = 1\n        y = 2\n        return x\n"
    assert 0.5 < confidence < 1.0


def test_drifted_context_line_stays_as_the_file_has_it() -> None:
    drifted = ORIGINAL.replace("line 10\n", "line ten\n")
    predicted, confidence = applied(drifted, DIFF)
    assert predicted == EXPECTED.replace("line 10\n", "line ten\n")
    assert 0.2 < confidence < 0.7


def test_a_hunk_without_place_lowers_confidence_and_keeps_the_rest() -> None:
    diff = DIFF + "@@ -50,2 +51,2 @@\n nowhere at all\n-to be found\n+x\n"
    predicted, confidence = applied(ORIGINAL, diff)
    assert predicted == EXPECTED
    assert confidence <= 0.1


def test_no_hunk_placed_keeps_the_original() -> None:
    assert applied("x\n", DIFF) == ("x\n", 0.0)


def test_insertion_without_context_goes_by_line_number() -> None:
    assert applied("a\nb\nc\n", "@@ -2,0 +3,1 @@\n+new\n")[0] == "a\nb\nnew\nc\n"


def test_new_file() -> None:
    assert applied("", "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n")[0] == "a\nb\n"


@pytest.mark.parametrize(
    ("original", "diff", "expected"),
    [
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"),
        ("a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", "a\nb"),
        (
            "a\nb",
            "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
            "a\nc",
        ),
        ("a\nb\nc", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "A\nb\nc"),
    ],
)
def test_final_newline(original: str, diff: str, expected: str) -> None:
    assert applied(original, diff)[0] == expected


def test_blank_context_lines_may_lack_their_blank() -> None:
    assert applied("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n")[0] == "a\n\nc\n"


def test_removed_lines_that_look_like_headers() -> None:
    diff = "--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,2 @@\n select 1\n--- a comment\n select 2\n"
    assert applied("select 1\n-- a comment\nselect 2\n", diff)[0] == "select 1\nselect 2\n"


@pytest.mark.parametrize(
    ("diff", "line"),
    [
        ("", 1),
        ("just text\n", 1),
        ("--- a/x\n+++ b/x\n", 1),
        ("+added\n", 1),
        ("@@ -1,2 +1,2 @@\n a\nb without prefix\n", 3),
        ("@@ -x +y @@\n a\n", 1),
        ("@@ -1 +1 @@\n", 1),
        ("@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", 4),
        ("@@ -1 +1 @@\n-a\n+b\ndiff --git a/y b/y\n", 4),
    ],
)
def test_malformed_diffs_are_refused_with_their_line(diff: str, line: int) -> None:
    with pytest.raises(EditParseError) as caught:
        parse_unified_diff(diff)
    assert caught.value.line == line
    assert applied("a\n", diff) == ("a\n", 0.0)


def test_errors_quote_no_text() -> None:
    with pytest.raises(EditParseError) as caught:
        parse_unified_diff("@@ -1,2 +1,2 @@\n a\nsecret text\n")
    assert "secret" not in str(caught.value)
