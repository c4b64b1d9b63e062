"""Unrelated outputs."""

from __future__ import annotations

import pytest

from evals.replay.adversarial import KINDS, AdversarialCorpusError, Adversary, Verdict
from evals.replay.command import example_records


def test_outputs_depend_on_the_seed_alone() -> None:
    records = example_records()
    first = [Adversary(records, 1).output(record) for record in records]
    assert first == [Adversary(records, 1).output(record) for record in reversed(records)][::-1]
    assert first != [Adversary(records, 2).output(record) for record in records]


def test_every_kind_is_there_and_none_is_the_edit() -> None:
    records = example_records()
    outputs = [Adversary(records, 0).output(record) for record in records]
    assert len(outputs) > len(KINDS)
    for place, (record, output) in enumerate(zip(records, outputs, strict=True)):
        assert output
        assert output not in (record.before, record.after)
        if KINDS[place % len(KINDS)] == "own words":
            assert set(output.split()) & set(record.before.split())


def test_one_file_makes_no_adversarial_corpus() -> None:
    with pytest.raises(AdversarialCorpusError, match="two different files"):
        Adversary(example_records()[:1], 0)


def test_the_worst_edit_decides() -> None:
    assert Verdict("copy-128", "diff", ratio=1.05, worst=0.97, worst_id="a").holds
    broken = Verdict("copy-128", "diff", ratio=1.05, worst=0.969, worst_id="a")
    assert not broken.holds
    assert "MORE THAN 3% SLOWER" in broken.line()
