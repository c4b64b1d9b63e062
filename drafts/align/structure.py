"""Where a text can go on: the statements, members, definitions and entries that stand on lines of their own."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property

from tree_sitter import Node, Tree

from drafts.align.grammars import parse
from drafts.align.outline import WRAPPERS, Outline, outline
from drafts.align.plan import Span

_BLANK = re.compile(rb"[ \t\r\f\v]*")
_SEPARATORS = re.compile(rb"[ \t\r\f\v,;]*")
_SPACE = frozenset(b" \t\r\n\f\v")


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
    return tuple(Span(starts[first], starts[end]) for first, end in syntax.node_lines)


class Syntax:
    """A parsed text. Rows are lines, counted from 0; ranges of them are half-open."""

    def __init__(self, data: bytes, language: str, tree: Tree) -> None:
        self.data, self.language, self.tree = data, language, tree

    @classmethod
    def of(cls, text: str, language: str | None) -> Syntax | None:
        """None without a grammar for the language."""
        data = text.encode("utf-8", "surrogatepass")
        tree = parse(data, language)
        return None if tree is None or language is None else cls(data, language, tree)

    @cached_property
    def starts(self) -> list[int]:
        """The offset of each line, and of the end of the text."""
        return line_starts(self.data)

    @cached_property
    def _nodes(self) -> list[tuple[Node, Node | None]]:
        return list(nodes_of_lines(self.tree.root_node))

    @cached_property
    def outline(self) -> Outline:
        return outline(self._nodes, self.data, self.language)

    @cached_property
    def node_lines(self) -> tuple[tuple[int, int], ...]:
        """The lines of the nodes that stand on lines of their own, ordered by start and then longest first."""
        return self._lines_of(node for node, _ in self._nodes if not node.is_error)

    @cached_property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """Those of them that are longer than one line."""
        nodes = (node for node, _ in self._nodes if node.end_point[0] > node.start_point[0] and not node.is_error)
        return tuple(lines for lines in self._lines_of(nodes) if lines[1] - lines[0] > 1)

    @cached_property
    def _comments(self) -> dict[int, int]:
        """Where the first comment of a line begins."""
        found: dict[int, int] = {}
        for node, _ in self._nodes:
            if "comment" in node.type:
                row, start = node.start_point[0], node.start_byte
                found[row] = min(start, found.get(row, start))
        return found

    def _lines_of(self, nodes: Iterable[Node]) -> tuple[tuple[int, int], ...]:
        data, starts = self.data, self.starts
        found: set[tuple[int, int]] = set()
        for node in nodes:
            start, end, row = node.start_byte, node.end_byte, node.start_point[0]
            while end > start and data[end - 1] in _SPACE:
                end -= 1
            if end == start or not _BLANK.fullmatch(data, starts[row], start):
                continue
            last = bisect_right(starts, end - 1) - 1
            line_end = _without_lf(data, starts[last + 1])
            if not _SEPARATORS.fullmatch(data, end, line_end):
                comment = self._comments.get(last, -1)
                if comment < end or not _SEPARATORS.fullmatch(data, end, comment):
                    continue
            found.add((row, last + 1))
        return tuple(sorted(found, key=lambda lines: (lines[0], -lines[1])))


def line_starts(data: bytes) -> list[int]:
    """The offset of each line, and of the end of the data."""
    starts = [0]
    at = data.find(b"\n")
    while at >= 0:
        starts.append(at + 1)
        at = data.find(b"\n", at + 1)
    if starts[-1] < len(data) or len(starts) == 1:
        starts.append(len(data))
    return starts


def nodes_of_lines(root: Node) -> Iterator[tuple[Node, Node | None]]:
    """The named nodes below `root` that span lines, and the children of those: all that can stand on lines of its own.

    What lies within a node of one line is left out, so that there are few nodes to a line. Nodes come in no order, each
    with the outermost of the nodes that only wrap it (decorators and the like; `outline.WRAPPERS`).
    """
    pending: list[tuple[Node, Node | None]] = [(root, None)]
    while pending:
        parent, wrapper = pending.pop()
        wrapper = (wrapper or parent) if parent.type in WRAPPERS else None
        for node in parent.named_children:
            yield node, wrapper
            if node.end_point[0] > node.start_point[0]:
                pending.append((node, wrapper))


def _without_lf(data: bytes, end: int) -> int:
    return end - 1 if end and data[end - 1] == 0x0A else end
