"""vLLM's own n-gram proposer: the function that its `method: "ngram"` runs for every row, imported from vLLM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.replay.peers.base import ContextDrafter, PeerUnavailableError

# vLLM never drafts past the model's length; no replayed context comes near this one.
_MAX_MODEL_LEN = 1 << 30


@cache
def _function() -> Callable[..., Any]:
    try:
        from vllm.v1.spec_decode.ngram_proposer import _find_longest_matched_ngram_and_propose_tokens as function
    except ImportError as error:
        raise PeerUnavailableError(
            "n-gram drafting is replayed with vLLM's own function, and this environment's vLLM has none of that name; "
            "install redraft[cpu] or redraft[gpu] with the vLLM that it pins, or leave ngram out of --drafters"
        ) from error
    found: Callable[..., Any] = function
    # numba compiles at the first call: not in the first step that is timed.
    found(np.zeros(4, dtype=np.int32), 2, 4, _MAX_MODEL_LEN, 1)
    return found


class VllmNgram(ContextDrafter):
    """vLLM's prompt_lookup_min and prompt_lookup_max: the n-grams' lengths, both included.

    Raises PeerUnavailableError where vLLM is not installed.
    """

    def __init__(self, prompt: Sequence[int], capacity: int, *, min_ngram: int = 2, max_ngram: int = 4) -> None:
        super().__init__(prompt, capacity)
        self._function = _function()
        self._min_ngram = min_ngram
        self._max_ngram = max_ngram

    def search(self, context: NDArray[np.int32], limit: int) -> list[int]:
        found: list[int] = self._function(context, self._min_ngram, self._max_ngram, _MAX_MODEL_LEN, limit).tolist()
        return found
