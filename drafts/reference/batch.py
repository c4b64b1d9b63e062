"""Several sequences in one target pass, each accepting what it can: ragged acceptance without padding.

All sequences' tokens lie in one row. A mask lets each see its own cache and its own new tokens only (Yu et al. 2022,
"Orca", for batches that change from pass to pass).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel
from transformers.cache_utils import CacheLayerMixin

from drafts.reference.cache import KVCache
from drafts.reference.loop import Output, SpeculativeLoop
from drafts.reference.types import check_tokens


class Slot:
    """One sequence of a batch, as its loop sees it: an engine whose passes the batch makes."""

    def __init__(self, model: PreTrainedModel, cache: KVCache) -> None:
        self.cache = cache
        self.vocab_size = int(model.config.vocab_size)
        self.max_positions = int(model.config.max_position_embeddings)

    @property
    def offset(self) -> int:
        """Positions in the sequence's cache."""
        return self.cache.offset

    def rewind(self, n: int) -> None:
        """Removes the last n positions from the sequence's cache."""
        self.cache.rewind(n)

    def forward(self, tokens: Tensor, rows: int) -> Tensor:
        """Raises RuntimeError: a slot makes no pass of its own."""
        raise RuntimeError("a batch makes the passes of its slots: use decode_batch")


def forward_batch(model: PreTrainedModel, caches: Sequence[KVCache], tokens: Sequence[Tensor]) -> list[Tensor]:
    """One pass: int32 tokens[i] [n_i] after what caches[i] holds; float32 logits [n_i, V] for each sequence."""
    for part in tokens:
        check_tokens(part)
    counts = [len(part) for part in tokens]
    positions = torch.cat([cache.offset + torch.arange(n) for cache, n in zip(caches, counts, strict=True)])
    blocks = [
        torch.cat([torch.ones((n, cache.offset)), torch.ones((n, n)).tril()], dim=1)
        for cache, n in zip(caches, counts, strict=True)
    ]
    seen = torch.block_diag(*blocks).bool()
    mask = torch.zeros(seen.shape, dtype=model.dtype).masked_fill(~seen, torch.finfo(model.dtype).min)
    with torch.inference_mode():
        output = model(
            input_ids=torch.cat(list(tokens))[None].to(model.device),
            position_ids=positions[None].to(model.device),
            attention_mask=mask[None, None].to(model.device),
            past_key_values=Cache(layers=[_Packed(caches, counts, i) for i in range(model.config.num_hidden_layers)]),
            use_cache=True,
        )
    return list(output.logits[0].float().cpu().split(counts))


def decode_batch(
    model: PreTrainedModel,
    make_cache: Callable[[], KVCache],
    make_loop: Callable[[int, Slot], SpeculativeLoop],
    prompts: Sequence[Sequence[int]],
) -> tuple[list[Output], int]:
    """Decodes all prompts together; the outputs, and the passes that the model made for all of them.

    make_loop: prompt's index and its slot -> its loop, so that drafters, parameters and stops may differ. A sequence
    that ends leaves the batch. Errors as in SpeculativeLoop.run.
    """
    slots = [Slot(model, make_cache()) for _ in prompts]
    running = {i: make_loop(i, slots[i]).steps(prompt) for i, prompt in enumerate(prompts)}
    steps = {i: next(generator) for i, generator in running.items()}
    outputs: dict[int, Output] = {}
    passes = 0
    while steps:
        order = list(steps)
        passes += 1
        logits = forward_batch(model, [slots[i].cache for i in order], [steps[i][0] for i in order])
        for i, rows in zip(order, logits, strict=True):
            try:
                steps[i] = running[i].send(rows[-steps[i][1] :])
            except StopIteration as end:
                outputs[i] = end.value
                del steps[i]
                slots[i].rewind(slots[i].offset)
    return [outputs[i] for i in range(len(prompts))], passes


class _Packed(CacheLayerMixin):
    """One layer of all caches, side by side, as transformers wants to see it."""

    def __init__(self, caches: Sequence[KVCache], counts: Sequence[int], index: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._caches = caches
        self._counts = list(counts)
        self._index = index

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to prepare."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """[1, heads, sum n_i, head_dim] each: every sequence's part goes to its cache; all caches' rows, in order."""
        parts = zip(key_states[0].split(self._counts, 1), value_states[0].split(self._counts, 1), strict=True)
        held = [cache.append(self._index, *part) for cache, part in zip(self._caches, parts, strict=True)]
        return torch.cat([k for k, _ in held], 1)[None], torch.cat([v for _, v in held], 1)[None]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_seq_length(self) -> int:
        return sum(cache.lengths[self._index] for cache in self._caches)

    def get_max_length(self) -> int:
        return -1
