from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from drafts.align.plan import Instruction, SearchReplace, SearchReplaceBlock, UnifiedDiff, UpdateSnippet
from evals.demo_view import DemoResult, DiffLine, describe_edit, show, unified_diff, unpredicted_lines
from evals.samples import Measurement

ORIGINAL = "".join(f"line {i}\n" for i in range(20))
EXPECTED = ORIGINAL.replace("line 9\n", "line nine\n").replace("line 15\n", "")


def measured(seconds: float, *, passes: int, drafted: int = 0, sha: str = "a", status: str = "OK") -> Measurement:
    return Measurement(status, seconds, seconds / 2, sha, 50, 120, passes, drafted, drafted * 3 // 4, drafted // 4)


def demo(result: str = EXPECTED) -> DemoResult:
    return DemoResult(
        name="numbers",
        note="Changes a line [and] drops another.",
        path="src/numbers.txt",
        edit=UpdateSnippet("line 8\nline nine\nline 10\n"),
        original=ORIGINAL,
        expected=EXPECTED,
        predicted=EXPECTED,
        result=result,
        drafted=tuple(measured(s, passes=10, drafted=100) for s in (0.5, 0.4, 9.0)),
        plain=tuple(measured(s, passes=120) for s in (2.0, 3.0, 2.5)),
    )


def screen(shown: DemoResult, *, colour: bool = False, width: int = 80) -> str:
    out = io.StringIO()
    show(shown, Console(file=out, width=width, force_terminal=colour, color_system="standard" if colour else None))
    return out.getvalue()


def flat(text: str) -> str:
    """Sentences wrap; words do not."""
    return " ".join(text.split())


def test_a_good_run_shows_the_diff_the_figures_and_the_verdict() -> None:
    text = screen(demo())
    assert "Changes a line [and] drops another." in text
    assert "-line 9" in text
    assert "+line nine" in text
    assert "5.0 times as fast" in text
    assert "12.0" in text
    assert "75% of 100" in text
    assert "identical: yes" in text
    assert "byte for byte" in flat(text)
    assert "!" not in text


def test_colours_come_only_on_a_terminal() -> None:
    assert "\x1b[" not in screen(demo())
    assert "\x1b[32m+line nine" in screen(demo(), colour=True)


def test_a_mistake_of_the_model_is_marked_and_said() -> None:
    text = screen(demo(EXPECTED.replace("line nine", "line NINE")))
    assert "! +line NINE" in text
    assert "the model made a mistake" in flat(text)
    assert "1 line of it, marked ! above, differs" in flat(text)
    assert "-line nine" in text
    assert "byte for byte" not in flat(text)


def test_a_mistake_that_both_merges_made_is_said() -> None:
    wrong = EXPECTED.replace("line nine", "line NINE")
    assert "both merges made the same mistake" in flat(screen(replace(demo(wrong), predicted=wrong)))


def test_without_a_plan_nothing_is_marked() -> None:
    text = screen(replace(demo(ORIGINAL), predicted=None))
    assert "(no line differs)" in text
    assert "there is no predicted text" in flat(text)


@pytest.mark.parametrize("kind", ["drafted", "plain"])
def test_one_different_output_is_not_identical(kind: str) -> None:
    runs = (measured(1.0, passes=10), measured(1.0, passes=10, sha="b"), measured(1.0, passes=10))
    shown = replace(demo(), drafted=runs) if kind == "drafted" else replace(demo(), plain=runs)
    assert not shown.identical
    assert "identical: no" in screen(shown)


def test_a_refused_result_is_no_success_even_when_all_calls_agree() -> None:
    runs = (measured(1.0, passes=10, status="FAILED_PRECONDITION"),)
    shown = replace(demo(), drafted=runs, plain=runs, failure="cut by the token budget [limit]")
    assert not shown.identical
    assert not shown.as_expected
    assert "refused the model's text: cut by the token budget [limit]" in flat(screen(shown))


def test_marks_follow_line_numbers_through_several_hunks() -> None:
    result = EXPECTED.replace("line 2\n", "line two\n").replace("line 18\n", "line eighteen\n")
    marks = unpredicted_lines(EXPECTED, result)
    assert {result.split("\n")[i] for i in marks} == {"line two", "line eighteen"}
    marked = [line.text for line in unified_diff(ORIGINAL, result, "x", marks) if line.marked]
    assert marked == ["+line two", "+line eighteen"]


def test_marks_at_the_very_start_and_in_an_empty_context() -> None:
    assert unified_diff("b\n", "a\nb\n", "x", frozenset({0}))[3] == DiffLine("+a", marked=True)


def test_a_missing_final_newline_shows() -> None:
    texts = [line.text for line in unified_diff("a\nb\n", "a\nb", "x")]
    assert texts[-2:] == ["+b", "\\ No newline at end of file"]


def test_only_line_feeds_end_lines() -> None:
    assert unpredicted_lines("a\x0cb\nc\n", "a\x0cb\nd\n") == {1}


def test_edits_are_described() -> None:
    blocks = (SearchReplaceBlock("a", "b"),)
    assert describe_edit(UpdateSnippet("a\n")) == "an update snippet of 1 line"
    assert describe_edit(UnifiedDiff("a\nb\n")) == "a unified diff of 2 lines"
    assert describe_edit(SearchReplace(blocks)) == "search/replace, 1 block"
    assert describe_edit(SearchReplace(blocks * 2)) == "search/replace, 2 blocks"
    assert describe_edit(Instruction("do")) == "an instruction"


def test_code_is_not_wrapped() -> None:
    long = "x = " + "very_long_name + " * 12 + "1"
    text = screen(demo(EXPECTED + long + "\n"))
    assert f"+{long}\n" in text


def test_a_long_difference_from_the_predicted_text_is_cut_and_counted() -> None:
    assert "more lines" in screen(demo("".join(f"other {i}\n" for i in range(60))))
