"""An engine whose model is a plain function of the context: no weights, exact, and as strict as a real one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from drafts.reference.tree import ROOT, Tree
from drafts.reference.types import check_tokens


class FunctionEngine:
    """next_logits: from the cached tokens (at least one) to the logits [vocab_size] of the token that follows.

    The cache is the list of tokens fed, so predictions are wrong as soon as it is. `passes` counts calls of forward.
    """

    def __init__(
        self, next_logits: Callable[[tuple[int, ...]], Tensor], vocab_size: int, max_positions: int = 4096
    ) -> None:
        self.next_logits = next_logits
        self.vocab_size = vocab_size
        self.max_positions = max_positions
        self.cached: list[int] = []
        self.passes = 0

    @classmethod
    def reciting(cls, text: Sequence[int], vocab_size: int, max_positions: int = 4096) -> FunctionEngine:
        """After any first n tokens, prefers the n-th of `text`; after its end its last. Logits 8 and 0."""

        def next_logits(context: tuple[int, ...]) -> Tensor:
            row = torch.zeros(vocab_size)
            row[text[min(len(context), len(text) - 1)]] = 8.0
            return row

        return cls(next_logits, vocab_size, max_positions)

    @property
    def offset(self) -> int:
        """Tokens in the cache."""
        return len(self.cached)

    def rewind(self, n: int) -> None:
        """Forgets the last n tokens. Raises ValueError unless 0 <= n <= offset."""
        if not 0 <= n <= self.offset:
            raise ValueError(f"cannot remove {n} positions of {self.offset}")
        del self.cached[self.offset - n :]

    def keep(self, start: int, kept: Sequence[int]) -> None:
        """Of the cached tokens from `start` on, keeps start + kept[i] in order."""
        self.cached[start:] = [self.cached[start + i] for i in kept]

    def forward(self, tokens: Tensor, rows: int) -> Tensor:
        """Feeds int32 `tokens` [n]; the last `rows` predictions as logits [rows, V]. Errors as in TorchEngine."""
        check_tokens(tokens)
        if not 1 <= rows <= len(tokens):
            raise ValueError(f"{rows} rows of predictions need as many tokens fed, not {len(tokens)}")
        if self.offset + len(tokens) > self.max_positions:
            raise ValueError(f"{self.offset + len(tokens)} positions are more than the model's {self.max_positions}")
        self.passes += 1
        self.cached.extend(tokens.tolist())
        ends = range(self.offset - rows + 1, self.offset + 1)
        return torch.stack([self.next_logits(tuple(self.cached[:end])) for end in ends])

    def forward_tree(self, pending: Tensor, tree: Tree) -> Tensor:
        """Feeds `pending` [n], then the tree's N nodes, each after its ancestors only: logits [N + 1, V]."""
        rows = [self.forward(pending, 1)[0]]
        paths: dict[int, tuple[int, ...]] = {ROOT: tuple(self.cached)}
        for i, (token, parent) in enumerate(zip(tree.tokens.tolist(), tree.parents, strict=True)):
            paths[i] = (*paths[parent], token)
            rows.append(self.next_logits(paths[i]))
        self.cached.extend(tree.tokens.tolist())
        return torch.stack(rows)
