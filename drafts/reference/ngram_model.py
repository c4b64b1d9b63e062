"""A back-off n-gram model as a drafter (Brown et al. 1992, Katz 1987 for the terms)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

from drafts.reference.types import EMPTY, Proposal, Uniform, draw, token_tensor
from drafts.reference.verify import greedy_token


class NgramModel:
    """Counts of what follows each run of up to order - 1 tokens.

    Raises ValueError when order or vocab_size is below 1, or a token lies outside of the vocabulary.
    """

    def __init__(self, order: int, vocab_size: int) -> None:
        if order < 1 or vocab_size < 1:
            raise ValueError(f"order and vocab_size must be at least 1, not {order} and {vocab_size}")
        self.order = order
        self.vocab_size = vocab_size
        self._counts: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)

    def fit(self, tokens: Sequence[int], start: int = 0) -> None:
        """Counts tokens[start:], each after the tokens before it."""
        if any(not 0 <= token < self.vocab_size for token in tokens[start:]):
            raise ValueError(f"a token lies outside of the vocabulary of {self.vocab_size}")
        for i in range(start, len(tokens)):
            for n in range(min(self.order - 1, i) + 1):
                self._counts[tuple(tokens[i - n : i])][tokens[i]] += 1

    def distribution(self, context: Sequence[int]) -> Tensor:
        """Relative frequencies after the longest known suffix of `context`: float64 [V]; uniform without any."""
        for n in range(min(self.order - 1, len(context)), -1, -1):
            counts = self._counts.get(tuple(context[len(context) - n :]))
            if counts:
                row = torch.zeros(self.vocab_size, dtype=torch.float64)
                row[list(counts)] = torch.tensor(list(counts.values()), dtype=torch.float64)
                return row / row.sum()
        return torch.full((self.vocab_size,), 1 / self.vocab_size, dtype=torch.float64)


class NgramDrafter:
    """Drafts from an n-gram model, which also learns the prompt and the output as they come.

    Greedy without `uniform`: the chain of the model's argmax, certain. With it each token is drawn from the model's
    distribution, and the proposal carries the distributions [m, V]. Costs m look-ups of a row of V.
    """

    def __init__(self, model: NgramModel, uniform: Uniform | None = None) -> None:
        self.model = model
        self.uniform = uniform
        self.context: list[int] = []

    def start(self, prompt: Sequence[int]) -> None:
        self.context = list(prompt)
        self.model.fit(self.context)

    def observe(self, tokens: Sequence[int]) -> None:
        known = len(self.context)
        self.context.extend(tokens)
        self.model.fit(self.context, known)

    def finish(self) -> None:
        self.context = []

    def propose(self, limit: int) -> Proposal:
        if limit == 0:
            return EMPTY
        chain: list[int] = []
        rows: list[Tensor] = []
        while len(chain) < limit:
            row = self.model.distribution([*self.context, *chain])
            chain.append(greedy_token(row) if self.uniform is None else draw(row, self.uniform()))
            rows.append(row)
        return Proposal(token_tensor(chain), None if self.uniform is None else torch.stack(rows))
