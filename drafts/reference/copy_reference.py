"""Copying from a text that the output is expected to repeat. Yang et al. 2023, "Inference with Reference"."""

from __future__ import annotations

from collections.abc import Sequence

from drafts.reference.types import EMPTY, Proposal, token_tensor


class CopyReference:
    """Proposes what follows the last n output tokens in `reference`, its start while fewer than n are out.

    Of several occurrences the first one that ends after the place copied last is taken, else the last one before it.
    Costs a scan of the reference for each proposal. Raises ValueError when n < 1.
    """

    def __init__(self, reference: Sequence[int], n: int = 1) -> None:
        if n < 1:
            raise ValueError(f"matches have at least 1 token, not {n}")
        self.reference = list(reference)
        self.n = n
        self.output: list[int] = []
        self.cursor = 0

    def start(self, prompt: Sequence[int]) -> None:
        self.output = []
        self.cursor = 0

    def observe(self, tokens: Sequence[int]) -> None:
        self.output.extend(tokens)

    def finish(self) -> None:
        self.output = []

    def propose(self, limit: int) -> Proposal:
        if limit == 0:
            return EMPTY
        if len(self.output) < self.n:
            return Proposal(token_tensor(self.reference[:limit]))
        ends = [at for at in range(self.n, len(self.reference) + 1) if self._matches(at)]
        if not ends:
            return EMPTY
        self.cursor = next((end for end in ends if end > self.cursor), ends[-1])
        return Proposal(token_tensor(self.reference[self.cursor : self.cursor + limit]))

    def _matches(self, end: int) -> bool:
        return self.reference[end - self.n : end] == self.output[-self.n :]
