from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from drafts.reference.cache import DenseCache, KVCache, OutOfPagesError, PagedCache, PagePool

LAYERS, HEADS, DIM, SIZE = 2, 3, 2, 4


def pool(pages: int = 8) -> PagePool:
    return PagePool(pages, SIZE, LAYERS, HEADS, DIM)


def kv(layer: int, start: int, n: int) -> tuple[Tensor, Tensor]:
    """Distinct numbers for every layer, head, position and dimension."""
    keys = torch.arange(start, start + n).float()[None, :, None] * 100 + layer * 10
    keys = keys + torch.arange(HEADS)[:, None, None] + torch.arange(DIM)[None, None, :] / 10
    return keys, -keys


def fill(cache: KVCache, n: int, start: int) -> None:
    for layer in range(LAYERS):
        cache.append(layer, *kv(layer, start, n))


def holds(cache: KVCache, numbers: list[int]) -> None:
    assert cache.lengths == (len(numbers),) * LAYERS
    assert cache.offset == len(numbers)
    for layer in range(LAYERS):
        keys, values = cache.read(layer)
        expected = [kv(layer, i, 1) for i in numbers]
        if expected:
            torch.testing.assert_close(keys, torch.cat([k for k, _ in expected], 1))
            torch.testing.assert_close(values, torch.cat([v for _, v in expected], 1))
        else:
            assert keys.shape == values.shape == (HEADS, 0, DIM)


def caches() -> list[KVCache]:
    return [DenseCache(LAYERS), PagedCache(pool())]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6, 10], ids=["zero", "within", "to edge", "across", "two pages", "all"])
@pytest.mark.parametrize("paged", [False, True])
def test_rewind(n: int, paged: bool) -> None:
    cache = caches()[paged]
    fill(cache, 10, 0)
    cache.rewind(n)
    holds(cache, list(range(10 - n)))
    fill(cache, 3, 50)  # what is written after a rewind takes the place of what was removed
    holds(cache, [*range(10 - n), 50, 51, 52])


def test_pages_are_returned_and_the_tail_shortened() -> None:
    shared = pool()
    cache = PagedCache(shared)
    fill(cache, 10, 0)
    held = cache.pages
    assert (len(held), cache.tail_length, len(shared.free)) == (3, 2, 5)
    for n, pages, tail in [(0, 3, 2), (1, 3, 1), (1, 2, 4), (1, 2, 3), (4, 1, 3), (3, 0, 0)]:
        cache.rewind(n)
        assert (len(cache.pages), cache.tail_length) == (pages, tail)
        assert cache.pages == held[:pages]
        assert set(shared.free) == set(range(8)) - set(cache.pages)


def test_pages_are_shared_but_not_mixed() -> None:
    shared = pool()
    first, second = PagedCache(shared), PagedCache(shared)
    fill(first, 6, 0)
    fill(second, 7, 100)
    first.rewind(5)
    fill(second, 4, 107)  # takes the page that first gave back
    fill(first, 5, 60)
    holds(first, [0, 60, 61, 62, 63, 64])
    holds(second, list(range(100, 111)))
    assert not set(first.pages) & set(second.pages)


def test_a_full_pool_says_so() -> None:
    shared = pool(2)
    cache = PagedCache(shared)
    fill(cache, 8, 0)
    with pytest.raises(OutOfPagesError, match="all 2 pages"):
        cache.append(0, *kv(0, 8, 1))
    with pytest.raises(ValueError, match="given back twice"):
        shared.release([cache.pages[0], cache.pages[0]])


@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("n", [-1, 11])
def test_rewind_is_bounded(paged: bool, n: int) -> None:
    cache = caches()[paged]
    fill(cache, 10, 0)
    with pytest.raises(ValueError, match=f"cannot remove {n} positions of 10"):
        cache.rewind(n)
    holds(cache, list(range(10)))


@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("kept", [[], [0], [1, 4], [5], [0, 1, 2, 3, 4, 5]])
def test_keep(paged: bool, kept: list[int]) -> None:
    cache = caches()[paged]
    fill(cache, 9, 0)
    cache.keep(3, kept)
    holds(cache, [0, 1, 2, *(3 + i for i in kept)])


@pytest.mark.parametrize("kept", [[6], [2, 1], [1, 1], [-1]])
def test_keep_is_bounded(kept: list[int]) -> None:
    for cache in caches():
        fill(cache, 9, 0)
        with pytest.raises(ValueError, match="must rise within the 6 after 3"):
            cache.keep(3, kept)


def test_layers_that_differ_have_no_offset() -> None:
    for cache in caches():
        cache.append(0, *kv(0, 0, 2))
        with pytest.raises(RuntimeError, match=r"\(2, 0\)"):
            _ = cache.offset


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 12)), max_size=12))
@settings(max_examples=20, deadline=None)
def test_dense_and_paged_are_one(steps: list[tuple[int, int]]) -> None:
    cache_pool = pool(40)
    dense, paged = DenseCache(LAYERS), PagedCache(cache_pool)
    numbers: list[int] = []
    for i, (added, removed) in enumerate(steps):
        numbers += [1000 * (i + 1) + j for j in range(added)]
        removed = min(removed, len(numbers))
        del numbers[len(numbers) - removed :]
        for cache in (dense, paged):
            fill(cache, added, 1000 * (i + 1))
            cache.rewind(removed)
            holds(cache, numbers)
        assert len(paged.pages) == -(-len(numbers) // SIZE)
        assert len(cache_pool.free) + len(paged.pages) == 40
