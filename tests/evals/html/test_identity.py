"""The identity part of the page, as the report's blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from evals.html.edits import Edits
from evals.html.identity import section
from evals.html.model import Section
from evals.html.run_files import RunFile
from evals.identity.report import IdentityReport

WriteRun = Callable[[dict[str, Any]], RunFile]


def drawn(report: IdentityReport, write_run: WriteRun) -> Section:
    return section(write_run(report.to_json()), report, Edits(), alone=True)


def test_without_a_difference_there_is_no_table_of_them(identity_report: IdentityReport, write_run: WriteRun) -> None:
    same = [replace(sample, difference=None) for sample in identity_report.samples]
    found = drawn(replace(identity_report, samples=same), write_run)
    assert [block.name for block in found.blocks] == ["identity-A-rates", "identity-A-table"]
    assert "No output differed." in found.notes


def test_a_difference_has_its_table(identity_report: IdentityReport, write_run: WriteRun) -> None:
    found = drawn(identity_report, write_run)
    assert [block.name for block in found.blocks][2:] == ["identity-A-differences"]
    assert "No output differed." not in found.notes
