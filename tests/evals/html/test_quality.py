"""Quality by agreement of model and plan, as the page has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from evals.html.build import build
from evals.html.model import DotPlot, PageReport, Table
from evals.html.run_files import RunFile
from evals.quality.report import QualityReport
from evals.replay.tokenizers import NamedTokenizer
from service.agreement import Agreement

WriteRun = Callable[[dict[str, Any]], RunFile]


def rows(page: PageReport, name: str) -> list[list[str]]:
    """The texts of a table of the quality section."""
    (found,) = (
        block for block in page.sections[0].blocks if isinstance(block, Table) and block.name == f"quality-A-{name}"
    )
    return [[cell.text for cell in row] for row in found.rows]


def test_a_file_older_than_agreement_says_that_it_is_not_recorded(
    quality_report: QualityReport, write_run: WriteRun, tokenizer: NamedTokenizer
) -> None:
    record = quality_report.to_json()
    for row in record["rows"]:
        del row["agreement"], row["agreement_not_recorded"], row["by_size"]
    for sample in record["samples"]:
        del sample["agreement"]
    page = build([write_run(record)], tokenizer)
    assert rows(page, "agreement") == [["update", "not recorded", "6", "-", "-"]]
    assert [row[4] for row in rows(page, "wrong")] == ["not recorded"]
    assert [figure.name for figure in page.figures] == ["quality-A-byte-exact"]
    assert [row[1:3] for row in rows(page, "size-table")] == [["up to 50 lines", "5"], ["51-100 lines", "1"]]


def test_each_wrong_result_says_whose_text_it_is(
    quality_report: QualityReport, write_run: WriteRun, tokenizer: NamedTokenizer
) -> None:
    wrong = quality_report.samples[-1]
    samples = [
        replace(wrong, id="both", agreement=Agreement.MODEL_AND_PLAN),
        replace(wrong, id="plan", agreement=Agreement.PLAN_ONLY),
        replace(wrong, id="refused", status="OVER_CONTEXT", agreement=None),
    ]
    page = build([write_run(replace(quality_report, samples=samples).to_json())], tokenizer)
    assert [(row[0], row[4]) for row in rows(page, "wrong")] == [
        *(("both", "agree"), ("plan", "differ, plan's text given"), ("refused", "-"))
    ]
    assert rows(page, "agreement") == [
        ["update", "agree", "1", "0", "0% (0 to 79.3)"],
        ["update", "differ, plan's text given", "1", "0", "0% (0 to 79.3)"],
    ]
    facts = {edit.title: edit.facts[-1] for edit in page.edits}
    assert facts["both"] == "quality A, update: other; model and plan agree"
    assert facts["refused"] == "quality A, update: refused (OVER_CONTEXT)"


def test_sizes_keep_their_order_where_forms_have_others(
    quality_report: QualityReport, write_run: WriteRun, tokenizer: NamedTokenizer
) -> None:
    one = quality_report.samples[0]
    samples = [replace(one, form="diff", lines=300), replace(one, lines=20), replace(one, lines=9000)]
    page = build([write_run(replace(quality_report, samples=samples).to_json())], tokenizer)
    (plot,) = (block for block in page.sections[0].blocks if block.name == "quality-A-sizes")
    assert isinstance(plot, DotPlot)
    assert page.figures[0].detail.startswith("2 of 2 edits, form update;")
    assert [place.place for place in plot.ranges] == ["up to 50 lines", "201-400 lines", "over 400 lines"]
