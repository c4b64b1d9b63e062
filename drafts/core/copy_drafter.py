"""The copy drafter: what it drafts is copied from the predicted text, the original, the edit or the output so far."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf
from operator import itemgetter

from drafts.core.beliefs import GUESS_MEMORY, Beliefs
from drafts.core.byte_follower import ByteFollower
from drafts.core.guesses import Beta, rounded_guess_length
from drafts.core.ngram_index import last_grams
from drafts.core.options import CopyOptions
from drafts.core.resume import Departure, Place, Resume
from drafts.core.rewrites import Rewrites
from drafts.core.source import SURE, Cursor, Source
from drafts.core.step_cost import StepCost
from drafts.core.tally import Segment, Tally, clip
from drafts.core.types import DraftReport, DraftRequest, SourceKind

_CHANCE = itemgetter(0)

# From this many agreeing tokens on, a place in the main source becomes the last known one.
KNOWN = 3

# What drafting may cost in all when nothing is ever accepted: a share of the passes made, and to begin with one widest
# draft, if it has no more tokens, or costs no more passes, than this.
_REGRET_SHARE, _REGRET_TOKENS, _REGRET_PASSES = 0.02, 512, 17.0


class CopyDrafter:
    """One request's copy drafter.

    Its main source is the predicted text, or the original where there is none. A kept cursor follows it with no
    search. After a departure, every place that the evidence speaks for is weighed at the next proposal; a guess is
    proved or disproved by the next token whether or not it was drafted, so the beliefs stay fresh at no cost while k
    is 0.

    Cost: O(1) a pass while following, a bounded search while lost. It does not grow with the context.
    """

    def __init__(self, cost: StepCost | None = None, options: CopyOptions | None = None) -> None:
        self._cost = cost if cost is not None else StepCost()
        self._options = options if options is not None else CopyOptions()
        self.start(DraftRequest())

    def start(self, request: DraftRequest) -> None:
        self._request = request
        self._output: list[int] = []
        self._tally = Tally()
        planned = bool(request.predicted) and self._options.plan
        self._beliefs = Beliefs(request.confidence, len(request.predicted), request.regions) if planned else Beliefs()
        self._spent_ns = 0
        self._end = [] if request.end_token is None else [request.end_token]
        if planned:
            self._main = Source(SourceKind.KEPT, [*request.predicted, *self._end], request.regions)
        else:
            self._main = Source(SourceKind.ORIGINAL, [*request.original, *self._end] if request.original else [])
        newlines = frozenset(request.newline_tokens)
        nodes = request.nodes if planned or not request.predicted else ()
        self._resume = Resume(self._main.tokens, nodes, newlines, request.token_bytes)
        self._others: list[Source] | None = None
        # Places that the next token will judge, each with the belief that it bears on.
        self._tried: list[tuple[Cursor, Beta]] = []
        self._proposed: int | None = None
        self._known = 0
        self._follower: ByteFollower | None = None
        self._rewrites = Rewrites(self._main.tokens)
        # Where the main source was left last, if it is not sure yet where it goes on: a place in it, and in the output.
        self._left: tuple[int, int] | None = None
        # Tokens at the draft's beginning that the cursor's source has in this order.
        self._straight = 0
        self._cursor = Cursor(self._main, 0, Place.START) if self._main.tokens else None
        if self._cursor is not None:
            self._tried = [(self._cursor, self._beliefs.guess(self._cursor))]

    def observe(self, tokens: Sequence[int]) -> None:
        if not tokens:
            raise ValueError("observe needs at least one token: a target pass always emits one")
        began = time.perf_counter_ns()
        emitted = tokens if isinstance(tokens, list) else list(tokens)
        accepted, outcomes = self._tally.observed(emitted)
        if outcomes and self._cursor is not None:
            self._beliefs.learn(outcomes, self._cursor)
        if self._tried:
            # Drafted or not, the target's next token shows whether a place was right.
            for cursor, belief in self._tried:
                hit = cursor.expected() == emitted[0]
                belief.update(hit, not hit, GUESS_MEMORY)
            self._tried = []
        self._proposed = None
        self._output.extend(emitted)
        self._advance(emitted, min(accepted, self._straight))
        self._spent_ns += time.perf_counter_ns() - began

    def propose(self, limit: int) -> list[int]:
        began = time.perf_counter_ns()
        if self._proposed is not None and limit <= self._proposed:
            # The driver has room for less than it asked for before.
            tokens = self._tally.shorten(limit)
        else:
            self._proposed = limit
            tokens, segments = self._find_draft(limit)
            self._tally.proposed(tokens, segments)
        self._spent_ns += time.perf_counter_ns() - began
        return tokens

    def finish(self) -> DraftReport:
        report = self._tally.finish()
        report.drafter_ns = self._spent_ns
        return report

    # -- following -------------------------------------------------------------------------------------------------

    def _advance(self, tokens: list[int], agreed: int = 0) -> None:
        """tokens: the output's last. agreed: how many of them the cursor is known to agree with, as they were drafted
        from there."""
        if self._rewrites.resume is not None:
            if self._rewrite(tokens):
                return
        elif self._follower is not None and self._follow_bytes(self._follower, tokens):
            return
        cursor = self._cursor
        if cursor is None:
            return
        followed = cursor.follow(tokens, agreed)
        of_main = cursor.source is self._main
        if of_main and followed:
            self._followed(cursor, len(tokens) - followed)
        if followed == len(tokens):
            return
        self._cursor = None
        if of_main:
            self._depart(cursor, tokens[followed:])

    def _followed(self, cursor: Cursor, left: int) -> None:
        """The main source was followed, but for the output's last `left` tokens."""
        if cursor.run >= KNOWN:
            self._known = cursor.position
            self._resume.left(None)
        if not cursor.sure:
            return
        self._rewrites.copied(cursor.position - cursor.run, cursor.position)
        if self._options.rewrites and self._left is not None:
            departed, written = self._left
            self._left = None
            resumed = cursor.position - cursor.run
            new = self._output[written : len(self._output) - left - cursor.run]
            self._rewrites.learn(departed, resumed, new)

    def _depart(self, cursor: Cursor, tokens: list[int]) -> None:
        """The main source was left for `tokens`, the output's last."""
        position = cursor.position
        if self._rewrites.left(position, tokens[0]) and self._rewrite(tokens):
            return
        if not cursor.sure and cursor.place is not Place.START:
            return
        self._known = position
        written = len(self._output) - len(tokens)
        self._left = position, written
        if self._options.structure:
            self._resume.left(Departure(position, written))
        if self._request.token_bytes is not None:
            self._follow_bytes(ByteFollower(self._main.tokens, position, self._request.token_bytes), tokens)

    def _rewrite(self, tokens: list[int]) -> bool:
        """Go on with the current rewrite; whether it goes on or the source goes on after it."""
        count, position = self._rewrites.follow(tokens)
        if position is None:
            return self._rewrites.resume is not None
        self._resume_at(position, tokens[count:])
        return True

    def _follow_bytes(self, follower: ByteFollower, tokens: list[int]) -> bool:
        """Go on by bytes; whether that came to a border that both sides share, from where tokens follow again."""
        self._follower = None
        for index, token in enumerate(tokens):
            if not follower.feed(token):
                return False
            if follower.at_border:
                self._resume_at(follower.position, tokens[index + 1 :])
                return True
        self._follower = follower
        return False

    def _resume_at(self, position: int, tokens: list[int]) -> None:
        """The main source goes on at `position` for sure, with `tokens` if there are more already."""
        self._known = position
        self._left = None
        self._resume.left(None)
        self._cursor = Cursor(self._main, position, Place.REALIGNED, SURE)
        if tokens:
            self._advance(tokens)

    # -- seeking ---------------------------------------------------------------------------------------------------

    def _find_draft(self, limit: int) -> tuple[list[int], list[Segment]]:
        """At most `limit` draft tokens, and where they come from. The cursor moves to where they are copied from."""
        most = self._request.max_draft_tokens
        if most <= 0:  # with k fixed to 0 there is nothing to search for
            return [], []
        limit = min(limit, most)
        if self._options.adaptive_k:
            if self._cost.price == inf:  # no draft is worth it
                return [], []
            limit = min(limit, self._affordable())
        cursor = self._cursor
        resumed = self._rewrites.resume
        if resumed is not None:
            return self._draft(Cursor(self._main, resumed, Place.REALIGNED, SURE), limit)
        if not self._output:
            return ([], []) if cursor is None else self._draft(cursor, limit)
        if not self._options.kept_cursor:
            cursor = None
        elif cursor is not None and cursor.sure:
            return self._draft(cursor, limit)
        for chance, place in self._places(cursor):
            tokens, segments = self._draft(place, limit, chance)
            if tokens:
                self._cursor = place
                return tokens, segments
        return [], []

    def _places(self, current: Cursor | None) -> list[tuple[float, Cursor]]:
        """Where to draft from, each place once, with the chance of its first token; the likeliest first, and among
        equals the most trusted. All places are judged by the next token."""
        found: list[tuple[float, Cursor]] = []
        seen: set[tuple[Source, int]] = set()
        for cursor in self._candidates(current):
            source, position = key = cursor.source, cursor.position
            if key in seen or position >= len(source.tokens):
                continue
            seen.add(key)
            if cursor.sure:
                found.append((1.0, cursor))
            else:
                belief = self._beliefs.guess(cursor)
                self._tried.append((cursor, belief))
                found.append((belief.mean, cursor))
        found.sort(key=_CHANCE, reverse=True)
        if found:
            self._cursor = found[0][1]
        return found

    def _candidates(self, current: Cursor | None) -> list[Cursor]:
        """Most trusted first."""
        main, output = self._main, self._output
        grams = last_grams(output, len(output))
        found = [] if current is None or not current.run else [current]
        if main.tokens:
            near = main.near(output, self._known)
            if near is not None:
                found.append(near)
            if near is None or near.run < SURE:
                far = main.far(output, grams, self._known)
                if far is not None:
                    found.append(far)
        found += [Cursor(main, position, place) for place, position in self._resume.places(output)]
        if self._others is None:
            self._others = self._open_others()
        for source in self._others:
            far = source.far(output, grams, 0)
            if far is not None:
                found.append(far)
        return found

    def _open_others(self) -> list[Source]:
        others = [Source(SourceKind.EDIT, list(self._request.edit))]
        kept = self._request.regions and all(region.kind is SourceKind.KEPT for region in self._request.regions)
        if self._main.kind is not SourceKind.ORIGINAL and not kept:
            others.insert(0, Source(SourceKind.ORIGINAL, [*self._request.original, *self._end]))
        return [*(source for source in others if source.tokens), Source(SourceKind.OUTPUT, self._output, grows=True)]

    # -- how much --------------------------------------------------------------------------------------------------

    def _draft(self, cursor: Cursor, limit: int, chance: float = 1.0) -> tuple[list[int], list[Segment]]:
        """chance: that the first token is accepted, for a place that is not sure."""
        source, position = cursor.source, cursor.position
        sure, most = cursor.sure, self._request.max_draft_tokens
        if not sure and self._options.adaptive_k:
            limit = min(rounded_guess_length(chance, self._cost.price, most), limit)
        segments = source.segments(position, limit)
        if not segments:
            return [], []
        if sure and self._options.adaptive_k:
            limit = self._beliefs.length(segments, cursor, self._cost, limit, most)
            if limit <= 0:
                return [], []
            segments = clip(segments, limit)
        self._straight = limit
        if sure and source is self._main and self._rewrites:
            return self._rewritten(position, limit)
        return source.tokens[position : position + limit], segments

    def _rewritten(self, position: int, limit: int) -> tuple[list[int], list[Segment]]:
        """A draft from the main source with what is foreseen to be rewritten in it, at most `limit` tokens."""
        tokens: list[int] = []
        segments: list[Segment] = []
        for piece in self._rewrites.pieces(position, limit, self._cost.price):
            if isinstance(piece, range):
                tokens += self._main.tokens[piece.start : piece.stop]
                segments += self._main.segments(piece.start, len(piece))
            else:
                self._straight = min(self._straight, len(tokens))
                tokens += piece
                segments.append(Segment(-1, SourceKind.OUTPUT, len(piece)))
        return tokens[:limit], clip(segments, limit)

    def _affordable(self) -> int:
        """The draft length that keeps the whole cost of drafting bounded, whatever the target does.

        In units of one pass: a rejected token costs g, an accepted one saves a pass. The balance starts at about one
        widest draft and grows by a few per cent of every pass, so even a caller who sends rubbish stays near plain
        decoding.
        """
        report = self._tally.report
        ratio = self._cost.marginal
        start = min(ratio * self._request.max_draft_tokens, max(ratio * _REGRET_TOKENS, _REGRET_PASSES)) + 1.0
        balance = start + _REGRET_SHARE * report.target_passes + report.accepted - ratio * report.rejected
        return int(balance / ratio) if balance > 0 else 0
