"""Prompt lookup: what followed the last tokens when they occurred before. Saxena 2023, "Prompt Lookup Decoding"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drafts.reference.types import EMPTY, Proposal, token_tensor


class PromptLookup:
    """Searches prompt and output for the longest n-gram of up to `max_ngram` tokens that ends them.

    The longest n-gram comes first, then its most recent occurrence; at most k tokens are proposed. Costs a scan of
    the context for each proposal. Raises ValueError when max_ngram < 1.
    """

    def __init__(self, max_ngram: int = 3) -> None:
        if max_ngram < 1:
            raise ValueError(f"n-grams have at least 1 token, not {max_ngram}")
        self.max_ngram = max_ngram
        self.context: list[int] = []

    def start(self, prompt: Sequence[int]) -> None:
        self.context = list(prompt)

    def observe(self, tokens: Sequence[int]) -> None:
        self.context.extend(tokens)

    def finish(self) -> None:
        self.context = []

    def propose(self, limit: int) -> Proposal:
        if limit == 0:
            return EMPTY
        for n in self.lengths():
            ngram = self.context[-n:]
            for at in self.places(len(self.context) - n):
                if self.context[at : at + n] == ngram:
                    return Proposal(token_tensor(self.take(at + n, limit)))
        return EMPTY

    def lengths(self) -> Iterable[int]:
        """n-gram lengths to try, best first; one token of the context must come before the n-gram."""
        return range(min(self.max_ngram, len(self.context) - 1), 0, -1)

    def places(self, end: int) -> Iterable[int]:
        """Places before `end` to compare, best first."""
        return range(end - 1, -1, -1)

    def take(self, start: int, limit: int) -> list[int]:
        return self.context[start : start + limit]
