"""Prompt lookup decoding as transformers ships it (`prompt_lookup_num_tokens` of its `generate`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evals.replay.peers.base import ContextDrafter


class PromptLookup(ContextDrafter):
    """max_ngram, k: `max_matching_ngram_size` and `prompt_lookup_num_tokens`."""

    def __init__(self, prompt: Sequence[int], capacity: int, *, max_ngram: int, k: int) -> None:
        super().__init__(prompt, capacity)
        # Both take seconds to import: not for a run without this peer, nor for --help.
        from torch import from_numpy
        from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

        self._tensor = from_numpy
        # max_length is what prompt and output may have together; it cuts candidates, and must not.
        self._generator = PromptLookupCandidateGenerator(
            num_output_tokens=k, max_matching_ngram_size=max_ngram, max_length=1 << 30
        )

    def search(self, context: NDArray[np.int32], limit: int) -> list[int]:
        ids = self._tensor(context).unsqueeze(0)
        # transformers types its tensors as LongTensor, and compares and cuts them whatever their integer type.
        candidates, _ = self._generator.get_candidates(ids)  # type: ignore[arg-type]
        found: list[int] = candidates[0, len(context) :].tolist()
        return found[:limit]
