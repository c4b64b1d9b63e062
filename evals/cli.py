"""`redraft eval`: measurements of the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evals.alignment_command import align
from evals.configurations import DEFAULT_CONFIGURATIONS, Configuration, parse
from evals.corpus.commands import app as corpus
from evals.drafter_cost import drafter_cost
from evals.example_edits import ExampleEdit, UnknownExampleError, load_example, load_examples
from evals.html.command import report as html_report
from evals.identity.command import identity
from evals.json_file import write_json
from evals.latency import measure
from evals.quality.command import quality
from evals.replay.command import replay
from evals.report import LatencyReport, show
from evals.stepcost.command import stepcost
from service.config import EMBEDDED_MODEL_PATH
from service.errors import RedraftError
from service.launch import LaunchError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)


@app.callback()
def evaluate() -> None:
    """Measure the service."""


app.add_typer(corpus, name="corpus")
app.command()(align)
app.command()(drafter_cost)
app.command()(identity)
app.command()(quality)
app.command()(replay)
app.command("report")(html_report)
app.command()(stepcost)


@app.command()
def latency(
    json_path: Annotated[
        Path | None, typer.Option("--json", metavar="OUT", help="Write the report with every raw sample here.")
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
    examples: Annotated[str, typer.Option(metavar="NAMES", help="Comma-separated; empty takes them all.")] = "",
    model: Annotated[
        Path, typer.Option(metavar="DIR", show_default=False, help="Other weights of the embedded kind.")
    ] = (EMBEDDED_MODEL_PATH),
) -> None:
    """Time the example edits on the embedded model, drafted in several ways and not drafted.

    Ratios are against the first configuration. Exit status: 0 when all outputs were identical, 1 when some differ, 2
    for bad arguments, 3 when the service did not run.
    """
    progress = Console(stderr=True, highlight=False)
    try:
        chosen, edits = _configurations(configurations), _examples(examples)
        if json_path is not None:
            json_path.parent.mkdir(parents=True, exist_ok=True)
    except (ValueError, UnknownExampleError, OSError) as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None

    def keep(report: LatencyReport) -> None:
        if json_path is not None:
            write_json(json_path, report.to_json())

    try:
        report = measure(
            chosen,
            edits,
            repeats=repeats,
            model=model,
            progress=lambda line: progress.print(line, markup=False),
            keep=keep,
        )
    except (LaunchError, RedraftError) as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(3) from None
    show(report, Console())
    raise typer.Exit(0 if all(row.identical_rate == 1 for row in report.rows) else 1)


def _configurations(names: str) -> list[Configuration]:
    chosen = [parse(name.strip()) for name in names.split(",")]
    if len({configuration.name for configuration in chosen}) < len(chosen):
        raise ValueError("a configuration is named twice")
    return chosen


def _examples(names: str) -> tuple[ExampleEdit, ...]:
    if not names:
        return load_examples()
    return tuple(load_example(name.strip()) for name in dict.fromkeys(names.split(",")))
