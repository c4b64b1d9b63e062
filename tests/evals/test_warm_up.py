from __future__ import annotations

import ast

from drafts.align import plan_edit
from evals.example_edits import load_examples
from evals.warm_up import warm_up_edits


def test_warm_up_edits_are_edits_that_the_alignment_places() -> None:
    for edit in warm_up_edits():
        ast.parse(edit.original)
        assert edit.original != edit.expected
        assert plan_edit(edit.original, edit.edit, edit.language).predicted == edit.expected


def test_none_is_an_example_and_none_begins_like_another() -> None:
    originals = [edit.original for edit in warm_up_edits()]
    assert not set(originals) & {example.original for example in load_examples()}
    assert len({original[:20] for original in originals}) == len(originals)
