"""Suffix decoding: the suffix cache of arctic-inference, driven as vLLM's `method: "suffix"` drives it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drafts.core.types import DraftReport, DraftRequest
from evals.replay.peers.base import ContextDrafter, PeerUnavailableError

# vLLM's defaults of suffix_decoding_max_tree_depth, _max_spec_factor and _min_token_prob; k is then the depth.
DEFAULT_DEPTH = 24
DEFAULT_FACTOR = 1.0
MIN_TOKEN_PROB = 0.1
_REQUEST = "replay"


@cache
def _cache_class() -> Any:
    try:
        from arctic_inference.suffix_decoding import SuffixDecodingCache
    except ImportError as error:
        raise PeerUnavailableError(
            "suffix decoding is replayed with arctic-inference, which is not installed; install redraft[suffix] (it is "
            "compiled on the way: a C++ compiler and CMake's needs must be there), or leave suffix out of --drafters"
        ) from error
    return SuffixDecodingCache


class SuffixDecoding(ContextDrafter):
    """One request on a cache of its own: no answer to an earlier edit is in it, as none is in the other drafters.

    Raises PeerUnavailableError where arctic-inference is not installed.
    """

    def __init__(
        self,
        prompt: Sequence[int],
        capacity: int,
        *,
        depth: int = DEFAULT_DEPTH,
        factor: float = DEFAULT_FACTOR,
    ) -> None:
        super().__init__(prompt, capacity)
        self._depth = depth
        self._factor = factor
        self._class = _cache_class()
        self._cache: Any = None

    def start(self, request: DraftRequest) -> None:
        super().start(request)
        self._cache = self._class(max_tree_depth=self._depth, max_cached_requests=0)
        self._cache.start_request(_REQUEST, self._tokens[: self._prompt_length])

    def observe(self, tokens: Sequence[int]) -> None:
        super().observe(tokens)
        self._cache.add_active_response(_REQUEST, list(tokens))

    def search(self, context: NDArray[np.int32], limit: int) -> list[int]:
        draft = self._cache.speculate(
            _REQUEST,
            context[-self._depth :],
            max_spec_tokens=limit,
            max_spec_factor=self._factor,
            min_token_prob=MIN_TOKEN_PROB,
        )
        return list(draft.token_ids)

    def finish(self) -> DraftReport:
        self._cache.stop_request(_REQUEST)
        return super().finish()
