"""What speaks for and against a candidate, in units of one unique context line; few terms, each with its reason.

Context and the length of a deletion are weighed for every candidate. The rest is weighed where those leave doubt, and
most of it is about structure: a change rarely cuts through statements, rarely leaves brackets open, and new code rarely
takes the place of definitions that it does not name.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy
from numpy.typing import NDArray

from drafts.align.candidates import Candidate, Context, Segment
from drafts.align.declared import Declarations, mentions
from drafts.align.incoming import Incoming, brackets
from drafts.align.indentation import definition_name
from drafts.align.lines import Lines, indent_width
from drafts.align.markers import comment_text
from drafts.align.rewriting import rewritten
from drafts.align.structure import Syntax
from drafts.align.words import Words, words_of

_NEIGHBOURHOOD = 16, 8
"""Lines before and after a place that repeated lines are next to it."""
_REACHES: Final = {"near": (6, 3), "far": (40, 20)}
"""Lines before and after a place that new code is compared with."""
_JUMP = re.compile(r"(?:return|raise|throw|break|continue|goto)\b(?!.*\b(?:if|unless)\b)")
_GOES_ON = re.compile(
    r"[)\]}.,&|?:+=<>*/-]"
    r"|(?:end|else|elif|elsif|except|finally|rescue|catch|case|default|when|and|or)\b"
)
"""What no statement begins with."""
_ALIKE = 0.6
"""Code that resembles other code more than this may be that code under another name."""
_COMMON = 16
"""A word in more than one of 16 lines, and in more than 16, is common."""


WEIGHTS: Final[Mapping[str, float]] = {
    "ends": 1.9,
    "head": 1.3,
    "tail": 1.3,
    "least": 0.6,
    "groundless": -5.0,
    "insert": 2.7,
    "insert_lines": 0.1,
    "delete_lines": -0.85,
    "delete_blank": -2.4,
    "unchanged": -5.0,
    "shown": 2.0,
    "stray": -2.1,
    "spacing": -1.75,
    "cut": -0.95,
    "cut_into": -0.45,
    "unbalanced": -3.1,
    "alike": 7.0,
    "shape": -0.85,
    "fresh": -1.3,
    "kept_blocks": 0.5,
    "lopsided": 0.35,
    "lost": -0.35,
    "renamed": -1.8,
    "supplanted": -1.2,
    "redeclared": -1.0,
    "near": 1.9,
    "far": 2.8,
    "repeated": -1.4,
    "doubled": -3.5,
    "dead": -4.0,
}
"""What each feature of a candidate counts; see `Evidence.base` and `Evidence.structure` for what they are.

