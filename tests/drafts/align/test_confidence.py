"""How sure a plan is by what the snippet shows around its changes."""

from __future__ import annotations

import pytest

from drafts.align import UpdateSnippet, plan_edit

ORIGINAL = """\
def area(shape):
    check(shape)
    width = shape.width
    height = shape.height
    return width * height


def name(shape):
    return shape.label
"""
EXPECTED = ORIGINAL.replace("    height = shape.height\n", "    height = shape.height\n    log(width, height)\n")
MARKER = "    # ... existing code ...\n"
NEW = "    log(width, height)\n"


@pytest.mark.parametrize(
    ("shown", "is_sure"),
    [
        (f"{MARKER}    height = shape.height\n{NEW}    return width * height\n{MARKER}", True),
        (f"{MARKER}    height = shape.height\n{NEW}{MARKER}", False),
        (f"{MARKER}{NEW}    return width * height\n{MARKER}", False),
    ],
    ids=["both ends", "only before", "only after"],
)
def test_a_plan_is_sure_only_with_context_at_both_ends(shown: str, is_sure: bool) -> None:
    plan = plan_edit(ORIGINAL, UpdateSnippet(shown), "python")
    assert plan.predicted == EXPECTED
    assert (plan.confidence >= 0.9) is is_sure


def test_blank_lines_as_all_of_the_context_make_less_sure() -> None:
    expected = ORIGINAL.replace("def name", "@cached\ndef name")
    blank, told = (
        plan_edit(ORIGINAL, UpdateSnippet(f"{MARKER}{shown}\n@cached\ndef name(shape):\n{MARKER}"), "python")
        for shown in ("", "    return width * height\n\n")
    )
    assert blank.predicted == told.predicted == expected
    assert 0.9 < blank.confidence < 0.95 < told.confidence


def test_a_files_own_end_needs_no_context() -> None:
    plan = plan_edit(ORIGINAL, UpdateSnippet(f"{MARKER}    return shape.label\n\n\ndef last():\n    pass\n"), "python")
    assert plan.predicted == ORIGINAL + "\n\ndef last():\n    pass\n"
    assert plan.confidence >= 0.9
