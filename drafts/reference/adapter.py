"""Runs a drafter of drafts.core in the reference loop."""

from __future__ import annotations

from collections.abc import Sequence

from drafts.core.types import Drafter, DraftReport, DraftRequest
from drafts.reference.types import EMPTY, Proposal, token_tensor


class CoreDrafter:
    """The serving drafters' contract behind the reference's: drafts nothing before the first pass, then as served."""

    def __init__(self, drafter: Drafter, request: DraftRequest) -> None:
        self.drafter = drafter
        self.request = request
        self.report: DraftReport | None = None
        self._observed = False

    def start(self, prompt: Sequence[int]) -> None:
        self.drafter.start(self.request)
        self._observed = False

    def observe(self, tokens: Sequence[int]) -> None:
        if tokens:
            self.drafter.observe(tokens)
            self._observed = True

    def propose(self, limit: int) -> Proposal:
        return Proposal(token_tensor(self.drafter.propose(limit))) if self._observed else EMPTY

    def finish(self) -> None:
        self.report = self.drafter.finish()
