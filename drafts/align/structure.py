"""Where a text can go on: the statements, members, definitions and entries that stand on lines of their own."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from tree_sitter import Node

from drafts.align.grammars import parse
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
    data = text.encode("utf-8", "surrogatepass")
    tree = parse(data, language)
    if tree is None:
        return ()
    starts = line_starts(data)
    comments: dict[int, int] = {}
    nodes: list[tuple[int, int, int]] = []
    for node in nodes_of_lines(tree.root_node):
        start, row = node.start_byte, node.start_point[0]
        if "comment" in node.type:
            comments.setdefault(row, start)
        nodes.append((start, node.end_byte, row))
    found: set[tuple[int, int]] = set()
    for start, end, row in nodes:
        while end > start and data[end - 1] in _SPACE:
            end -= 1
        if end == start or not _BLANK.fullmatch(data, starts[row], start):
            continue
        last = bisect_right(starts, end - 1) - 1
        line_end = starts[last + 1]
        comment = comments.get(last, -1)
        if _SEPARATORS.fullmatch(data, end, comment if comment >= end else _without_lf(data, line_end)):
            found.add((starts[row], line_end))
    return tuple(Span(start, end) for start, end in sorted(found, key=lambda span: (span[0], -span[1])))


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


def nodes_of_lines(root: Node) -> Iterator[Node]:
    """The named nodes below `root` that span lines, and the children of those: all that can stand on lines of its own.

    What lies within a node of one line is left out, so that there are few nodes to a line. Nodes come in no order.
    """
    pending = [root]
    while pending:
        for node in pending.pop().named_children:
            if not node.is_error:
                yield node
            if node.end_point[0] > node.start_point[0]:
                pending.append(node)


def _without_lf(data: bytes, end: int) -> int:
    return end - 1 if end and data[end - 1] == 0x0A else end
