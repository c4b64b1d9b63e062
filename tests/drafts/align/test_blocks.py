"""Search/replace blocks."""

from __future__ import annotations

import pytest

from drafts.align import EditParseError, SearchReplace, SearchReplaceBlock, parse_search_replace, plan_edit

ORIGINAL = "def f():\n    a = 1\n    return a\n\n\ndef g():\n    a = 1\n    return a + 1\n"


def applied(original: str, *blocks: tuple[str, str]) -> tuple[str, float]:
    edit = SearchReplace(tuple(SearchReplaceBlock(search, replace) for search, replace in blocks))
    plan = plan_edit(original, edit)
    return plan.predicted, plan.confidence


def test_unique_block() -> None:
    result = applied(ORIGINAL, ("    return a + 1\n", "    return a + 2\n"))
    assert result == (ORIGINAL.replace("a + 1", "a + 2"), 1.0)


def test_blocks_apply_in_order_to_what_the_one_before_left() -> None:
    result, _ = applied(ORIGINAL, ("def f():\n", "def h():\n"), ("def h():\n    a = 1\n", "def h():\n    b = 1\n"))
    assert result == ORIGINAL.replace("def f():\n    a = 1", "def h():\n    b = 1")


def test_repeated_text_takes_the_next_place_and_says_so() -> None:
    result, confidence = applied(ORIGINAL, ("def g():\n", "def k():\n"), ("    a = 1\n", "    a = 9\n"))
    assert result == ORIGINAL.replace("def g():\n    a = 1", "def k():\n    a = 9")
    assert confidence < 0.7


def test_a_search_within_a_line() -> None:
    assert applied(ORIGINAL, ("a + 1", "a + 3"))[0] == ORIGINAL.replace("a + 1", "a + 3")


def test_a_search_from_the_middle_of_one_line_into_the_next() -> None:
    assert applied("one two\nthree four\n", ("two\nthree", "2\n3"))[0] == "one 2\n3 four\n"


def test_other_indentation_is_carried_over_to_the_new_lines() -> None:
    result, confidence = applied(
        "class A:\n        def f(self):\n            return 1\n",
        ("def f(self):\n    return 1\n", "def f(self):\n    x = 1\n    return x\n"),
    )
    assert result == "class A:\n        def f(self):\n            x = 1\n            return x\n"
    assert 0.5 < confidence < 1.0


def test_trailing_blanks_that_the_search_lacks_stay_on_unchanged_lines() -> None:
    result, _ = applied("a  \nb\t\nc\n", ("a\nb\nc\n", "a\nB\nc\n"))
    assert result == "a  \nB\nc\n"


def test_deletion_and_final_newline() -> None:
    assert applied("a\nb\nc", ("b\nc\n", "b\n"))[0] == "a\nb"
    assert applied("a\nb\nc", ("c", "c\nd"))[0] == "a\nb\nc\nd"
    assert applied("a\nb\nc\n", ("b\n", ""))[0] == "a\nc\n"


def test_empty_search_fills_an_empty_file_only() -> None:
    assert applied("", ("", "x\n")) == ("x\n", 1.0)
    assert applied("y\n", ("", "x\n")) == ("y\n", 0.0)


def test_a_block_without_place() -> None:
    assert applied(ORIGINAL, ("nothing like it here\nat all\n", "x\n")) == (ORIGINAL, 0.0)
    result, confidence = applied(ORIGINAL, ("nothing like it\n", "x\n"), ("def g():\n", "def k():\n"))
    assert result == ORIGINAL.replace("def g", "def k")
    assert confidence <= 0.1


def test_no_blocks() -> None:
    assert applied(ORIGINAL) == (ORIGINAL, 0.0)


def test_parse() -> None:
    text = (
        "src/x.py\n```python\n<<<<<<< SEARCH\na\n\nb\n=======\nc\n>>>>>>> REPLACE\n```\n"
        "<<<<<<< SEARCH\nd\n=======\n>>>>>>> REPLACE\n"
    )
    assert parse_search_replace(text) == SearchReplace(
        (SearchReplaceBlock("a\n\nb\n", "c\n"), SearchReplaceBlock("d\n", ""))
    )


def test_a_divider_in_the_new_text_belongs_to_it() -> None:
    text = "<<<<<<< SEARCH\nTitle\n=======\nTitle\n=======\n>>>>>>> REPLACE\n"
    assert parse_search_replace(text).blocks == (SearchReplaceBlock("Title\n", "Title\n=======\n"),)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("text\n", 1),
        ("x\n<<<<<<< SEARCH\na\n", 2),
        ("<<<<<<< SEARCH\na\n=======\nb\n", 1),
        ("<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", 3),
        (">>>>>>> REPLACE\n", 1),
        ("<<<<<<< SEARCH\na\n<<<<<<< SEARCH\n", 3),
    ],
)
def test_malformed_blocks_are_refused_with_their_line(text: str, line: int) -> None:
    with pytest.raises(EditParseError) as caught:
        parse_search_replace(text)
    assert caught.value.line == line
