"""What drafters, engines and the loop say to one another. Token ids are int32 tensors wherever they are tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

TOKEN_DTYPE = torch.int32

# Draws one number from [0, 1).
Uniform = Callable[[], float]


def token_tensor(ids: Sequence[int]) -> Tensor:
    """[len(ids)] in TOKEN_DTYPE. Raises ValueError on a negative id."""
    if any(i < 0 for i in ids):
        raise ValueError("token ids are not negative")
    return torch.tensor(list(ids), dtype=TOKEN_DTYPE)


def check_tokens(tokens: Tensor) -> None:
    """Raises TypeError unless `tokens` is one-dimensional and of TOKEN_DTYPE."""
    if tokens.dtype != TOKEN_DTYPE or tokens.dim() != 1:
        raise TypeError(f"token ids are one-dimensional {TOKEN_DTYPE}, not {tokens.dim()}-dimensional {tokens.dtype}")


def seeded_uniform(seed: int) -> Uniform:
    """A stream of float64 uniforms from a seed; two streams of one seed are equal."""
    generator = torch.Generator().manual_seed(seed)
    return lambda: float(torch.rand((), dtype=torch.float64, generator=generator))


def draw(weights: Tensor, u: float) -> int:
    """The id at which the running sum of `weights` ([V], not all zero, any scale) passes u times their sum.

    Never an id of weight zero. Raises ValueError when all weights are zero.
    """
    total = weights.double().cumsum(0)
    if not float(total[-1]) > 0:
        raise ValueError("cannot draw: all weights are zero")
    index = int(torch.searchsorted(total, u * float(total[-1]), right=True))
    return min(index, int(weights.nonzero()[-1]))


@dataclass(frozen=True, slots=True)
class Proposal:
    """Draft tokens [m] and the distributions [m, V] they were drawn from; None: each was certain (a one-hot)."""

    tokens: Tensor
    probabilities: Tensor | None = None

    def __len__(self) -> int:
        return int(self.tokens.shape[0])


EMPTY = Proposal(torch.empty(0, dtype=TOKEN_DTYPE))


class ReferenceDrafter(Protocol):
    """One request's drafter: start with the prompt, then propose and observe in turn, then finish.

    The same verbs as drafts.core's drafters (adapter.py runs those here), but a proposal may come with distributions,
    and one is asked for before the first pass. `observe` gets the tokens that a pass emitted.
    """

    def start(self, prompt: Sequence[int]) -> None: ...

    def propose(self, limit: int) -> Proposal: ...

    def observe(self, tokens: Sequence[int]) -> None: ...

    def finish(self) -> None: ...


class Engine(Protocol):
    """A target or draft model with one sequence's cache."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def max_positions(self) -> int: ...

    @property
    def offset(self) -> int:
        """Positions in the cache: the same in every layer."""
        ...

    def forward(self, tokens: Tensor, rows: int) -> Tensor:
        """Feeds int32 `tokens` [n], n >= 1, after the cached ones; the last `rows` predictions as logits [rows, V]."""
        ...

    def rewind(self, n: int) -> None:
        """Removes the last n positions from the cache."""
        ...
