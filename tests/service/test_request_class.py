from __future__ import annotations

import pytest

from drafts.align.plan import Edit, Instruction, SearchReplace, UnifiedDiff, UpdateSnippet
from service.request_class import FORMS, SIZES, UNKNOWN, form_name, form_of, size_bucket


@pytest.mark.parametrize(
    ("size", "bucket"),
    [
        (0, "small"),
        (4096, "small"),
        (4097, "medium"),
        (16_384, "medium"),
        (16_385, "large"),
        (65_536, "large"),
        (65_537, "huge"),
        (2_000_000, "huge"),
    ],
)
def test_size_buckets(size: int, bucket: str) -> None:
    assert size_bucket(size) == bucket
    assert bucket in SIZES


def test_form_names() -> None:
    assert [form_name(form) for form in FORMS] == list(FORMS)
    assert form_name("search_replace_text") == "search_replace"
    assert {form_name(None), form_name(""), form_name("anything else")} == {UNKNOWN}


def test_an_edit_has_the_form_that_its_field_on_the_wire_names() -> None:
    edits: list[Edit] = [UpdateSnippet("x"), UnifiedDiff("x"), SearchReplace(()), Instruction("x")]
    assert [form_of(edit) for edit in edits] == [form_name(form) for form in FORMS]
