"""Repetition, presence and frequency penalties: part of the target's distribution.

Repetition: Keskar et al. 2019, "CTRL". Presence and frequency as in OpenAI's API.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Penalties:
    """repetition divides positive logits and multiplies negative ones (1: none); the others are subtracted (0: none).

    Raises ValueError when repetition is not above zero.
    """

    repetition: float = 1.0
    presence: float = 0.0
    frequency: float = 0.0

    def __post_init__(self) -> None:
        if not self.repetition > 0:
            raise ValueError("the repetition penalty must be above zero; 1 means none")

    @property
    def any(self) -> bool:
        """Whether they change anything."""
        return self != NO_PENALTIES


NO_PENALTIES = Penalties()


class Penalizer:
    """Applies penalties to the rows of one pass."""

    def rows(
        self, rows: Tensor, penalties: Penalties, prompt: Sequence[int], output: Sequence[int], draft: Sequence[int]
    ) -> Tensor:
        """Penalized copies of the logits `rows` [m + 1, V], where row i follows draft[:i] (m tokens).

        Repetition counts the prompt and the output, the other two the output alone. The output of row i holds the
        draft tokens before it: where row i counts for anything, they were kept.
        """
        if not penalties.any:
            return rows
        penalized = [self.row(row, penalties, prompt, self.history(output, draft[:i])) for i, row in enumerate(rows)]
        return torch.stack(penalized)

    def history(self, output: Sequence[int], kept: Sequence[int]) -> list[int]:
        """The output as it stands at a row: the tokens of earlier rounds and the drafts kept in this one."""
        return [*output, *kept]

    def row(self, row: Tensor, penalties: Penalties, prompt: Sequence[int], output: Sequence[int]) -> Tensor:
        """One penalized row [V]."""
        counts = torch.bincount(torch.tensor(output, dtype=torch.int32), minlength=row.shape[0]).to(row.dtype)
        seen = counts > 0
        repeated = seen.clone()
        repeated[list(prompt)] = True
        scaled = torch.where(row > 0, row / penalties.repetition, row * penalties.repetition)
        row = torch.where(repeated, scaled, row)
        return row - penalties.frequency * counts - penalties.presence * seen.to(row.dtype)
