"""Tests for how much context a snippet's writer shows."""

from __future__ import annotations

import pytest

from drafts.align import UpdateSnippet, plan_edit
from drafts.align.candidates import Candidate, Segment
from drafts.align.habit import Habit, habit_of

MARKER = "# ... existing code ...\n"


def replaced(head: int, tail: int, *, open_before: bool = True, open_after: bool = True) -> tuple[Segment, Candidate]:
    """A segment that puts two new lines in the place of one."""
    size = head + 2 + tail
    segment = Segment(0, size, open_before, open_after)
    return segment, Candidate(10, 10 + head + 1 + tail, head, tail)


def test_a_snippet_that_shows_the_same_everywhere_is_a_tools() -> None:
    habit = habit_of([replaced(1, 1)] * 4)
    assert habit is not None
    assert habit.lines == 1
    assert habit.tool > 0.9


def test_a_snippet_that_shows_now_this_now_that_is_not() -> None:
    habit = habit_of([replaced(1, 3), replaced(2, 1), replaced(4, 1), replaced(1, 1)])
    assert habit is not None
    assert habit.tool < 0.05


def test_nothing_is_learned_from_what_changes_nothing() -> None:
    assert habit_of([]) is None
    assert habit_of([(Segment(0, 3, True, True), Candidate(4, 7, 3, 0))]) is None


def test_the_ends_of_the_file_show_what_there_is() -> None:
    first = replaced(0, 2, open_before=False)
    habit = habit_of([first, replaced(2, 2), replaced(2, 2)])
    assert habit is not None
    assert (habit.lines, habit.tool > 0.5) == (2, True)


def test_what_only_comes_may_slide() -> None:
    # One line before it and three after it are two at each end.
    inserted = Segment(0, 6, True, True), Candidate(10, 14, 1, 3)
    habit = Habit(2, 0.99)
    assert habit.judged(*inserted) == habit.judged(*replaced(2, 2))


@pytest.mark.parametrize("other", [replaced(2, 1), replaced(1, 3), (Segment(0, 2, True, True), Candidate(4, 6, 2, 0))])
def test_against_a_tools_habit_counts_much(other: tuple[Segment, Candidate]) -> None:
    usual = replaced(1, 1)
    assert Habit(1, 0.99).judged(*usual) - Habit(1, 0.99).judged(*other) > 2.0
    assert Habit(1, 0.01).judged(*usual) - Habit(1, 0.01).judged(*other) < 0.3


def test_a_change_is_looked_for_where_the_rest_shows_one_line_at_each_end() -> None:
    fields = "".join(f"    field_{n}: int = {n}\n    part_{n}: int = {n}\n    rest_{n}: int = {n}\n" for n in range(8))
    old, kept = "class Old:\n    size: int = 3\n", "class Kept:\n    size: int = 4\n"
    original = f"import os\n\n\nclass Settings:\n{fields}\n\n{old}\n\n{kept}"
    changes = [
        f"{MARKER}    field_{n}: int = {n}\n    part_{n}: str = 'p'\n    rest_{n}: int = {n}\n" for n in (0, 2, 4, 6)
    ]
    # A blank line and the head of the next class alone: a tool shows them because of what went between them.
    head = f"{MARKER}\nclass Kept:\n{MARKER}"
    plan = plan_edit(original, UpdateSnippet("".join(changes) + head), "python")
    assert old not in plan.predicted
    assert kept in plan.predicted
    # One change alone is no habit.
    assert old in plan_edit(original, UpdateSnippet(changes[0] + head), "python").predicted
