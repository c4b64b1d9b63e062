"""Where the output may come back to a source that it has left: places that lines and syntax speak for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from drafts.core.types import DraftNode

_LINE_SEARCH = 256
_MAX_NODES = 4


class Place(Enum):
    """The rule that speaks for a place; each has its own belief."""

    START = "start"
    NEAR = "near"
    FAR = "far"
    REALIGNED = "realigned"
    SUBSTITUTION = "substitution"
    SAME_LINE = "same line"
    NEXT_LINE = "next line"
    NODE_END = "node end"
    OUTER_END = "outer node's end"

    __hash__ = object.__hash__  # as SourceKind's


@dataclass(frozen=True, slots=True)
class Departure:
    """source[position] was not what came as the output's token number `output_length`."""

    position: int
    output_length: int


class Resume:
    """The places at which a source may be resumed after it was left.

    nodes: of the source's tokens, nested or disjoint, ordered by start and then longest first.
    """

    def __init__(
        self,
        tokens: Sequence[int],
        nodes: Sequence[DraftNode],
        newlines: Collection[int],
        token_bytes: Callable[[int], bytes] | None,
    ) -> None:
        self._tokens = tokens
        self._nodes = nodes
        self._newlines = newlines
        self._token_bytes = token_bytes
        self._starts: list[int] = []
        self._parents: list[int] = []
        self._departure: Departure | None = None
        self._line_places: list[tuple[Place, int]] = []

    def left(self, departure: Departure | None) -> None:
        """The source was left, or (None) it is followed again."""
        if departure is None:
            self._departure = None
            return
        self._departure = departure
        self._line_places = []
        position = departure.position
        places = {}
        begun = self._line_start(position)
        if begun is not None:
            places[begun] = Place.SAME_LINE
        following = self._next_line(position)
        if following is not None:
            places.setdefault(following, Place.NEXT_LINE)
        ends = [end for end in self._enclosing_ends(position) if end not in places]
        for end, place in zip(ends, (Place.NODE_END, *[Place.OUTER_END] * (_MAX_NODES - 1)), strict=False):
            places[end] = place
        self._line_places = [(place, at) for at, place in places.items() if at < len(self._tokens)]

    def places(self, output: Sequence[int]) -> Iterator[tuple[Place, int]]:
        """Places where the output may go on, the output being just behind a departure or at the start of a line."""
        departure = self._departure
        if departure is None:
            return
        if len(output) == departure.output_length + 1 and departure.position + 1 < len(self._tokens):
            yield Place.SUBSTITUTION, departure.position + 1
        if output and output[-1] in self._newlines:
            tail = self._tail(output[-1])
            for place, position in self._line_places:
                if position == 0 or self._tail(self._tokens[position - 1]) == tail:
                    yield place, position

    def _tail(self, token: int) -> bytes:
        """What a token holds of the line that it begins: the indentation must be the same on both sides."""
        return b"" if self._token_bytes is None else self._token_bytes(token).rpartition(b"\n")[2]

    def _line_start(self, position: int) -> int | None:
        for at in range(position, max(position - _LINE_SEARCH, 0), -1):
            if self._tokens[at - 1] in self._newlines:
                return at
        return 0 if position <= _LINE_SEARCH else None

    def _next_line(self, position: int) -> int | None:
        for at in range(position, min(position + _LINE_SEARCH, len(self._tokens))):
            if self._tokens[at] in self._newlines:
                return at + 1
        return None

    def _enclosing_ends(self, position: int) -> list[int]:
        """The ends of the nodes around a position, innermost first."""
        if not self._nodes:
            return []
        if not self._starts:
            self._link()
        ends: list[int] = []
        index = bisect_right(self._starts, position) - 1
        while index >= 0 and len(ends) < _MAX_NODES:
            end = self._nodes[index].end
            if end > position and (not ends or end > ends[-1]):
                ends.append(end)
            index = self._parents[index]
        return ends

    def _link(self) -> None:
        """Each node's parent, in one pass, at the first departure."""
        self._starts = [node.start for node in self._nodes]
        open_nodes: list[int] = []
        for index, node in enumerate(self._nodes):
            while open_nodes and self._nodes[open_nodes[-1]].end <= node.start:
                open_nodes.pop()
            self._parents.append(open_nodes[-1] if open_nodes else -1)
            open_nodes.append(index)
