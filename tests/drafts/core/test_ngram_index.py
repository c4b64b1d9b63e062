from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafts.core import ngram_index
from drafts.core.ngram_index import NgramIndex, last_grams

N = 3
CHUNK = 8


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngram_index, "CHUNK", CHUNK)


def occurrences(tokens: list[int], gram: list[int]) -> list[int]:
    return [i + N for i in range(len(tokens) - N) if tokens[i : i + N] == gram]


def find(index: NgramIndex, suffix: list[int], near: int) -> list[int]:
    return index.find(last_grams(suffix, len(suffix)), near)


def indexed(index: NgramIndex) -> int:
    """How many places have been indexed so far."""
    return sum(index._done)


def by_chunk(places: list[int], near: int, count: int, *, newest: bool) -> list[int]:
    """One place a chunk, in the documented order."""
    chunks: dict[int, int] = {}
    for place in places if newest else reversed(places):
        chunks[place // CHUNK] = place
    first = min(near // CHUNK, count - 1)
    return [chunks[n] for n in [*range(first, count), *range(first - 1, -1, -1)] if n in chunks]


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=80),
    st.lists(st.integers(0, 3), min_size=N, max_size=N),
    st.integers(0, 100),
    st.booleans(),
)
def test_finds_one_place_a_chunk_once_all_are_indexed(
    tokens: list[int], gram: list[int], near: int, newest: bool
) -> None:
    index = NgramIndex(tokens, [N], newest=newest)
    count = -(-len(tokens) // CHUNK)
    for _ in range(4 * count):  # a look-up indexes no less than a quarter of a chunk
        find(index, gram, near)
    assert indexed(index) == len(tokens)
    assert find(index, gram, near) == by_chunk(occurrences(tokens, gram), near, count, newest=newest)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=80), st.lists(st.integers(0, 3), min_size=N, max_size=N))
def test_first_look_up_knows_the_chunk_of_interest_and_builds_little(tokens: list[int], gram: list[int]) -> None:
    near = len(tokens) // 2
    index = NgramIndex(tokens, [N])
    found = find(index, gram, near)
    assert indexed(index) <= CHUNK + CHUNK // 2
    here = [place for place in occurrences(tokens, gram) if place // CHUNK == near // CHUNK]
    assert found[:1] == here[:1] or not here


@given(st.lists(st.integers(0, 3), max_size=120), st.data())
def test_a_list_that_grows_is_kept_up_with(tokens: list[int], data: st.DataObject) -> None:
    output: list[int] = []
    index = NgramIndex(output, [N], newest=True)
    for token in tokens:
        output.append(token)
        if data.draw(st.booleans()):
            found = find(index, output, len(output))
            assert all(output[place - N : place] == output[-N:] and place < len(output) for place in found)
    if len(output) >= N:
        for _ in range(40):
            find(index, output, len(output))
        count = -(-len(output) // CHUNK)
        places = occurrences(output, output[-N:])
        assert find(index, output, len(output)) == by_chunk(places, len(output), count, newest=True)


def test_shorter_suffixes_find_nothing() -> None:
    assert find(NgramIndex([1, 2, 3, 1, 2, 3], [N]), [2, 3], 0) == []
    assert find(NgramIndex([1, 2], [N]), [1, 2, 3], 0) == []
    assert find(NgramIndex([], [N]), [1, 2, 3], 0) == []


def test_a_far_place_is_found_and_a_long_list_is_indexed_piece_by_piece() -> None:
    tokens = list(range(400))
    index = NgramIndex(tokens, [N])
    sizes: list[int] = []
    found: list[int] = []
    for _ in range(80):
        found = find(index, [2, 3, 4], 399)
        sizes.append(indexed(index))
    assert max(b - a for a, b in zip([0, *sizes], sizes, strict=False)) <= CHUNK
    assert found == []  # more than 16 chunks away
    assert find(index, [302, 303, 304], 399) == [305]


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=120),
    st.lists(st.integers(0, 3), min_size=1, max_size=4),
    st.integers(0, 120),
    st.booleans(),
)
def test_the_longest_n_gram_that_occurs_decides(tokens: list[int], suffix: list[int], near: int, newest: bool) -> None:
    index = NgramIndex(tokens, (2, 3, 1), newest=newest)
    for _ in range(40):
        find(index, suffix, near)
    count = -(-len(tokens) // CHUNK)
    expected: list[int] = []
    for n in range(1, min(len(suffix), 3) + 1):
        places = [i + n for i in range(len(tokens) - n) if tokens[i : i + n] == suffix[-n:]]
        expected = by_chunk(places, near, count, newest=newest) or expected
    assert find(index, suffix, near) == expected


def test_tokens_beyond_every_vocabulary_are_found() -> None:
    tokens = [2**31 - 1, -5, 2**40, 1, *range(100, 130)]
    index = NgramIndex(tokens, [N])
    find(index, tokens[:3], 0)
    assert find(index, tokens[:3], 0) == [3]


def test_longer_n_grams_than_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 3 tokens"):
        NgramIndex([1, 2, 3, 4], [4])
