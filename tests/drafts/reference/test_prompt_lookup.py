from __future__ import annotations

import pytest

from drafts.reference.parts import Parts

CONTEXT = [1, 2, 3, 9, 1, 2]


@pytest.mark.parametrize(
    ("context", "max_ngram", "k", "draft"),
    [
        (CONTEXT, 3, 3, [3, 9, 1]),  # the last 3-gram never occurred before, the last 2-gram did
        (CONTEXT, 3, 1, [3]),
        (CONTEXT, 3, 9, [3, 9, 1, 2]),
        (CONTEXT, 3, 0, []),
        (CONTEXT, 1, 2, [3, 9]),
        ([1, 2, 3], 3, 3, []),
        ([5], 3, 3, []),
        ([7, 7, 7], 3, 3, [7]),
        ([1, 2, 3, 1, 2, 4, 1, 2], 2, 1, [4]),  # the most recent occurrence
        ([1, 2, 3, 4, 2, 5, 1, 2], 3, 2, [3, 4]),  # the longest n-gram, though a shorter one is more recent
    ],
)
def test_proposals(parts: Parts, context: list[int], max_ngram: int, k: int, draft: list[int]) -> None:
    lookup = parts.prompt_lookup(max_ngram)
    lookup.start(context)
    proposal = lookup.propose(k)
    assert proposal.tokens.tolist() == draft
    assert proposal.probabilities is None


def test_the_output_is_searched_too(parts: Parts) -> None:
    lookup = parts.prompt_lookup()
    lookup.start([1])
    lookup.observe([2, 3])
    lookup.observe([1])
    assert lookup.propose(4).tokens.tolist() == [2, 3, 1]
    lookup.start([4])
    assert lookup.propose(4).tokens.tolist() == []


def test_an_ngram_has_a_token(parts: Parts) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        parts.prompt_lookup(0)
