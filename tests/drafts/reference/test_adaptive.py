from __future__ import annotations

import pytest

from drafts.reference.adaptive import AdaptiveLength
from drafts.reference.copy_reference import CopyReference
from drafts.reference.function_engine import FunctionEngine
from drafts.reference.loop import Params
from drafts.reference.parts import Parts

TEXT = list(range(100))


def test_k_grows_while_drafts_hit(parts: Parts) -> None:
    drafter = AdaptiveLength(CopyReference(TEXT[1:]), 2, 16)
    output = parts.loop(FunctionEngine.reciting(TEXT, 100), drafter, Params(60, 64)).run([0])
    assert output.statistics.draft_lengths == [2, 4, 8, 16, 16, 8]
    assert output.tokens.tolist() == TEXT[1:61]


def test_k_shrinks_after_a_rejection_and_grows_again(parts: Parts) -> None:
    reference = [*TEXT[1:10], 99, *TEXT[11:]]  # the tenth token differs
    drafter = AdaptiveLength(CopyReference(reference), 8, 32)
    output = parts.loop(FunctionEngine.reciting(TEXT, 100), drafter, Params(40, 64)).run([0])
    # 8 kept and the ninth; then 16 with the first wrong; the token in its place matches nothing; then from 1 again
    assert output.tokens.tolist() == TEXT[1:41]
    assert output.statistics.draft_lengths == [8, 16, 0, 1, 2, 4, 8, 9]
    assert output.statistics.accepted == 8 + 1 + 2 + 4 + 8 + 9


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="between 1 and the most"):
        AdaptiveLength(CopyReference(TEXT), 0)
