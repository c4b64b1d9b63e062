from __future__ import annotations

import pytest

from drafts.align import Edit, Instruction, UnifiedDiff, UpdateSnippet, plan_edit
from service.errors import ResultRejected
from service.guard import check
from service.types import ApplyRequest, SourceFile

LINES = [f"value_{number} = {number}\n" for number in range(40)]
ORIGINAL = "".join(LINES)
SNIPPET = UpdateSnippet(
    "# ... existing code ...\nvalue_9 = 9\nvalue_10 = 'ten'\nvalue_11 = 11\n# ... existing code ...\n"
)


def guard(result: str, *, original: str = ORIGINAL, edit: Edit = SNIPPET) -> str | None:
    """The reason of the refusal, None when there is none."""
    file = SourceFile("a.py", original.encode(), original, "python")
    try:
        check(ApplyRequest("1", file, edit), plan_edit(original, edit, "python"), result)
    except ResultRejected as error:
        return error.reason
    return None


EDITED = ORIGINAL.replace("value_10 = 10", "value_10 = 'ten'")


def test_what_the_plan_predicts_passes() -> None:
    assert plan_edit(ORIGINAL, SNIPPET, "python").predicted == EDITED
    assert guard(EDITED) is None


def test_an_empty_result() -> None:
    assert guard("") == "RESULT_EMPTY"
    assert guard(" \n\n") == "RESULT_EMPTY"
    assert guard("", edit=Instruction("clear the file")) == "RESULT_EMPTY"


def test_a_file_that_the_edit_empties() -> None:
    diff = UnifiedDiff("--- a\n+++ b\n@@ -1,2 +0,0 @@\n-a\n-b\n")
    assert plan_edit("a\nb\n", diff).predicted == ""
    assert guard("", original="a\nb\n", edit=diff) is None


@pytest.mark.parametrize("edit", [SNIPPET, Instruction("change it")])
def test_a_leftover_marker(edit: Edit) -> None:
    marked = "".join(LINES[:30]) + "# ... existing code ...\n"
    assert guard(marked, edit=edit) == "RESULT_HAS_ELISION"


def test_a_marker_that_the_original_holds_is_text() -> None:
    original = "# ... existing code ...\n" + ORIGINAL
    assert guard("# ... existing code ...\n" + EDITED, original=original) is None


def test_a_marker_that_a_diff_adds_is_text() -> None:
    diff = UnifiedDiff("--- a\n+++ b\n@@ -1,2 +1,3 @@\n value_0 = 0\n+# ... existing code ...\n value_1 = 1\n")
    result = "value_0 = 0\n# ... existing code ...\n" + "".join(LINES[1:])
    assert guard(result, edit=diff) is None
    assert guard(result) == "RESULT_HAS_ELISION"


def test_the_message_quotes_no_text() -> None:
    file = SourceFile("a.py", ORIGINAL.encode(), ORIGINAL, "python")
    with pytest.raises(ResultRejected) as caught:
        check(ApplyRequest("1", file, SNIPPET), plan_edit(ORIGINAL, SNIPPET, "python"), "".join(LINES[:15]))
    assert "value_" not in str(caught.value)


def test_lost_lines() -> None:
    assert guard("".join(LINES[:15])) == "RESULT_LOST_LINES"
    assert guard(EDITED.replace("".join(LINES[20:30]), "")) == "RESULT_LOST_LINES"


def test_a_few_lost_lines_may_be_meant() -> None:
    assert guard(EDITED.replace("".join(LINES[20:23]), "")) is None


def test_lines_that_others_replace_are_not_lost() -> None:
    assert guard(EDITED.replace("value_", "renamed_")) is None


def test_lines_that_the_edit_deletes_are_not_lost() -> None:
    diff = UnifiedDiff("--- a\n+++ b\n@@ -1,20 +1,1 @@\n value_0 = 0\n" + "".join("-" + line for line in LINES[1:20]))
    result = LINES[0] + "".join(LINES[20:])
    assert plan_edit(ORIGINAL, diff).predicted == result
    assert guard(result, edit=diff) is None


def test_an_instruction_may_delete() -> None:
    assert guard("".join(LINES[:15]), edit=Instruction("drop the rest")) is None


def test_a_large_hole_in_a_large_file() -> None:
    lines = [f"item {number}\n" for number in range(1000)]
    edit = UpdateSnippet("item 0 changed\n# ... existing code ...\n")
    result = "".join(["item 0 changed\n", *lines[1:500], *lines[560:]])
    assert guard(result, original="".join(lines), edit=edit) == "RESULT_LOST_LINES"
