"""The copy drafter: what it drafts is copied from the predicted text, the original, the edit or the output so far."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from drafts.core.adaptive import Beta, StepCost, draft_length
from drafts.core.cursor import MAX_MATCH, Cursor, Source
from drafts.core.options import CopyOptions
from drafts.core.tally import Outcome, Segment, Tally
from drafts.core.types import DraftReport, DraftRequest, SourceKind

# A cursor that agrees with this many tokens is sure of its place: only then does a departure from it say where the
# plan was left, and only then is nothing better looked for.
SURE = 8
# From this many agreeing tokens on, a place in the plan becomes the last known one.
KNOWN = 3

# Beliefs before anything is seen. A token after an accepted one, by kind of source:
_TOKEN_PRIOR = {
    SourceKind.KEPT: (80.0, 0.4),
    SourceKind.EDITED: (30.0, 1.0),
    SourceKind.ORIGINAL: (60.0, 0.6),
    SourceKind.EDIT: (30.0, 1.0),
    SourceKind.OUTPUT: (4.0, 1.0),
}
_TOKEN_MEMORY = 600.0
# How much of a region's outcomes goes into the belief about its kind, which is the prior of the regions to come.
_SHARED = 0.5
# The first token after the place was chosen, by the rule that chose it:
_GUESS_PRIOR = {
    "start": (8.0, 1.0),
    "ngram_1": (1.0, 1.5),
    "ngram_2": (1.5, 1.0),
    "ngram_3": (3.0, 1.0),
    "ngram_5": (6.0, 1.0),
    "ngram_8": (12.0, 1.0),
    "substitution": (0.8, 1.2),
    "next_line": (1.0, 1.0),
    "same_line": (1.0, 1.0),
}
_GUESS_MEMORY = 24.0

# What drafting may cost in all when nothing is ever accepted: a share of the passes made, and a start.
_REGRET_SHARE = 0.03


@dataclass(slots=True)
class _Departure:
    """Where the output left the plan: predicted[position] was not what came."""

    position: int
    output_length: int
    line_start: bool


class CopyDrafter:
    """One request's copy drafter.

    A kept cursor follows the source with no search. After a departure, every place that the evidence speaks for is
    tried at the next proposal; a guess is proved or disproved by the next token whether or not it was drafted, so the
    beliefs stay fresh at no cost while k is 0.

    Cost: O(1) a token while following, a bounded search while lost. It does not grow with the context.
    """

    def __init__(self, cost: StepCost | None = None, options: CopyOptions | None = None) -> None:
        self._cost = cost if cost is not None else StepCost()
        self._options = options if options is not None else CopyOptions()
        self.start(DraftRequest())

    def start(self, request: DraftRequest) -> None:
        self._request = request
        self._output: list[int] = []
        self._tally = Tally()
        self._spent_ns = 0
        self._newlines = frozenset(request.newline_tokens)
        end = [] if request.end_token is None else [request.end_token]
        regions = tuple(request.regions)
        planned = bool(request.predicted) and self._options.plan
        self._plan = Source(SourceKind.KEPT, [*request.predicted, *end] if planned else [], regions)
        self._others = [
            Source(SourceKind.ORIGINAL, [*request.original, *end] if request.original else []),
            Source(SourceKind.EDIT, list(request.edit)),
            Source(SourceKind.OUTPUT, self._output, grows=True),
        ]
        self._kinds = {kind: Beta(*prior) for kind, prior in _TOKEN_PRIOR.items()}
        self._regions: dict[int, Beta] = {}
        self._guesses = {name: Beta(*prior) for name, prior in _GUESS_PRIOR.items()}
        self._tried: list[Cursor] = []
        self._guessed = False
        self._known = 0
        self._departure: _Departure | None = None
        first = self._plan if self._plan.tokens else self._others[0]
        self._cursor: Cursor | None = Cursor(first, 0, 0, "start") if first.tokens else None
        if self._cursor is not None:
            self._tried = [self._cursor]

    def observe(self, tokens: Sequence[int]) -> None:
        if not tokens:
            raise ValueError("observe needs at least one token: a target pass always emits one")
        began = time.perf_counter_ns()
        outcomes = self._tally.observed(tokens)
        if self._guessed and outcomes and outcomes[0].accepted == 0:
            outcomes = []  # the place was wrong: that says nothing about the tokens of a right one
        for outcome in outcomes:
            self._learn(outcome)
        for cursor in self._tried:
            if cursor.guess is not None:
                hit = cursor.remaining() > 0 and cursor.source.tokens[cursor.position] == tokens[0]
                self._guesses[cursor.guess].update(float(hit), float(not hit), _GUESS_MEMORY)
        self._tried = []
        self._advance(tokens)
        self._output.extend(tokens)
        self._spent_ns += time.perf_counter_ns() - began

    def propose(self, limit: int) -> list[int]:
        began = time.perf_counter_ns()
        limit = min(limit, self._request.max_draft_tokens)
        tokens: list[int] = []
        segments: list[Segment] = []
        self._guessed = False
        # With k fixed to 0 there is nothing to search for.
        if self._request.max_draft_tokens > 0:
            if not self._options.kept_cursor and self._output:
                self._cursor = None
            if self._output and (self._cursor is None or self._cursor.run < SURE):
                self._seek()
            if self._cursor is not None and limit > 0:
                self._guessed = self._cursor.guess is not None
                tokens, segments = self._draft(
                    self._cursor, min(limit, self._affordable()) if self._options.adaptive_k else limit
                )
        self._tally.proposed(tokens, segments)
        self._spent_ns += time.perf_counter_ns() - began
        return tokens

    def finish(self) -> DraftReport:
        report = self._tally.finish()
        report.drafter_ns = self._spent_ns
        return report

    # -- following -------------------------------------------------------------------------------------------------

    def _advance(self, tokens: Sequence[int]) -> None:
        cursor = self._cursor
        if cursor is None:
            return
        sure = cursor.run >= SURE or (cursor.source is self._plan and cursor.guess == "start")
        followed = cursor.follow(tokens)
        if followed:
            cursor.guess = None
        if cursor.source is self._plan and cursor.run >= KNOWN:
            self._known = cursor.position
        if followed == len(tokens):
            return
        if cursor.source is self._plan and (sure or cursor.run >= SURE):
            position = cursor.position
            before = self._plan.tokens[position - 1] if position else None
            line_start = before is None or before in self._newlines
            self._departure = _Departure(position, len(self._output) + followed, line_start)
            self._known = position
        self._cursor = None

    # -- seeking ---------------------------------------------------------------------------------------------------

    def _seek(self) -> None:
        """Choose the place with the best chance; all places considered are judged by the next token."""
        candidates = list(self._candidates())
        if not candidates:
            return
        best = max(candidates, key=self._first_chance)
        self._cursor = best
        self._tried = candidates

    def _candidates(self) -> Iterator[Cursor]:
        """Most trusted first: among equal chances the first one wins."""
        current = self._cursor
        if current is not None and current.remaining() > 0:
            current.guess = _ngram_guess(current.run) if current.run else "start"
            yield current
        for source in (self._plan, *self._others):
            if not source.tokens:
                continue
            near = self._known if source is self._plan else 0
            match = source.search(self._output, near)
            if match is None or match.position >= len(source.tokens):
                continue
            if current is not None and (source is current.source and match.position == current.position):
                continue
            if source is self._plan or match.length >= KNOWN:
                yield Cursor(source, match.position, match.length, _ngram_guess(match.length))
        if self._options.structure:
            yield from self._resume_guesses()

    def _resume_guesses(self) -> Iterator[Cursor]:
        """Where an edit may be over: right after the replaced token, at the next line, or at the line that was left."""
        departure = self._departure
        if departure is None or self._known != departure.position:
            return
        position = departure.position
        plan = self._plan.tokens
        if len(self._output) == departure.output_length + 1 and position + 1 < len(plan):
            yield Cursor(self._plan, position + 1, 0, "substitution")
        if self._output[-1] in self._newlines:
            if departure.line_start and position < len(plan):
                yield Cursor(self._plan, position, 0, "same_line")
            for end in range(position, min(position + 256, len(plan) - 1)):
                if plan[end] in self._newlines:
                    yield Cursor(self._plan, end + 1, 0, "next_line")
                    break

    # -- how much --------------------------------------------------------------------------------------------------

    def _first_chance(self, cursor: Cursor) -> float:
        return 1.0 if cursor.guess is None else self._guesses[cursor.guess].mean

    def _draft(self, cursor: Cursor, limit: int) -> tuple[list[int], list[Segment]]:
        runs = list(_clip(cursor.source.segments(cursor.position), limit))
        first = self._first_chance(cursor)
        length = limit
        if self._options.adaptive_k:
            length = draft_length(self._chances(runs, first), self._cost.marginal, limit)
        segments = list(_clip(runs, length))
        return cursor.source.tokens[cursor.position : cursor.position + length], segments

    def _chances(self, runs: list[Segment], first: float) -> Iterator[float]:
        """For every draft token the chance that it is accepted, given that those before it were.

        Within a region this is the Beta posterior's own prediction: each acceptance makes the next likelier.
        """
        for run in runs:
            kind = self._kinds[run.kind]
            own = self._regions.get(run.region)
            accepted = kind.accepted + (own.accepted if own else 0.0)
            total = accepted + kind.rejected + (own.rejected if own else 0.0)
            for _ in itertools.repeat(None, run.count):
                yield first * accepted / total
                first = 1.0
                accepted += 1.0
                total += 1.0

    def _affordable(self) -> int:
        """The draft length that keeps the whole cost of drafting bounded, whatever the target does.

        In units of one pass: a rejected token costs g, an accepted one saves a pass. The balance starts at one widest
        draft and grows by a few per cent of every pass, so even a caller who sends rubbish stays near plain decoding.
        """
        report = self._tally.report
        ratio = self._cost.marginal
        start = ratio * self._request.max_draft_tokens + 1.0
        balance = start + _REGRET_SHARE * report.target_passes + report.accepted - ratio * report.rejected
        return max(int(balance / ratio), 0)

    def _learn(self, outcome: Outcome) -> None:
        segment = outcome.segment
        accepted, rejected = float(outcome.accepted), float(outcome.failed)
        self._kinds[segment.kind].update(_SHARED * accepted, _SHARED * rejected, _TOKEN_MEMORY)
        if segment.region >= 0:
            own = self._regions.setdefault(segment.region, Beta(0.0, 0.0))
            own.update(accepted, rejected, _TOKEN_MEMORY)


def _clip(runs: Iterator[Segment] | list[Segment], limit: int) -> Iterator[Segment]:
    for run in runs:
        if limit <= 0:
            return
        count = min(run.count, limit)
        yield Segment(run.region, run.kind, count)
        limit -= count


def _ngram_guess(length: int) -> str:
    for size in (8, 5, 3, 2):
        if min(length, MAX_MATCH) >= size:
            return f"ngram_{size}"
    return "ngram_1"
