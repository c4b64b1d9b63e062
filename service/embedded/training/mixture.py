"""Where training's edits come from: real ones and synthetic ones, mixed by a share."""

from __future__ import annotations

import random
from typing import Protocol

from service.embedded.training.rendering import RenderedEdit


class Sampler(Protocol):
    def draw(self, min_lines: int, max_lines: int) -> RenderedEdit: ...


class Mixture:
    """Draws from `chosen` with the probability `share`, else from `other`."""

    def __init__(self, chosen: Sampler, share: float, other: Sampler, seed: int) -> None:
        """Raises ValueError for a share outside 0 to 1."""
        if not 0 <= share <= 1:
            raise ValueError(f"a share is between 0 and 1, got {share}")
        self._chosen, self._share, self._other = chosen, share, other
        self._random = random.Random(seed)

    def draw(self, min_lines: int, max_lines: int) -> RenderedEdit:
        sampler = self._chosen if self._random.random() < self._share else self._other
        return sampler.draw(min_lines, max_lines)
