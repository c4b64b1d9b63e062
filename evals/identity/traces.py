"""What one decoding gave, token for token and pass for pass, and where two of them part. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

END = None
"""The place after the last token: the token there is the end."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One request's output.

    tokens: without the one that ended it. status: "OK", or the reason why the service made no result of them; the
    tokens before are compared all the same.
    emitted: how many tokens came at a time, the ending one included: one number a target pass, unless the reader fell
    behind and passes came together.
    drafts: (draft tokens, accepted) of each target pass that verified a draft, in order.
    whole: False when the service broke it off before the model had ended: then how much came is chance.
    """

    tokens: tuple[int, ...]
    status: str = "OK"
    emitted: tuple[int, ...] = ()
    drafts: tuple[tuple[int, int], ...] = ()
    whole: bool = True

    def pass_width(self, position: int) -> int | None:
        """The width of the target pass that gave the token at a position (the end included): that token, or its draft
        tokens and the one after them. None where passes cannot be told apart."""
        widths = _widths(self.emitted, self.drafts)
        end = 0
        for count, width in zip(self.emitted, widths, strict=True):
            end += count
            if position < end:
                return width
        return None


def _widths(emitted: Sequence[int], drafts: Sequence[tuple[int, int]]) -> list[int | None]:
    """The width of each pass, the first of which is the prefill and has no draft.

    A pass that emits n > 1 tokens verified the next draft of which n - 1 were accepted. One that emits one token
    verified a draft and rejected all of it, or had none: in a run of such passes these are told apart only when all
    of them had drafts or none. Nothing is known when the counts do not add up: then passes came together.
    """
    unknown: list[int | None] = [None] * len(emitted)
    taken = [accepted for _, accepted in drafts]
    excess = sum(taken) - (sum(emitted) - len(emitted))
    if excess > 0:  # the last pass accepted tokens past the end of the output
        taken[-1] -= excess
    if excess < 0 or any(accepted < 0 for accepted in taken):
        return unknown
    widths: list[int | None] = []
    widths += [1][: len(emitted)]
    pending = [(1 + drafted, accepted) for (drafted, _), accepted in zip(drafts, taken, strict=True)]
    for ones, group in groupby(emitted[1:], lambda count: count == 1):
        counts = list(group)
        if ones:
            rejected = list(takewhile(lambda draft: draft[1] == 0, pending))
            pending = pending[len(rejected) :]
            settled = len(rejected) in (0, len(counts))
            widths += ([width for width, _ in rejected] or [1] * len(counts)) if settled else [None] * len(counts)
            continue
        for count in counts:
            if not pending or pending[0][1] != count - 1:
                return unknown
            widths.append(pending.pop(0)[0])
    return unknown if pending else widths


def first_difference(one: Trace, other: Trace) -> int | None:
    """The first position where the tokens differ, or where one of them ends; None when the outputs are the same.

    Of an output that was broken off, only what came of it is compared, and why.
    """
    for position, (a, b) in enumerate(zip(one.tokens, other.tokens, strict=False)):
        if a != b:
            return position
    whole = one.whole and other.whole
    if (whole and len(one.tokens) != len(other.tokens)) or one.status != other.status:
        return min(len(one.tokens), len(other.tokens))
    return None


def token_at(trace: Trace, position: int) -> int | None:
    """The token's id, or END."""
    return trace.tokens[position] if position < len(trace.tokens) else END
