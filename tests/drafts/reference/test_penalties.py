from __future__ import annotations

import pytest
import torch

from drafts.reference.parts import Parts
from drafts.reference.penalties import Penalties
from drafts.reference.types import token_tensor


def test_worked_example(parts: Parts) -> None:
    """Prompt 0, output 1 1 2: repetition on 0, 1 and 2; presence and frequency on 1 (twice) and 2."""
    rows = torch.tensor([[2.0, -2.0, 3.0, 1.0]])
    penalized = parts.penalizer().rows(rows, Penalties(2.0, 0.5, 0.25), [0], [1, 1, 2], [])
    assert penalized.tolist() == [[1.0, -4.0 - 0.5 - 0.5, 1.5 - 0.5 - 0.25, 1.0]]
    assert rows.tolist() == [[2.0, -2.0, 3.0, 1.0]]


@pytest.mark.parametrize("penalties", [Penalties(repetition=4.0), Penalties(presence=2.5), Penalties(frequency=2.5)])
def test_a_second_copy_of_a_just_kept_token_is_penalized(parts: Parts, penalties: Penalties) -> None:
    """Both rows prefer 1 by 2. The first copy is kept; after it the target prefers 2: so plain decoding would have."""
    rows = torch.tensor([[0.0, 3.0, 1.0], [0.0, 3.0, 1.0], [5.0, 0.0, 0.0]])
    draft = token_tensor([1, 1])
    penalized = parts.penalizer().rows(rows, penalties, [0], [], draft.tolist())
    verdict = parts.verifier().greedy(penalized, draft)
    assert verdict.emitted(draft) == [1, 2]


def test_without_penalties_rows_are_the_same(parts: Parts) -> None:
    rows = torch.tensor([[0.0, 3.0]])
    assert parts.penalizer().rows(rows, Penalties(), [1], [1], []) is rows


def test_repetition_is_above_zero() -> None:
    with pytest.raises(ValueError, match="above zero"):
        Penalties(repetition=0)
