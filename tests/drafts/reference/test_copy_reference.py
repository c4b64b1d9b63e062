from __future__ import annotations

import pytest

from drafts.reference.copy_reference import CopyReference
from drafts.reference.function_engine import FunctionEngine
from drafts.reference.loop import Params
from drafts.reference.parts import Parts

REFERENCE = [7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 0]


def test_a_reproduced_reference_takes_at_most_4_passes(parts: Parts) -> None:
    engine = FunctionEngine.reciting(REFERENCE, 10)
    output = parts.loop(engine, CopyReference(REFERENCE, 1), Params(12, 6)).run([7])
    assert output.tokens.tolist() == REFERENCE[1:13]
    assert output.statistics.target_passes <= 4


def test_proposals() -> None:
    drafter = CopyReference(REFERENCE, 2)
    drafter.start([5])
    assert drafter.propose(3).tokens.tolist() == [7, 1, 2]  # fewer than n are out: the start
    drafter.observe([1])
    assert drafter.propose(3).tokens.tolist() == [7, 1, 2]
    drafter.observe([2])
    assert drafter.propose(3).tokens.tolist() == [3, 4, 5]
    drafter.observe([1, 2])
    assert drafter.propose(9).tokens.tolist() == [3, 0]  # the next occurrence after the place copied last
    drafter.observe([9, 9])
    assert drafter.propose(3).tokens.tolist() == []
    assert drafter.propose(0).tokens.tolist() == []


def test_a_match_has_a_token() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        CopyReference(REFERENCE, 0)
