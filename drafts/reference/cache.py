"""Key-value caches that can be cut back: dense, and in pages (Kwon et al. 2023, "PagedAttention").

Keys and values are [heads, positions, head_dim], one sequence. A layer's logical length is the number of positions
appended to it; between passes all layers have the same, which is the cache's offset.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor


class OutOfPagesError(RuntimeError):
    """The pool has no free page: make it larger, or finish a sequence that holds pages."""


class KVCache(ABC):
    """The contract. Subclasses say how positions are stored."""

    def __init__(self, layers: int) -> None:
        self._lengths = [0] * layers

    @property
    def lengths(self) -> tuple[int, ...]:
        """Each layer's logical length."""
        return tuple(self._lengths)

    @property
    def offset(self) -> int:
        """Positions held. Raises RuntimeError while layers differ, as in the middle of a pass."""
        if len(set(self._lengths)) != 1:
            raise RuntimeError(f"the layers hold different numbers of positions: {self.lengths}")
        return self._lengths[0]

    def append(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Adds keys and values [heads, n, head_dim] to one layer; all that it holds then, [heads, length, head_dim]."""
        self._store(layer, keys, values)
        self._lengths[layer] += keys.shape[1]
        return self.read(layer)

    def rewind(self, n: int) -> None:
        """Removes the last n logical positions of every layer. Raises ValueError unless 0 <= n <= offset."""
        if not 0 <= n <= self.offset:
            raise ValueError(f"cannot remove {n} positions of {self.offset}")
        self._lengths = [length - n for length in self._lengths]
        self._shrink()

    def keep(self, start: int, kept: Sequence[int]) -> None:
        """Of the positions from `start` on, keeps start + kept[i] as position start + i, and removes the others.

        `kept` rises strictly. A tree's accepted path becomes contiguous by it. Raises ValueError on other indices.
        """
        bounds = [-1, *kept, self.offset - start]
        if start < 0 or any(a >= b for a, b in pairwise(bounds)):
            raise ValueError(f"positions to keep must rise within the {self.offset - start} after {start}")
        index = torch.tensor([start + i for i in kept], dtype=torch.int64)
        rows = [tuple(x[:, index].clone() for x in self.read(layer)) for layer in range(len(self._lengths))]
        self.rewind(self.offset - start)
        for layer, (keys, values) in enumerate(rows):
            self.append(layer, keys, values)

    @abstractmethod
    def read(self, layer: int) -> tuple[Tensor, Tensor]:
        """One layer's keys and values, [heads, length, head_dim] each."""

    @abstractmethod
    def _store(self, layer: int, keys: Tensor, values: Tensor) -> None: ...

    @abstractmethod
    def _shrink(self) -> None:
        """Gives up what lies after the logical lengths."""


class DenseCache(KVCache):
    """One growing tensor for each layer's keys and one for its values."""

    def __init__(self, layers: int) -> None:
        super().__init__(layers)
        self._rows: list[tuple[Tensor, Tensor] | None] = [None] * layers

    def read(self, layer: int) -> tuple[Tensor, Tensor]:
        rows = self._rows[layer]
        if rows is None:
            raise ValueError(f"layer {layer} was never written")
        return rows

    def _store(self, layer: int, keys: Tensor, values: Tensor) -> None:
        rows = self._rows[layer]
        if rows is not None:
            keys, values = torch.cat([rows[0], keys], dim=1), torch.cat([rows[1], values], dim=1)
        self._rows[layer] = (keys, values)

    def _shrink(self) -> None:
        for layer, (rows, length) in enumerate(zip(self._rows, self._lengths, strict=True)):
            if rows is not None:
                self._rows[layer] = (rows[0][:, :length], rows[1][:, :length])


class PagePool:
    """Pages of `page_size` positions, each for all layers, shared by the caches made on it.

    Memory: 2 x layers x pages x page_size x heads x head_dim elements of dtype.
    """

    def __init__(
        self, pages: int, page_size: int, layers: int, heads: int, head_dim: int, dtype: torch.dtype = torch.float32
    ) -> None:
        if min(pages, page_size, layers, heads, head_dim) < 1:
            raise ValueError("every size of a page pool is at least 1")
        self.page_size = page_size
        self.keys = torch.zeros((layers, pages, page_size, heads, head_dim), dtype=dtype)
        self.values = torch.zeros_like(self.keys)
        self._free = list(range(pages - 1, -1, -1))

    @property
    def layers(self) -> int:
        return int(self.keys.shape[0])

    @property
    def free(self) -> tuple[int, ...]:
        """The ids of the free pages."""
        return tuple(self._free)

    def take(self) -> int:
        """A free page's id. Raises OutOfPagesError."""
        if not self._free:
            raise OutOfPagesError(f"all {self.keys.shape[1]} pages are in use")
        return self._free.pop()

    def release(self, pages: Sequence[int]) -> None:
        """Gives pages back. Raises ValueError when one is free already."""
        if set(pages) & set(self._free) or len(set(pages)) != len(pages):
            raise ValueError("a page was given back twice")
        self._free.extend(pages)


class PagedCache(KVCache):
    """A table of pages: logical position i lies in page table[i // page_size], slot i % page_size."""

    def __init__(self, pool: PagePool) -> None:
        super().__init__(pool.layers)
        self.pool = pool
        self._table: list[int] = []

    @property
    def pages(self) -> tuple[int, ...]:
        """The ids of the pages held, in logical order."""
        return tuple(self._table)

    @property
    def tail_length(self) -> int:
        """Valid positions of the last page: 1 to page_size; 0 when no page is held."""
        return self.offset - max(len(self._table) - 1, 0) * self.pool.page_size

    def read(self, layer: int) -> tuple[Tensor, Tensor]:
        length = self._lengths[layer]
        keys, values = self.pool.keys[layer, self._table], self.pool.values[layer, self._table]
        return keys.flatten(0, 1)[:length].transpose(0, 1), values.flatten(0, 1)[:length].transpose(0, 1)

    def _store(self, layer: int, keys: Tensor, values: Tensor) -> None:
        size = self.pool.page_size
        start, end = self._lengths[layer], self._lengths[layer] + keys.shape[1]
        while len(self._table) * size < end:
            self._table.append(self.pool.take())
        positions = torch.arange(start, end)
        page, slot = torch.tensor(self._table, dtype=torch.int64)[positions // size], positions % size
        self.pool.keys[layer, page, slot] = keys.transpose(0, 1)
        self.pool.values[layer, page, slot] = values.transpose(0, 1)

    def _shrink(self) -> None:
        needed = -(-max(self._lengths) // self.pool.page_size)
        self.pool.release(self._table[needed:])
        del self._table[needed:]
