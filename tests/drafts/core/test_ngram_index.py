from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from drafts.core.ngram_index import _MAX_PER_GRAM, GrowingIndex, N, StaticIndex

tokens_strategy = st.lists(st.integers(0, 3), max_size=40)


def occurrences(tokens: list[int], gram: list[int]) -> list[int]:
    return [i + N for i in range(len(tokens) - N + 1) if tokens[i : i + N] == gram]


@given(tokens_strategy, st.lists(st.integers(0, 3), min_size=N, max_size=N), st.integers(0, 40))
def test_static_index_finds_all_places_nearest_after_first(tokens: list[int], gram: list[int], near: int) -> None:
    places = occurrences(tokens, gram)
    after = [p for p in places if p >= near][:_MAX_PER_GRAM]
    before = [p for p in places if p < near][::-1][:_MAX_PER_GRAM]
    assert list(StaticIndex(tokens).find(gram, near)) == after + before


@given(tokens_strategy, st.data())
def test_growing_index_finds_earlier_places_latest_first(tokens: list[int], data: st.DataObject) -> None:
    output: list[int] = []
    index = GrowingIndex(output)
    for token in tokens:
        output.append(token)
        if data.draw(st.booleans()):
            found = list(index.find(output, 0))
            gram = output[-N:]
            places = occurrences(output[:-1], gram) if len(gram) == N else []
            assert found == places[::-1][:_MAX_PER_GRAM]


def test_shorter_suffixes_find_nothing() -> None:
    assert list(StaticIndex([1, 2, 3, 1, 2, 3]).find([2, 3], 0)) == []
    assert list(StaticIndex([1, 2]).find([1, 2, 3], 0)) == []
    assert list(GrowingIndex([1, 2]).find([1, 2], 0)) == []
