"""A draft length that follows its success."""

from __future__ import annotations

from collections.abc import Sequence

from drafts.reference.types import EMPTY, Proposal, ReferenceDrafter


class AdaptiveLength:
    """Any drafter with a k that doubles after a full acceptance, up to `most`, and falls to what was kept otherwise.

    It never falls below 1. Raises ValueError unless 1 <= first <= most.
    """

    def __init__(self, drafter: ReferenceDrafter, first: int = 4, most: int = 64) -> None:
        if not 1 <= first <= most:
            raise ValueError(f"the first length must lie between 1 and the most, not {first} and {most}")
        self.drafter = drafter
        self.first = first
        self.most = most
        self.k = first
        self._last: list[int] = []

    def start(self, prompt: Sequence[int]) -> None:
        self.k = self.first
        self._last = []
        self.drafter.start(prompt)

    def propose(self, limit: int) -> Proposal:
        proposal = self.drafter.propose(min(limit, self.k)) if limit else EMPTY
        self._last = proposal.tokens.tolist()
        return proposal

    def observe(self, tokens: Sequence[int]) -> None:
        if self._last:
            # a pass that keeps everything emits one token more than was drafted
            if len(tokens) > len(self._last):
                self.k = min(2 * self.k, self.most)
            else:
                self.k = max(len(tokens) - 1, 1)
        self._last = []
        self.drafter.observe(tokens)

    def finish(self) -> None:
        self.drafter.finish()
