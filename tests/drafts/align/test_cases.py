"""One file for each kind of edit, in `cases/`: header, original, edit, expected. Adding a case is adding a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from drafts.align import Edit, UnifiedDiff, UpdateSnippet, parse_search_replace, plan_edit

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))


def read(path: Path) -> tuple[dict[str, str], str, str, str]:
    head, _, rest = path.read_text(encoding="utf-8").partition("==== original ====\n")
    original, _, rest = rest.partition("==== edit ====\n")
    edit, _, expected = rest.partition("==== expected ====\n")
    return dict(line.split(": ", 1) for line in head.splitlines()), original, edit, expected


def parsed(form: str, text: str) -> Edit:
    if form == "unified_diff":
        return UnifiedDiff(text)
    return parse_search_replace(text) if form == "search_replace" else UpdateSnippet(text)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    header, original, edit, expected = read(path)
    assert original != expected
    plan = plan_edit(original, parsed(header["form"], edit), header["language"])
    assert plan.predicted == expected
    assert plan.confidence >= 0.3
