"""`redraft eval latency`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evals.configurations import DEFAULT_CONFIGURATIONS, Configuration, parse
from evals.corpus.cases import cases
from evals.corpus.records import CorpusError, load_records
from evals.corpus.selection import EmptySelectionError, Selection, select
from evals.environment import describe
from evals.example_edits import ExampleEdit, UnknownExampleError, load_example, load_examples
from evals.json_file import write_json
from evals.latency import measure
from evals.load import parse_loads
from evals.replay.forms import parse_forms
from evals.report import LatencyReport, show
from evals.run_file import resume
from service.config import EMBEDDED_MODEL_PATH
from service.errors import RedraftError
from service.launch import LaunchError


def latency(
    json_path: Annotated[
        Path | None,
        typer.Option("--json", metavar="OUT", help="The report with every raw sample; a file that is there grows."),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, max=100, help="Fresh processes per configuration; an even number is balanced.")
    ] = 2,
    configurations: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help="Comma-separated: copy, copy-K, plain or ngram-K, with or without -compiled."
        ),
    ] = ",".join(DEFAULT_CONFIGURATIONS),
    concurrency: Annotated[str, typer.Option(metavar="NUMBERS", help="Closed loop: calls in flight.")] = "1",
    rate: Annotated[str, typer.Option(metavar="NUMBERS", help="Open loop: Poisson arrivals a second.")] = "",
    examples: Annotated[str, typer.Option(metavar="NAMES", help="Comma-separated; empty takes them all.")] = "",
    corpus: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Edits of a corpus instead; see `redraft eval corpus`.")
    ] = None,
    forms: Annotated[str, typer.Option(metavar="NAMES", help="Of the corpus's edits, comma-separated.")] = "update",
    max_edits: Annotated[int | None, typer.Option(min=1, help="Draw so many of the corpus by the seed.")] = None,
    max_lines: Annotated[int | None, typer.Option(min=1, help="Leave out longer files of the corpus.")] = None,
    seed: Annotated[int, typer.Option(help="Draws edits and markers' wordings.")] = 0,
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="A running service: copy and plain by the calls' own options."),
    ] = None,
    model: Annotated[
        Path, typer.Option(metavar="DIR", show_default=False, help="Other weights of the embedded kind.")
    ] = EMBEDDED_MODEL_PATH,
) -> None:
    """Time edits through the service, drafted in several ways and not drafted.

    Ratios are against the first configuration. Exit status: 0 when all outputs were identical, 1 when some differ, 2
    for bad arguments, 3 when the service did not run.
    """
    progress = Console(stderr=True, highlight=False)
    try:
        chosen = _configurations(configurations, address)
        loads = parse_loads(concurrency, rate)
        if corpus is None:
            edits: Sequence[ExampleEdit] = _examples(examples)
        else:
            edits = _corpus(corpus, forms, Selection(max_lines=max_lines, max_edits=max_edits, seed=seed))
        report = _begin(json_path, chosen, model)
    except (ValueError, UnknownExampleError, CorpusError, EmptySelectionError, OSError) as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None

    def keep(so_far: LatencyReport) -> None:
        if json_path is not None:
            write_json(json_path, so_far.to_json())

    try:
        report = measure(
            report,
            chosen,
            edits,
            loads,
            repeats=repeats,
            model=model,
            address=address,
            progress=lambda line: progress.print(line, markup=False),
            keep=keep,
        )
    except (LaunchError, RedraftError) as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(3) from None
    show(report, Console())
    if json_path is not None:
        progress.print(f"Samples: {json_path}. Next: redraft eval report {json_path} --html latency.html", markup=False)
    raise typer.Exit(0 if report.identical else 1)


def _begin(path: Path | None, chosen: Sequence[Configuration], model: Path) -> LatencyReport:
    """A new report, or the one that the file holds, to add to. Raises OtherRunError and OSError."""
    subject = chosen[0].name
    reference = next((c.name for c in chosen if c.method == "none"), subject)
    new = LatencyReport(subject, reference, describe(model), ())
    if path is None:
        return new
    path.parent.mkdir(parents=True, exist_ok=True)
    return resume(path, new, LatencyReport.from_json)


def _configurations(names: str, address: str | None) -> list[Configuration]:
    chosen = [parse(name.strip()) for name in names.split(",")]
    if len({configuration.name for configuration in chosen}) < len(chosen):
        raise ValueError("a configuration is named twice")
    if address is not None and any(c.method == "ngram" or c.compiled for c in chosen):
        raise ValueError("a running service offers copy, copy-K and plain: name these, or leave out --address")
    return chosen


def _examples(names: str) -> tuple[ExampleEdit, ...]:
    if not names:
        return load_examples()
    return tuple(load_example(name.strip()) for name in dict.fromkeys(names.split(",")))


def _corpus(path: Path, forms: str, selection: Selection) -> list[ExampleEdit]:
    records = select(load_records(path), selection)
    return [
        ExampleEdit(
            name=f"{case.id}/{form}",
            path=case.record.path,
            language=case.record.language,
            note="",
            original=case.record.before,
            edit=case.edit,
            expected=case.record.after,
        )
        for form in parse_forms(forms)
        for case in cases(records, form, selection.seed)[0]
    ]
