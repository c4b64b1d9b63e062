"""What target passes are spent on: for every pass, why it emitted no more than it did.

The recorded output and the plan's predicted text are aligned by lines, then by the common ends of what differs, in
bytes. So it is known for every token whether the target went on with the prediction there, whatever the drafter knew.
"""

from __future__ import annotations

import difflib
import enum
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from evals.replay.case import ReplayCase
from evals.replay.recorder import Recorder
from service.prompts.tokenization import TextTokenizer


class Cause(enum.Enum):
    """Why a pass ended where it did.

    PREFILL: the first pass verifies nothing. LAST: the output was complete. K_MAX: the draft was as long as allowed,
    and right to its end. SHORT: right to its end, and shorter than allowed. NOT_PREDICTED: the target wrote what the
    plan does not say. In all that follow the target went on with the predicted text: TOKENIZATION: the draft had the
    same bytes, cut otherwise. WRONG_PLACE: the draft was copied from elsewhere. LOST: nothing was drafted.
    """

    PREFILL = "prefill"
    LAST = "last"
    K_MAX = "k_max"
    SHORT = "short"
    NOT_PREDICTED = "not_predicted"
    TOKENIZATION = "tokenization"
    WRONG_PLACE = "wrong_place"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Followed:
    """starts, ends: bytes of the output that go on with the predicted text, as half-open ranges, in order."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def holds(self, start: int, end: int) -> bool:
        """Whether bytes [start, end) and the byte before them are in one of the ranges.

        So the first token after an edit does not count: nothing told the drafter that the prediction is on again.
        """
        index = bisect_right(self.starts, max(start - 1, 0)) - 1
        return index >= 0 and end <= self.ends[index]


def followed(output: bytes, predicted: bytes) -> Followed:
    """Where the output goes on with the prediction."""
    if output == predicted:
        return Followed((0,), (len(output),))
    new, old = output.splitlines(keepends=True), predicted.splitlines(keepends=True)
    starts: list[int] = []
    ends: list[int] = []
    predicted_end = -1

    def add(start: int, end: int, place: int) -> None:
        """Output bytes [start, end) are the predicted text's from `place` on."""
        nonlocal predicted_end
        if end == start:
            return
        if ends and ends[-1] == start and predicted_end == place:
            ends[-1] = end
        else:
            starts.append(start)
            ends.append(end)
        predicted_end = place + end - start

    at, place = _offsets(new), _offsets(old)
    for tag, old_low, old_high, low, high in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        start, end = at[low], at[high]
        if tag == "equal":
            add(start, end, place[old_low])
        elif tag == "replace":
            ours, theirs = output[start:end], predicted[place[old_low] : place[old_high]]
            prefix = _common_prefix(ours, theirs)
            suffix = _common_prefix(ours[prefix:][::-1], theirs[prefix:][::-1])
            add(start, start + prefix, place[old_low])
            add(end - suffix, end, place[old_high] - suffix)
    return Followed(tuple(starts), tuple(ends))


class CauseFinder:
    """Classifies the passes of any drafter on one case."""

    def __init__(self, case: ReplayCase, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._output = case.output
        text = case.output[:-1]
        self._ends = [0, *tokenizer.byte_ends(text)]
        pieces = b"".join(map(tokenizer.token_bytes, text))
        self._followed = followed(pieces, case.plan.predicted.encode())

    def count(self, recorder: Recorder, k: int) -> Counter[Cause]:
        """Passes by cause; they sum to the passes made."""
        return Counter(self.causes(recorder, k))

    def causes(self, recorder: Recorder, k: int) -> list[Cause]:
        """The cause of each pass, in order."""
        found: list[Cause] = []
        at = 0
        for proposal, emitted in zip(recorder.proposals, recorder.emitted, strict=True):
            found.append(self._cause(proposal, at, emitted, k))
            at += emitted
        return found

    def _cause(self, proposal: Sequence[int], at: int, emitted: int, k: int) -> Cause:
        own = at + emitted - 1  # the target's own token
        if at == 0:
            return Cause.PREFILL
        if at + emitted == len(self._output):
            return Cause.LAST
        accepted = emitted - 1
        if proposal and accepted == len(proposal):
            return Cause.K_MAX if len(proposal) == k else Cause.SHORT
        if not self._followed.holds(self._ends[own], self._ends[own + 1]):
            return Cause.NOT_PREDICTED
        if not proposal:
            return Cause.LOST
        drafted = self._tokenizer.token_bytes(proposal[accepted])
        written = self._tokenizer.token_bytes(self._output[own])
        if drafted and (drafted.startswith(written) or written.startswith(drafted)):
            return Cause.TOKENIZATION
        return Cause.WRONG_PLACE


def _offsets(lines: Sequence[bytes]) -> list[int]:
    return [0, *accumulate(map(len, lines))]


def _common_prefix(left: bytes, right: bytes) -> int:
    limit = min(len(left), len(right))
    count = 0
    while count < limit and left[count] == right[count]:
        count += 1
    return count