Scores are log-odds, in nats: the weights are a multinomial logit's, fitted on the hunks of real edits with 1 and 3
lines of context and rounded, so that a margin between two candidates says how likely either is.
"""

NO_ELISION: Final = 0.9
"""A written elision that passes over nothing."""
IMPLIED: Final = 4.2
"""Lines stay where no elision is written: worse than if four of them go, even of a large file."""
UNPLACED: Final = 1.5
"""A segment without a place."""


class Evidence:
    def __init__(self, original: Lines, snippet: Lines, syntax: Syntax | None, words: Words) -> None:
        self.original, self.snippet, self.syntax, self.words = original, snippet, syntax, words
        self._affinities: dict[tuple[int, tuple[int, int]], NDArray[numpy.float64]] = {}
        self._structures: dict[tuple[int, Candidate], float] = {}
        self._incoming: dict[tuple[int, int], Incoming] = {}
        self._declarations = Declarations(original)

    def base(self, segment: Segment, candidate: Candidate, context: Context) -> dict[str, float]:
        """Features that every candidate is judged by.

        ends: at how many ends the segment's outermost line is the original's. head, tail: what the equal lines there
        tell, least: at the end that tells less. groundless: no such line, or a blank one at one end; twice for a new
        definition. insert: there are new lines; insert_lines, delete_lines: the binary logarithms of the numbers of new
        and of deleted ones. delete_blank: blank lines go, and that is all. unchanged: the segment changes nothing;
        shown: nor need it. stray: blank lines at the edge that stand for nothing.
        """
        low, high, first, last = changed(segment, candidate)
        found = {
            "ends": context.ends,
            "head": context.head,
            "tail": context.tail,
            "least": min(context.head, context.tail),
        }
        if not context.grounded:
            found["groundless"] = 2.0 if self._is_new_definition(segment) else 1.0
        stray = candidate.skip_head + candidate.skip_tail
        if stray:
            found["stray"] = stray
        if last > first:
            found["insert"], found["insert_lines"] = 1.0, math.log2(last - first)
        if high > low:
            if self.filled_before[high] > self.filled_before[low]:
                found["delete_lines"] = math.log2(high - low)
            elif last == first:
                found["delete_blank"] = 1.0
        elif last == first:
            found["shown" if segment.may_be_unchanged else "unchanged"] = 1.0
        return found

    def _is_new_definition(self, segment: Segment) -> bool:
        """Its first line is the head of a definition that the original does not have: that has no place to be found."""
        for index in range(segment.start, segment.end):
            line = self.snippet.stripped[index]
            if line:
                return line not in self.original.positions and definition_name(line) is not None
        return False

    @cached_property
    def filled_before(self) -> list[int]:
        """For each boundary, the lines before it that are not blank."""
        return list(itertools.accumulate(map(bool, self.original.stripped), initial=0))

    def judged(self, segment: Segment, candidate: Candidate) -> float:
        """The score of the candidate's structure."""
        key = (segment.start, candidate)
        found = self._structures.get(key)
        if found is None:
            found = self._structures[key] = score(self.structure(segment, candidate))
        return found

    def structure(self, segment: Segment, candidate: Candidate) -> dict[str, float]:
        """Features that candidates are judged by where those of `base` leave doubt.

        spacing: blank lines more or less than the place had between what stays and what comes. cut: syntax nodes that
        the deleted lines cut through; cut_into: where new ones come in their place, which may mend them. unbalanced:
        the new lines open or close other brackets than the deleted ones. alike: how much deleted and new lines
        resemble each other, from half. lost, renamed, supplanted: see `_renamed`. redeclared: names that the new lines
        declare although a line that stays beside them does. shape, kept_blocks, fresh, lopsided: see `rewritten`. near,
        far: the share of the new words that stand around the place. repeated: new lines, one of a kind, that also stay
        next to the change. doubled: a new comment stands right after an old one, which it was to replace. dead: a
        statement comes right after a jump, where it never runs.
        """
        low, high, first, last = changed(segment, candidate)
        coming = self._coming(first, last)
        found = {"spacing": float(self._spacing(segment, candidate))}
        if high > low:
            cut = float(min(self._cuts(low, high, slides=first == last), 4))
            found["cut" if first == last else "cut_into"] = cut
        if coming.brackets != brackets(self.original.contents[low:high]):
            found["unbalanced"] = 1.0
        if last > first and not candidate.head and self._doubles(low, first):
            found["doubled"] = 1.0
        if self._is_dead(low, high, first, last):
            found["dead"] = 1.0
        for name, reach in _REACHES.items():
            affinity = self.affinity(segment, reach)
            found[name] = float(max(affinity[low], affinity[high]))
        if last > first:
            found["repeated"] = _repeated(coming, low, high)
            beside = (self._declarations.beside(name, indent, low, high) for name, indent in coming.declared)
            found["redeclared"] = float(min(sum(beside), 2))
            if high > low:
                alike = self.words.resemblance(coming.words, words_of(self.original.stripped[low:high]))
                found["alike"] = alike - 0.5
                found.update(self._renamed(low, high, coming, alike))
                found.update(rewritten(self.original, low, high, coming))
        return found

    def _coming(self, first: int, last: int) -> Incoming:
        found = self._incoming.get((first, last))
        if found is None:
            found = self._incoming[first, last] = Incoming(self.original, self.snippet, first, last, self._declarations)
        return found

    def _cuts(self, low: int, high: int, *, slides: bool) -> int:
        """Syntax nodes that a deletion cuts through.

        slides: nothing comes in its place, so that it is the same text when it slides over equal lines: where it cuts
        through the fewest.
        """
        syntax, old = self.syntax, self.original.contents
        if syntax is None:
            return 0
        least = syntax.cuts(low, high)
        start, end = low, high
        while slides and least and end < len(old) and old[start] == old[end]:
            start, end = start + 1, end + 1
            least = min(least, syntax.cuts(start, end))
        start, end = low, high
        while slides and least and start > 0 and old[start - 1] == old[end - 1]:
            start, end = start - 1, end - 1
            least = min(least, syntax.cuts(start, end))
        return least

    def lead_of(self, head: int) -> int:
        """Where what belongs to the definition with that head begins: its decorators, attributes, its comment."""
        return head if self.syntax is None else self.syntax.lead_of(head)

    def nearness(self, segment: Segment) -> list[float]:
        """What the affinity of each boundary of the original counts."""
        near, far = (self.affinity(segment, reach) for reach in _REACHES.values())
        found: list[float] = (WEIGHTS["near"] * near + WEIGHTS["far"] * far).tolist()
        return found

    def affinity(self, segment: Segment, reach: tuple[int, int]) -> NDArray[numpy.float64]:
        """For each boundary of the original, the share of the segment's words, by rarity, that stand around it.

        The words are those of its new lines, where it has any. More lines count before a boundary than after it: what
        is new follows what it resembles.
        """
        key = segment.start, reach
        found = self._affinities.get(key)
        if found is not None:
            return found
        before, after = reach
        size = len(self.original)
        # Words that stand everywhere tell no place, and going through all of their lines takes long.
        common = max(_COMMON, size // _COMMON)
        edges: list[int] = []
        weights: list[float] = []
        total = 0.0
        lines = self.snippet.stripped[segment.start : segment.end]
        for word in words_of(line for line in lines if line not in self.original.positions) or words_of(lines):
            where = self.words.lines(word, common)
            if not where:
                continue
            weight = self.words.rarity(word)
            total += weight
            until = -1
            for line in where:
                # Boundaries from which the line is near: after it, up to `before` lines; before it, up to `after`.
                low, high = max(line + 1 - after, until + 1, 0), min(line + before, size)
                if high >= low:
                    edges += (low, high + 1)
                    weights += (weight, -weight)
                    until = high
        steps = numpy.zeros(size + 2)
        numpy.add.at(steps, numpy.array(edges, dtype=int), weights)
        found = self._affinities[key] = numpy.cumsum(steps[: size + 1] * (1.0 / total if total else 0.0))
        return found

    def _renamed(self, low: int, high: int, coming: Incoming, alike: float) -> dict[str, float]:
        """What becomes of the definitions that begin in the lines that go.

        lost: how many go that the new lines do not name. renamed: such a one goes, and all of it resembles what comes.
        supplanted: one goes, and the new lines define something of which the original never speaks.
        """
        names = self._definitions(low, high)
        lost = [is_whole for name, is_whole in names if not mentions(coming.text, name)]
        return {
            "lost": float(min(sum(lost), 3)),
            "renamed": float(alike > _ALIKE and lost == [True] and sum(is_whole for _, is_whole in names) == 1),
            "supplanted": float(bool(lost) and coming.defines_anew),
        }

    def _definitions(self, low: int, high: int) -> list[tuple[str, bool]]:
        if self.syntax is not None:
            return self.syntax.names_from(low, high)
        names = (definition_name(line) for line in self.original.stripped[low:high])
        return [(name, True) for name in names if name is not None]

    def _doubles(self, low: int, first: int) -> bool:
        return bool(
            low
            and comment_text(self.original.stripped[low - 1]) is not None
            and comment_text(self.snippet.stripped[first]) is not None
        )

    def _is_dead(self, low: int, high: int, first: int, last: int) -> bool:
        """At a joint that the change makes, a statement follows a jump of the same indentation."""
        old, new = self.original, self.snippet
        joints = [((old, low - 1), (new, first)), ((new, last - 1), (old, high))] if last > first else []
        for (above, at), (below, to) in joints or [((old, low - 1), (old, high))]:
            if at < 0 or to >= len(below):
                continue
            jump, following = above.stripped[at], below.stripped[to]
            if not _JUMP.match(jump) or jump[-1] in ",=\\" or brackets([jump]) or not following:
                continue
            goes_on = _GOES_ON.match(following) or comment_text(following) is not None
            if not goes_on and indent_width(above.contents[at]) == indent_width(below.contents[to]):
                return True
        return False

    def _spacing(self, segment: Segment, candidate: Candidate) -> int:
        """By how many blank lines the new joints differ from what stood there, at both ends together."""
        start, end = segment.start + candidate.skip_head, segment.end - candidate.skip_tail
        stripped, old = self.snippet.stripped, self.original.stripped
        if not any(stripped[start:end]):
            return 0
        kept_before = _blanks(old, candidate.low - 1, -1)
        kept_after = _blanks(old, candidate.high, 1)
        new_before = kept_before + _blanks(stripped[start:end], 0, 1)
        new_after = kept_after + _blanks(stripped[start:end], end - start - 1, -1)
        old_before = kept_before + _blanks(old, candidate.low, 1)
        old_after = kept_after + _blanks(old, candidate.high - 1, -1)
        at_start = not candidate.low - kept_before
        at_end = candidate.high + kept_after == len(old)
        return (0 if at_start else min(abs(new_before - old_before), 2)) + (
            0 if at_end else min(abs(new_after - old_after), 2)
        )


def score(features: Mapping[str, float]) -> float:
    return sum(WEIGHTS[name] * value for name, value in features.items())


def changed(segment: Segment, candidate: Candidate) -> tuple[int, int, int, int]:
    """The original's lines [low, high) that go and the snippet's lines [first, last) that come in their place."""
    return (
        candidate.low + candidate.head,
        candidate.high - candidate.tail,
        segment.start + candidate.skip_head + candidate.head,
        segment.end - candidate.skip_tail - candidate.tail,
    )


def _blanks(lines: Sequence[str], at: int, step: int) -> int:
    """How many blank lines there are from line `at` on."""
    count = 0
    while 0 <= at < len(lines) and not lines[at]:
        count, at = count + 1, at + step
    return count


def _repeated(coming: Incoming, low: int, high: int) -> float:
    """New lines that stand in the original once, and stay: those next to the change count fully.

    A few may be said twice, in code that resembles what is there; but nothing is imported twice.
    """
    before, after = _NEIGHBOURHOOD
    count, imports = 0.0, 0
    for at, is_import in coming.known:
        if not low <= at < high:
            count += 1.0 if low - before <= at < high + after else 0.5
            imports += is_import
    return min(count, 1.5) + min(imports, 2)
