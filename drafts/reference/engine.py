"""A small engine around a Hugging Face causal model: one sequence, our cache, our masks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, Cache, PreTrainedModel
from transformers.cache_utils import CacheLayerMixin

from drafts.reference.cache import DenseCache, KVCache, PagedCache, PagePool
from drafts.reference.tree import Tree
from drafts.reference.types import check_tokens


class TorchEngine:
    """Runs `model` on the CPU or wherever it lies, without gradients. cache: dense by default.

    The model must take additive four-dimensional attention masks, as eager and SDPA attention do.
    """

    def __init__(self, model: PreTrainedModel, cache: KVCache | None = None) -> None:
        self.model = model.eval()
        self.cache = cache or DenseCache(model.config.num_hidden_layers)
        self._view = Cache(layers=[_Layer(self.cache, i) for i in range(model.config.num_hidden_layers)])

    @classmethod
    def load(cls, path: Path, *, paged: bool = False) -> TorchEngine:
        """The model saved under `path`, in float32; paged: with a pool of pages for the model's length."""
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation="eager")
        return cls(model, PagedCache(page_pool(model)) if paged else None)

    @property
    def vocab_size(self) -> int:
        return int(self.model.config.vocab_size)

    @property
    def max_positions(self) -> int:
        return int(self.model.config.max_position_embeddings)

    @property
    def offset(self) -> int:
        """Positions in the cache."""
        return self.cache.offset

    def rewind(self, n: int) -> None:
        """Removes the last n positions from the cache."""
        self.cache.rewind(n)

    def keep(self, start: int, kept: Sequence[int]) -> None:
        """Of the cached positions from `start` on, keeps start + kept[i] in order."""
        self.cache.keep(start, kept)

    def forward(self, tokens: Tensor, rows: int) -> Tensor:
        """Feeds int32 `tokens` [n] after the cached ones; the last `rows` predictions as float32 logits [rows, V].

        Raises ValueError unless 1 <= rows <= n and all positions lie within the model; TypeError on another dtype.
        """
        n = len(tokens)
        seen = torch.ones((n, n), dtype=torch.bool).tril()
        return self._pass(tokens, torch.arange(n), seen, rows)

    def forward_tree(self, pending: Tensor, tree: Tree) -> Tensor:
        """Feeds int32 `pending` [n], n >= 1, then the tree's N nodes: float32 logits [N + 1, V], the row after the last
        pending token first. A node's position is that of its depth, and it sees its ancestors only."""
        n, nodes = len(pending), len(tree.tokens)
        seen = torch.ones((n + nodes, n + nodes), dtype=torch.bool).tril()
        seen[n:, n:] = tree.mask()
        positions = torch.tensor([*range(n), *(n - 1 + depth for depth in tree.depths())])
        return self._pass(torch.cat([pending, tree.tokens]), positions, seen, nodes + 1)

    def _pass(self, tokens: Tensor, positions: Tensor, seen: Tensor, rows: int) -> Tensor:
        """positions [n]: relative to the cache's end; seen bool [n, n]: among the new tokens."""
        check_tokens(tokens)
        n, offset = len(tokens), self.offset
        if not 1 <= rows <= n:
            raise ValueError(f"{rows} rows of predictions need as many tokens fed, not {n}")
        if offset + int(positions.max()) >= self.max_positions:
            raise ValueError(f"position {offset + int(positions.max())} lies beyond the model's {self.max_positions}")
        dtype, device = self.model.dtype, self.model.device
        allowed = torch.cat([torch.ones((n, offset), dtype=torch.bool), seen], dim=1)
        mask = torch.zeros((n, offset + n), dtype=dtype).masked_fill(~allowed, torch.finfo(dtype).min)
        with torch.inference_mode():
            output = self.model(
                input_ids=tokens[None].to(device),
                position_ids=(offset + positions)[None].to(device),
                attention_mask=mask[None, None].to(device),
                past_key_values=self._view,
                use_cache=True,
                logits_to_keep=rows,
            )
        logits: Tensor = output.logits[0].float().cpu()
        return logits


def page_pool(model: PreTrainedModel, page_size: int = 16, pages: int | None = None) -> PagePool:
    """A pool for `model`'s layers and heads; without `pages` it holds the model's longest sequence."""
    config = model.config
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    pages = pages or -(-config.max_position_embeddings // page_size)
    return PagePool(pages, page_size, config.num_hidden_layers, heads, head_dim, model.dtype)


class _Layer(CacheLayerMixin):
    """One layer of our cache, as transformers wants to see it."""

    def __init__(self, cache: KVCache, index: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._cache = cache
        self._index = index

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to prepare."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """[1, heads, n, head_dim] each: stores them, and returns all of the layer's."""
        keys, values = self._cache.append(self._index, key_states[0], value_states[0])
        return keys[None], values[None]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_seq_length(self) -> int:
        return self._cache.lengths[self._index]

    def get_max_length(self) -> int:
        return -1
