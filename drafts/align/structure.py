"""What a syntax tree says about the lines of a text: which nodes stand on lines of their own, and what they define.

A tree is looked at only around the lines that are asked for, so that a large file costs no more than its parsing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy
from tree_sitter import Node, Tree

from drafts.align.grammars import parse
from drafts.align.outline import WRAPPERS, Definition, is_lead, label_and_name
from drafts.align.plan import Span

_BLANK = re.compile(rb"[ \t\r\f\v]*")
_SEPARATORS = re.compile(rb"[ \t\r\f\v,;]*")
_SPACE = b" \t\r\n\f\v"


def node_spans(text: str, language: str) -> tuple[Span, ...]:
    """Byte spans of the syntax nodes that stand on lines of their own, extended to whole lines with their LF.

    A node is one when nothing but blanks comes before it on its first line, and nothing but a separator or a comment
    after it on its last. The spans are nested or disjoint, ordered by start and then longest first, each once. Empty
    where there is no grammar for the language (a canonical name: see `grammars.LANGUAGES`). Never raises for odd text;
    takes time linear in it.
    """
    syntax = Syntax.of(text, language)
    if syntax is None:
        return ()
    starts = syntax.starts
    lines = sorted(syntax.node_lines(0, len(starts) - 1), key=lambda each: (each[0], -each[1]))
    return tuple(Span(starts[start], starts[end]) for start, end in lines)


class Syntax:
    """A parsed text. Rows are lines, counted from 0; ranges of them are half-open."""

    def __init__(self, data: bytes, language: str, tree: Tree) -> None:
        self.data, self.language, self.tree = data, language, tree

    @classmethod
    def of(cls, text: str, language: str | None) -> Syntax | None:
        """None without a grammar for the language. Never raises for odd text."""
        data = text.encode("utf-8", "surrogatepass")
        tree = parse(data, language)
        return None if tree is None or language is None else cls(data, language, tree)

    @cached_property
    def starts(self) -> list[int]:
        """The offset of each line, and of the end of the text."""
        starts = (numpy.flatnonzero(numpy.frombuffer(self.data, numpy.uint8) == 0x0A) + 1).tolist()
        return [0, *starts] if starts and starts[-1] == len(self.data) else [0, *starts, len(self.data)]

    def line(self, row: int) -> bytes:
        """A line of the text, with its LF."""
        return self.data[self.starts[row] : self.starts[row + 1]]

    def cuts(self, low: int, high: int) -> int:
        """Into how many nodes on lines of their own the lines [low, high) reach from outside, but not to their end."""
        if high - low < 2:
            return 0
        # Nodes are nested or disjoint: one that holds a character on both sides of the range is not cut, nor is any
        # around it.
        around = self._around(low, high)
        before, after = self._across(low, around), self._across(high, around)
        return sum(end < high for _, end in before) + sum(start > low for start, _ in after)

    def across(self, row: int) -> frozenset[tuple[int, int]]:
        """The lines [start, end) of the nodes on lines of their own that begin before line `row` and end after it."""
        return frozenset(self._across(row, self.tree.root_node))

    def _across(self, row: int, within: Node) -> set[tuple[int, int]]:
        return {each for each in self._own_lines(self._straddling(row, within)) if each[0] < row < each[1]}

    def _straddling(self, row: int, within: Node) -> Iterator[Node]:
        """The named nodes inside `within` that begin before line `row` and reach into it, outermost first."""
        before, at = self._text_before(row), self._offset(row)
        found: Node | None = within
        while found is not None:
            parent, found = found, None
            for node in _children(parent, before, at, at):
                if node.end_byte > at:
                    yield node
                    found = node

    def _around(self, low: int, high: int) -> Node:
        """The innermost node that holds lines [low, high), the LF before them and text after them; else the root.

        What lies within the lines, or reaches into them from one side, lies inside it: blanks at a node's end, such as
        Markdown's nodes have, do not count.
        """
        root, start = self.tree.root_node, self._offset(low) - 1
        rows = range(high, len(self.starts) - 1)
        below = next((row for row in rows if self.line(row).strip()), None)
        if start < 0 or below is None:
            return root
        line = self.line(below)
        end = self.starts[below] + len(line) - len(line.lstrip()) + 1
        return root.named_descendant_for_byte_range(start, end) or root

    def node_lines(self, low: int, high: int) -> set[tuple[int, int]]:
        """The lines [start, end) of the nodes on lines of their own of which a line in [low, high) is part."""
        return set(self._own_lines(node for node, _ in self._nodes(low, high)))

    def names_from(self, low: int, high: int) -> list[tuple[str, bool]]:
        """What the definitions define that begin within lines [low, high), what belongs to them aside.

        Of each also whether it ends there too.
        """
        start, end = self._offset(low), self._offset(high)
        names: list[tuple[str, bool]] = []
        for node, _ in self._nodes(low, high, self._around(low, high)):
            if start <= node.start_byte < end:
                found = label_and_name(node, self.data, self.language)
                if found is not None:
                    names.append((found[1], node.end_byte <= end))
        return names

    def definitions_around(self, low: int, high: int) -> list[Definition]:
        """The definitions that hold lines [low, high), outermost first; of an empty range, those that go on around it.

        A place before a definition's head (its decorators, its comment) is not yet inside it.
        """
        row = low
        if low < high:
            while (below := self._below_lead(row)) is not None:
                row = below
        around: list[Definition] = []
        for found in self._definitions(row, row + 1):
            before = found.start <= low if low < high else found.head < low
            # Two that share a line are not one in the other.
            nested = not around or found.end <= around[-1].end
            if before and nested and high <= found.end - (low == high):
                around.append(found)
        return around

    def lead_of(self, row: int) -> int:
        """Where what belongs to the definition whose head is line `row` begins; `row` where no definition begins."""
        return min((found.start for found in self._definitions(row, row + 1) if found.head == row), default=row)

    def _definitions(self, low: int, high: int) -> list[Definition]:
        """The definitions of which a line in [low, high) is part, what belongs to them aside; outer ones first."""
        found: list[Definition] = []
        for node, wrapper in self._nodes(low, high):
            named = label_and_name(node, self.data, self.language)
            if named is not None:
                label, name = named
                # A wrapper of several (Go's `type ( ... )`) ends later, and belongs to none of them.
                outer = wrapper if wrapper is not None and wrapper.end_point[0] == node.end_point[0] else node
                head = node.start_point[0]
                found.append(Definition(self._with_leads(outer), head, _end_row(node), name, label))
        return sorted(found, key=lambda each: (each.start, -each.end))

    def _with_leads(self, node: Node) -> int:
        """The line where the comments and attributes right above a node begin that are indented as it is."""
        row, column = node.start_point
        while row and (above := self._lead_at(row - 1)) is not None:
            if above.start_point[1] != column or _last_row(above) != row - 1:
                break
            row = above.start_point[0]
        return row

    def _below_lead(self, row: int) -> int | None:
        """The line after the comment or attribute that line `row` is part of; None when it is part of none."""
        lead = self._lead_at(row) if row + 1 < len(self.starts) else None
        return None if lead is None else max(_last_row(lead), row) + 1

    def _lead_at(self, row: int) -> Node | None:
        """The comment or attribute that a line begins with, or goes on with."""
        line = self.line(row)
        at = self.starts[row] + len(line) - len(line.lstrip())
        node = self.tree.root_node.descendant_for_byte_range(at, at + 1) if line.strip() else None
        while node is not None and not is_lead(node):
            node = node.parent
        return node

    def _nodes(self, low: int, high: int, within: Node | None = None) -> Iterator[tuple[Node, Node | None]]:
        """The named nodes that touch lines [low, high), except those inside a node of one line.

        They come in no order, each with the outermost of the nodes that only wrap it (decorators and the like:
        `outline.WRAPPERS`). within: the node that is gone through; the root, where wrappers matter.
        """
        before, start, end = self._text_before(low), self._offset(low), self._offset(high)
        pending: list[tuple[Node, Node | None]] = [(within or self.tree.root_node, None)]
        while pending:
            parent, wrapper = pending.pop()
            wraps = parent.type in WRAPPERS
            wrapper = (wrapper or parent) if wraps else None
            for node in parent.named_children if wraps else _children(parent, before, start, end):
                yield node, wrapper
                if self.data.find(b"\n", node.start_byte, node.end_byte) >= 0:
                    pending.append((node, wrapper))

    def _offset(self, row: int) -> int:
        """Where a line begins; the text's end for those after its last."""
        return self.starts[min(row, len(self.starts) - 1)]

    def _text_before(self, row: int) -> int:
        """The offset of the last character before line `row` that is not blank; 0 without one."""
        for above in range(row - 1, -1, -1):
            text = self.line(above).rstrip()
            if text:
                return self.starts[above] + len(text) - 1
        return 0

    def _own_lines(self, nodes: Iterable[Node]) -> Iterator[tuple[int, int]]:
        """The lines of those nodes that stand on lines of their own."""
        each = (self._lines_of(node) for node in nodes if not node.is_error)
        return (lines for lines in each if lines is not None)

    def _lines_of(self, node: Node) -> tuple[int, int] | None:
        """The lines of a node that stands on lines of its own.

        Nothing but blanks comes before it on its first line, nothing but a separator or a comment after it on its last.
        """
        data, starts = self.data, self.starts
        start, row = node.start_byte, node.start_point[0]
        end = start + len(data[start : node.end_byte].rstrip(_SPACE))
        if end == start or not _BLANK.fullmatch(data, starts[row], start):
            return None
        last = bisect_right(starts, end - 1) - 1
        line_end = starts[last + 1] - data.endswith(b"\n", end, starts[last + 1])
        rest = _SEPARATORS.match(data, end, line_end)
        if rest is not None and rest.end() < line_end and not self._is_comment(rest.end()):
            return None
        return row, last + 1

    def _is_comment(self, at: int) -> bool:
        """A comment begins there."""
        node = self.tree.root_node.descendant_for_byte_range(at, at + 1)
        while node is not None and node.start_byte == at:
            if "comment" in node.type:
                return True
            node = node.parent
        return False


def _children(parent: Node, before: int, start: int, end: int) -> Iterator[Node]:
    """The named children of a node that touch the bytes [start, end); before: where the text before those ends."""
    cursor = parent.walk()
    # Asked for blanks, tree-sitter may look among them and find nothing; it is asked for the text before them.
    found = cursor.goto_first_child_for_byte(before) is not None or cursor.goto_first_child()
    while found:
        node = cursor.node
        if node is None or node.start_byte >= end:
            return
        if node.end_byte >= start and node.is_named:
            yield node
        found = cursor.goto_next_sibling()


def _last_row(node: Node) -> int:
    """The last line of a node; an end just after an LF is the end of the line before."""
    row, column = node.end_point
    return row - (column == 0 and row > node.start_point[0])


def _end_row(node: Node) -> int:
    """The line after a node."""
    row, column = node.end_point
    return row + (column > 0)
