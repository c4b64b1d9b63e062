"""What a drafter proposed in every pass, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Sequence

from drafts.core.types import Drafter, DraftReport, DraftRequest


class Recorder:
    """A drafter around a drafter, for the replay loop.

    k: tokens that a draft may have. The inner drafter gets this limit in every pass, as in serving: a limit taken from
    the recorded output would tell it where the output ends.
    output_length: recorded tokens, so that nothing is asked for after the last one.

    proposals[i] is what pass i verified (the first, the prefill's, verifies nothing), emitted[i] how many tokens came
    out of it. step_ns: time in observe and propose, for each pass but the last. start_ns: time to start. Times are the
    wall clock's: on a busy machine their upper quantiles say little.
    """

    def __init__(self, inner: Drafter, k: int, output_length: int) -> None:
        self._inner = inner
        self._k = k
        self._left = output_length
        self._observe_ns = 0
        self.start_ns = 0
        self.step_ns: list[int] = []
        self.proposals: list[list[int]] = [[]]
        self.emitted: list[int] = []

    def start(self, request: DraftRequest) -> None:
        began = time.perf_counter_ns()
        self._inner.start(request)
        self.start_ns = time.perf_counter_ns() - began

    def observe(self, tokens: Sequence[int]) -> None:
        began = time.perf_counter_ns()
        self._inner.observe(tokens)
        self._observe_ns = time.perf_counter_ns() - began
        self.emitted.append(len(tokens))
        self._left -= len(tokens)

    def propose(self, limit: int) -> list[int]:
        if self._left <= 0:
            return []
        began = time.perf_counter_ns()
        draft = self._inner.propose(self._k)
        self.step_ns.append(self._observe_ns + time.perf_counter_ns() - began)
        self.proposals.append(draft)
        return draft

    def finish(self) -> DraftReport:
        return self._inner.finish()
