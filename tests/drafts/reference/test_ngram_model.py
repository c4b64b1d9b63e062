from __future__ import annotations

import pytest
import torch

from drafts.reference.ngram_model import NgramDrafter, NgramModel
from drafts.reference.types import seeded_uniform
from drafts.reference.verify import greedy_token

CORPUS = [0, 1, 2, 0, 1, 3, 0, 1, 2]


def model() -> NgramModel:
    fitted = NgramModel(3, 5)
    fitted.fit(CORPUS)
    return fitted


def test_distribution_backs_off() -> None:
    fitted = model()
    assert fitted.distribution([0, 1]).tolist() == pytest.approx([0, 0, 2 / 3, 1 / 3, 0])
    assert fitted.distribution([4, 0]).tolist() == [0, 1, 0, 0, 0]  # 4 0 is unknown, 0 is not
    assert fitted.distribution([4]).tolist() == pytest.approx([1 / 3, 1 / 3, 2 / 9, 1 / 9, 0])
    assert NgramModel(3, 5).distribution([1]).tolist() == [0.2] * 5


def test_greedy_drafts_follow_the_argmax_chain() -> None:
    drafter = NgramDrafter(NgramModel(3, 5))
    drafter.start(CORPUS)
    reference = model()
    chain: list[int] = []
    for _ in range(6):
        chain.append(greedy_token(reference.distribution([*CORPUS, *chain])))
    proposal = drafter.propose(6)
    assert proposal.tokens.tolist() == chain == [0, 1, 2, 0, 1, 2]
    assert proposal.probabilities is None


def test_sampled_drafts_come_with_the_models_distribution() -> None:
    drafter = NgramDrafter(NgramModel(3, 5), seeded_uniform(1))
    drafter.start(CORPUS)
    reference = model()
    seen = set()
    for _ in range(50):
        proposal = drafter.propose(3)
        assert proposal.probabilities is not None
        tokens = proposal.tokens.tolist()
        seen.add(tuple(tokens))
        for i in range(3):
            torch.testing.assert_close(proposal.probabilities[i], reference.distribution([*CORPUS, *tokens[:i]]))
    assert seen == {(0, 1, 2), (0, 1, 3)}


def test_it_learns_the_output() -> None:
    drafter = NgramDrafter(NgramModel(2, 5))
    drafter.start([0, 1])
    drafter.observe([4, 1])
    assert drafter.propose(2).tokens.tolist() == [4, 1]
    assert drafter.propose(0).tokens.tolist() == []


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        NgramModel(0, 5)
    with pytest.raises(ValueError, match="outside of the vocabulary of 5"):
        NgramModel(2, 5).fit([5])
