from __future__ import annotations

import pytest
from rich.console import Console

from evals.corpus.datasheet import datasheet, markdown, render
from evals.corpus.records import EditRecord


def record(name: str, language: str, lines: int, changed: int, license_: str = "MIT") -> EditRecord:
    before = "".join(f"line {n}\n" for n in range(lines))
    after = "".join(f"line {n}{'!' if n < changed else ''}\n" for n in range(lines))
    return EditRecord(name, f"repo of {language}", "c", f"{name}.x", language, license_, "", before, after)


RECORDS = [
    record("a", "python", 10, 1),
    record("b", "python", 50, 5),
    record("c", "python", 51, 51, "MIT OR Apache-2.0"),
    record("d", "go", 401, 0),
]


def test_the_figures() -> None:
    sheet = datasheet(RECORDS)
    assert [(group.name, group.edits) for group in sheet.groups] == [("python", 3), ("go", 1)]
    assert sheet.whole.edits == 4
    assert sheet.groups[0].lines.values == (10, 30, 50, 50.5, 51)
    assert sheet.groups[0].changed.values[1:3] == pytest.approx((0.1, 0.1))
    assert sheet.groups[0].changed.values[4] == 1
    assert sheet.groups[1].hunks.values == (0,) * 5
    assert dict(sheet.sizes) == {"1 to 50": 2, "51 to 100": 1, "101 to 200": 0, "201 to 400": 0, "over 400": 1}
    assert dict(sheet.licenses) == {"MIT": 3, "MIT OR Apache-2.0": 1}
    assert dict(sheet.repos) == {"repo of python": 3, "repo of go": 1}


def test_both_renderings_show_them_within_80_columns() -> None:
    sheet = datasheet(RECORDS)
    console = Console(width=80)
    with console.capture() as capture:
        console.print(render(sheet))
    shown = capture.get()
    page = markdown(sheet, "A title", ["A word before."])
    for text in ("python", "50 (10, 30, 50, 51)", "MIT OR Apache-2.0"):
        assert text in shown
        assert text in page
    assert "…" not in shown
    assert page.startswith("# A title\n\nA word before.\n\n## ")
    assert "| all | 4 |" in page
