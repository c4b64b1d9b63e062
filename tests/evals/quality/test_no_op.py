from __future__ import annotations

import pytest

from drafts.align.plan import SearchReplace, UpdateSnippet
from evals.corpus.records import EditRecord
from evals.quality.no_op import no_op_edit

BEFORE = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(12))
RECORD = EditRecord("id", "r", "c", "a.py", "python", "MIT", "", BEFORE, BEFORE + "x = 1\n")


@pytest.mark.parametrize("form", ["update", "update-1", "update-0"])
@pytest.mark.parametrize("seed", range(8))
def test_a_snippet_shows_lines_of_the_file_as_they_are(form: str, seed: int) -> None:
    edit = no_op_edit(RECORD, form, seed)
    assert isinstance(edit, UpdateSnippet)
    shown = [line for line in edit.text.splitlines(keepends=True) if not line.lstrip().startswith("#")]
    assert any(line.strip() for line in shown)
    assert "".join(shown) in BEFORE
    assert 1 <= len(edit.text.splitlines()) - len(shown) <= 2


@pytest.mark.parametrize("seed", range(8))
def test_a_block_replaces_lines_by_themselves(seed: int) -> None:
    edit = no_op_edit(RECORD, "search-replace", seed)
    assert isinstance(edit, SearchReplace)
    (block,) = edit.blocks
    assert block.search == block.replace
    assert BEFORE.count(block.search) == 1


def test_the_seed_chooses_the_place() -> None:
    assert len({no_op_edit(RECORD, "update", seed) for seed in range(8)}) > 1
    assert no_op_edit(RECORD, "update", 1) == no_op_edit(RECORD, "update", 1)


@pytest.mark.parametrize("form", ["diff", "instruction"])
def test_some_forms_cannot_say_it(form: str) -> None:
    assert no_op_edit(RECORD, form, 0) is None
