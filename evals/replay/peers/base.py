"""What the public drafters have in common: they see the prompt and the output so far, and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from drafts.core.tally import Tally
from drafts.core.types import DraftReport, DraftRequest


class PeerUnavailableError(RuntimeError):
    """A public drafter's package is missing or is another version; the message says what to install."""


class ContextDrafter(ABC):
    """A drafter over one flat context of token ids: the prompt, then the output.

    capacity: tokens that prompt and output may have together.
    """

    def __init__(self, prompt: Sequence[int], capacity: int) -> None:
        self._tokens: NDArray[np.int32] = np.zeros(capacity, dtype=np.int32)
        self._tokens[: len(prompt)] = prompt
        self._prompt_length = len(prompt)
        self._length = len(prompt)
        self._tally = Tally()

    def start(self, request: DraftRequest) -> None:
        """The request's plan is not looked at: no peer knows what one is."""
        self._length = self._prompt_length
        self._tally = Tally()

    def observe(self, tokens: Sequence[int]) -> None:
        self._tally.observed(tokens)
        end = self._length + len(tokens)
        self._tokens[self._length : end] = tokens
        self._length = end

    def propose(self, limit: int) -> list[int]:
        draft = self.search(self._tokens[: self._length], limit) if limit > 0 else []
        self._tally.proposed(draft, [])
        return draft

    def finish(self) -> DraftReport:
        return self._tally.finish()

    @abstractmethod
    def search(self, context: NDArray[np.int32], limit: int) -> list[int]:
        """At most `limit` tokens that may follow `context`."""
