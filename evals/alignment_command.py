"""`redraft eval align`, and its tables."""

from __future__ import annotations

import statistics
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from evals.alignment import SIZES, AlignmentReport, cases_of, cases_of_examples, measure
from evals.corpus.records import CorpusError, load_records
from evals.example_edits import load_examples
from evals.json_file import write_json

_BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.01)


def align(
    corpus: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Edits as JSON lines, also .gz. Without it, the examples in evals/examples."),
    ] = None,
    json_path: Annotated[
        Path | None, typer.Option("--json", metavar="OUT", help="Write the report with every edit's outcome here.")
    ] = None,
    cost: Annotated[bool, typer.Option(help="Measure the cost of files of 1,000 to 20,000 lines too.")] = True,
) -> None:
    """Align recorded edits with their files: how often the predicted text is the real result, and what it costs.

    No model runs. Exit status: 0; 2 for bad arguments or a bad corpus.
    """
    try:
        cases = cases_of_examples(load_examples()) if corpus is None else cases_of(load_records(corpus))
        if json_path is not None:
            json_path.parent.mkdir(parents=True, exist_ok=True)
    except (CorpusError, OSError) as error:
        Console(stderr=True, highlight=False).print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    report = measure(cases, sizes=SIZES if cost else ())
    if json_path is not None:
        write_json(json_path, report.to_json())
    show(report, Console())


def show(report: AlignmentReport, console: Console) -> None:
    """Tables of quality by form and language, of calibration, of the causes of misses, and of costs."""
    console.print(_quality(report))
    console.print(_calibration(report))
    console.print(_causes(report))
    if not report.costs:
        return
    table = Table(title="Cost: three hunks with 3 lines of context (ms of processor time)")
    for column in ("lines", "plan", "per 1,000 lines", "of it parsing", "whole file sent"):
        table.add_column(column, justify="right")
    for cost in report.costs:
        per = 1_000 * cost.plan_ms / cost.lines
        table.add_row(f"{cost.lines:,}", *(f"{ms:.1f}" for ms in (cost.plan_ms, per, cost.parse_ms, cost.whole_ms)))
    console.print(table)


def _forms(report: AlignmentReport) -> list[str]:
    return list(dict.fromkeys(outcome.form for outcome in report.outcomes))


def _quality(report: AlignmentReport) -> Table:
    forms = _forms(report)
    table = Table(title="Predicted text equals the real result")
    table.add_column("language")
    for form in forms:
        table.add_column(form, justify="right")
    languages = sorted({outcome.language for outcome in report.outcomes})
    for language in [*languages, "all"]:
        cells = []
        for form in forms:
            right = [o.right for o in report.outcomes if o.form == form and language in (o.language, "all")]
            cells.append(f"{sum(right)}/{len(right)}" if right else "-")
        table.add_row(language, *cells, end_section=language == languages[-1])
    shares = [statistics.mean(o.right for o in report.outcomes if o.form == form) for form in forms]
    table.add_row("share", *(f"{share:.1%}" for share in shares))
    table.add_row("cannot be said", *(str(report.unsayable.get(form, 0)) for form in forms))
    return table


def _calibration(report: AlignmentReport) -> Table:
    forms = _forms(report)
    table = Table(title="Right, by the plan's confidence")
    table.add_column("confidence")
    for form in forms:
        table.add_column(form, justify="right")
    for low, high in pairwise(_BINS):
        cells = []
        for form in forms:
            right = [o.right for o in report.outcomes if o.form == form and low <= o.confidence < high]
            cells.append(f"{sum(right)}/{len(right)}" if right else "-")
        table.add_row(f"{low:.2f} to {min(high, 1.0):.2f}", *cells)
    return table


def _causes(report: AlignmentReport) -> Table:
    forms = _forms(report)
    table = Table(title="Misses by cause")
    table.add_column("cause")
    for form in forms:
        table.add_column(form, justify="right")
    for cause in sorted({outcome.cause for outcome in report.outcomes if outcome.cause}):
        counts = [sum(o.cause == cause for o in report.outcomes if o.form == form) for form in forms]
        table.add_row(cause, *(str(count) if count else "-" for count in counts))
    return table
