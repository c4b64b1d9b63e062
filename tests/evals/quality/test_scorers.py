from __future__ import annotations

import pytest

from evals.quality.scorers import Score, compare_hunks, difference, no_result, parses, score

BEFORE = "import os\n\n\ndef one():\n    return 1\n\n\ndef two():\n    return 2\n"
EXPECTED = BEFORE.replace("return 2", "return 22")


def scored(result: str) -> Score:
    return score(BEFORE, EXPECTED, result.encode(), "python")


def test_the_expected_text_scores_full() -> None:
    assert scored(EXPECTED) == Score(True, True, True, 1, 1, 0)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        # Blank lines, and those of blanks, may differ.
        (EXPECTED.replace("\n\n\n", "\n\n"), Score(False, True, True, 1, 1, 2)),
        (EXPECTED.replace("\n\n\ndef two", "\n  \n\ndef two"), Score(False, True, True, 1, 1, 1)),
        (EXPECTED + "\n", Score(False, True, True, 1, 0, 0)),
        # Nothing else may: not a blank at a line's end, not the last newline's absence for the bytes.
        (EXPECTED.replace("import os", "import os "), Score(False, False, True, 1, 1, 1)),
        (EXPECTED.removesuffix("\n"), Score(False, True, True, 1, 0, 0)),
        (EXPECTED.replace("\n", "\r\n"), Score(False, False, True, 1, 0, 8)),
        # The edit was not made.
        (BEFORE, Score(False, False, True, 1, 0, 0)),
        # It was made, and a line that nobody asked for was changed, lost or added.
        (EXPECTED.replace("return 1", "return 7"), Score(False, False, True, 1, 1, 1)),
        (EXPECTED.replace("import os\n", ""), Score(False, False, True, 1, 1, 1)),
        ("import sys\n" + EXPECTED, Score(False, False, True, 1, 1, 1)),
        # It was made with a syntax error.
        (EXPECTED.replace("one()", "one("), Score(False, False, False, 1, 1, 1)),
        # An answer that leaves its wrapping in, or its end out.
        ("```python\n" + EXPECTED + "```\n", Score(False, False, False, 1, 0, 1)),
        (EXPECTED[: EXPECTED.index("def two")], Score(False, False, True, 1, 0, 1)),
        ("", Score(False, False, True, 1, 0, 8)),
    ],
)
def test_worked_examples(result: str, expected: Score) -> None:
    assert scored(result) == expected


def test_no_result_is_wrong_in_everything() -> None:
    assert no_result(BEFORE, EXPECTED, "python") == Score(False, False, False, 1, 0, 0)
    assert no_result(BEFORE, EXPECTED, "cobol").parses is None


def test_bytes_that_are_no_text_are_compared_as_they_are() -> None:
    wrong = score(BEFORE, EXPECTED, EXPECTED.encode() + b"\xff", "python")
    assert (wrong.byte_exact, wrong.exact_but_blank_lines) == (False, False)


def test_crlf_is_part_of_the_file() -> None:
    before, expected = BEFORE.replace("\n", "\r\n"), EXPECTED.replace("\n", "\r\n")
    assert score(before, expected, expected.encode(), "python").byte_exact
    assert not score(before, expected, EXPECTED.encode(), "python").byte_exact


LINES = [f"{number}" for number in range(30)]


def edited(changes: dict[int, list[str]]) -> str:
    return "\n".join(line for number, old in enumerate(LINES) for line in changes.get(number, [old]))


@pytest.mark.parametrize(
    ("result", "found"),
    [
        ({3: ["x"], 15: [], 25: ["25", "new"]}, (3, 3, 0)),
        ({3: ["x"], 25: ["25", "new"]}, (3, 2, 0)),  # the deletion was missed
        ({3: ["x"], 15: []}, (3, 2, 0)),  # the insertion was missed
        ({3: ["x", "more"], 15: [], 25: ["25", "new"]}, (3, 2, 0)),  # too much in the first
        ({3: ["y"], 15: [], 25: ["25", "new"]}, (3, 2, 0)),
        ({3: ["x"], 9: ["z"], 15: [], 25: ["25", "new"]}, (3, 3, 1)),
        ({3: ["x"], 9: ["z", "z", "z"], 15: [], 25: ["25", "new"]}, (3, 3, 3)),
        ({3: ["x"], 9: [], 10: [], 15: [], 25: ["25", "new"]}, (3, 3, 2)),
        ({}, (3, 0, 0)),
    ],
)
def test_hunks_and_untouched_lines(result: dict[int, list[str]], found: tuple[int, int, int]) -> None:
    expected = edited({3: ["x"], 15: [], 25: ["25", "new"]})
    assert compare_hunks("\n".join(LINES), expected, edited(result)) == found


def test_parsing_is_judged_only_where_the_expected_text_parses() -> None:
    assert parses("def f(): pass\n", b"def f(): pass\n", "python") is True
    assert parses("def f(): pass\n", b"def f(: pass\n", "python") is False
    assert parses("def f(: pass\n", b"def f(): pass\n", "python") is None
    assert parses("x", b"x", "text") is None


def test_the_difference_is_for_people_and_short() -> None:
    assert difference("a\nb\n", b"a\nb\n") == ""
    assert "-b\n+c" in difference("a\nb\n", b"a\nc\n")
    long = difference("a\n" * 500, b"b\n" * 500)
    assert len(long.split("\n")) == 81
    assert long.endswith("more lines")
