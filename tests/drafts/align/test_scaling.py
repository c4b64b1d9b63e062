"""What alignment does for an edit that many places fit does not grow with the file; counted, not timed."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from tree_sitter import Node

from drafts.align import UpdateSnippet, plan_edit, structure
from drafts.align.candidates import Candidate, Segment
from drafts.align.evidence import Evidence
from drafts.align.structure import Syntax

SNIPPET = """\
        # ... existing code ...
        for item in self.items:
            total += item
            self.changed(item)
        return total
        # ... existing code ...
"""


def source(methods: int) -> str:
    """A class whose methods are nearly the same: seven lines each, one blank."""
    made = ["class Store:"]
    for number in range(methods):
        made += [
            f"    def step_{number}(self, value):",
            "        if value is None:",
            "            return None",
            f"        total = value + {number}",
            "        for item in self.items:",
            "            total += item",
            "        return total",
            "",
        ]
    return "\n".join(made)


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> list[Node]:
    """The nodes that are looked at, from now on."""
    found: list[Node] = []
    children = structure._children

    def counted(parent: Node, before: int, start: int, end: int) -> Iterator[Node]:
        for node in children(parent, before, start, end):
            found.append(node)
            yield node

    monkeypatch.setattr(structure, "_children", counted)
    return found


@pytest.mark.parametrize(("low", "high"), [(5, 6), (5, 8), (6, 11), (9, 17)])
def test_the_nodes_looked_at_are_those_near_the_lines(visited: list[Node], low: int, high: int) -> None:
    counts = set[int]()
    for methods in (10, 1_000):
        syntax = Syntax.of(source(methods), "python")
        assert syntax is not None
        visited.clear()
        syntax.cuts(low, high)
        syntax.names_from(low, high)
        counts.add(len(visited))
    assert len(counts) == 1
    assert max(counts) <= 12 * (high - low) + 12


def test_a_deletion_of_one_line_cuts_nothing_and_looks_at_nothing(visited: list[Node]) -> None:
    syntax = Syntax.of(source(10), "python")
    assert syntax is not None
    assert [syntax.cuts(row, row + 1) for row in range(60)] == [0] * 60
    assert visited == []


def test_structure_is_weighed_for_no_more_candidates_in_a_larger_file(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed: list[Candidate] = []
    judged = Evidence.structure

    def counted(self: Evidence, segment: Segment, candidate: Candidate) -> dict[str, float]:
        weighed.append(candidate)
        return judged(self, segment, candidate)

    monkeypatch.setattr(Evidence, "structure", counted)
    counts: list[int] = []
    for methods in (20, 200, 2_000):
        weighed.clear()
        plan_edit(source(methods), UpdateSnippet(SNIPPET), "python")
        counts.append(len(weighed))
        assert len(set(weighed)) == len(weighed), "none is weighed twice"
    assert counts[0] >= 10
    assert max(counts) <= 40


LIST = "Title\n=====\n\n* one\n* two\n  more\n\n\nText\nand more\n\n"


@pytest.mark.parametrize(("text", "language"), [(source(12), "python"), (4 * LIST, "markdown")])
def test_cuts_are_those_of_all_nodes_gone_through(text: str, language: str) -> None:
    """The nodes near the lines are all that is looked at, and all that counts; blanks at a node's end do not."""
    syntax = Syntax.of(text, language)
    assert syntax is not None
    rows = len(syntax.starts) - 1
    nodes = syntax.node_lines(0, rows)
    rng = random.Random(4)
    for _ in range(300):
        low = rng.randrange(rows)
        high = rng.randint(low + 1, rows)
        begins = sum(start < low < end < high for start, end in nodes)
        ends = sum(low < start < high < end for start, end in nodes)
        assert syntax.cuts(low, high) == begins + ends
