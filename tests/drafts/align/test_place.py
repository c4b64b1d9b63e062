"""Placing large snippets, and the linear comparison of lines."""

from __future__ import annotations

import difflib

from hypothesis import given, settings
from hypothesis import strategies as st

from drafts.align import UpdateSnippet, plan_edit
from drafts.align.candidates import Segment
from drafts.align.evidence import Evidence
from drafts.align.lines import Lines, longest_increasing, matching_blocks
from drafts.align.locate import locate
from drafts.align.place import place
from drafts.align.words import Words

WORDS = st.lists(st.sampled_from("aabbcdefgh"), max_size=40)


@given(WORDS, WORDS)
@settings(max_examples=300, deadline=None)
def test_matching_blocks_are_ordered_equal_runs(old: list[str], new: list[str]) -> None:
    at_old = at_new = 0
    for start_old, start_new, size in matching_blocks(old, new):
        assert size > 0
        assert start_old >= at_old
        assert start_new >= at_new
        assert old[start_old : start_old + size] == new[start_new : start_new + size]
        at_old, at_new = start_old + size, start_new + size


@given(WORDS)
def test_matching_blocks_of_equal_texts_are_one(lines: list[str]) -> None:
    assert matching_blocks(lines, lines) == ([(0, 0, len(lines))] if lines else [])


def test_matching_blocks_find_a_change_between_repeated_lines() -> None:
    old = ["{", "x", "}"] * 300
    new = [*old[:450], "new", *old[450:]]
    assert matching_blocks(old, new) == [(0, 0, 450), (450, 451, 450)]


def test_longest_increasing() -> None:
    pairs = [(5, 0), (1, 1), (2, 2), (9, 3), (3, 4)]
    assert longest_increasing(pairs) == [(1, 1), (2, 2), (3, 4)]
    assert longest_increasing([]) == []


def test_placement_says_which_lines_match_and_what_each_segment_covers() -> None:
    original = Lines.of("a\nb\nc\nd\ne\nf\n")
    snippet = Lines.of("b\nX\nd\nf\n")
    segments = [Segment(0, 3, True, True), Segment(3, 4, True, False)]
    placement = place(segments, Evidence(original, snippet, None, Words(original)))
    assert placement.matches == [1, -1, 3, 5]
    assert placement.ends == [(1, 4), (5, 6)]


def test_a_large_snippet_of_a_large_file() -> None:
    lines = [f"line {n}" if n % 5 else "}" for n in range(6000)]
    changed = [*lines[:3000], "new", *lines[3002:]]
    snippet = [*changed[:3500], "# ... existing code ...", *changed[4500:]]
    before, after = "\n".join(lines) + "\n", "\n".join(changed) + "\n"
    plan = plan_edit(before, UpdateSnippet("\n".join(snippet) + "\n"))
    diff = list(difflib.unified_diff(after.split("\n"), plan.predicted.split("\n"), lineterm=""))
    assert diff == []


def test_locate_prefers_exact_lines_to_lines_equal_but_for_blanks() -> None:
    text = Lines.of("  a\n  b\na\nb\n")
    found = locate(text, ["a", "b"])
    assert found is not None
    assert (found.start, found.exact, found.confidence) == (2, True, 1.0)
    assert locate(text, []) is None
    assert locate(text, ["nothing", "of this"]) is None


def test_a_change_may_make_lines_what_stands_elsewhere() -> None:
    def part(limit: int, name: str, check: str) -> str:
        return f'begin()\n  limit = {limit}\n  run()\n  label("{name}")\n  check({check})\n  close("{name}")\nend()\n'

    one, two, three = part(1, "one", "alpha"), part(2, "two", "beta"), part(3, "three", "gamma")
    snippet = '# ...\nbegin()\n  limit = 2\n  run()\n# ...\n  label("one")\n  check(delta)\n  close("one")\n# ...\n'
    plan = plan_edit(one + two + three, UpdateSnippet(snippet))
    assert plan.predicted == part(2, "one", "delta") + two + three
