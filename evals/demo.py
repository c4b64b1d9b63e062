"""`redraft demo`: one example edit on the embedded model, with drafting on and off in turn, on the same engine."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from drafts.align import plan_edit
from evals.call import Called, call
from evals.demo_view import DemoResult, show
from evals.example_edits import ExampleEdit, UnknownExampleError, load_example
from evals.latency import COMMON_ENVIRONMENT
from evals.warm_up import warm_up_edits
from service.client import Client, DraftOptions
from service.errors import RedraftError
from service.launch import LaunchError, launch

DEFAULT_EXAMPLE = "python_duration_parser"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def demo(
    example: Annotated[str, typer.Option(help="Which of evals/examples/ to apply.")] = DEFAULT_EXAMPLE,
    repeats: Annotated[int, typer.Option(min=1, max=50, help="Calls of each kind; the median is shown.")] = 3,
) -> None:
    """Apply an example edit with drafting on and off, and compare.

    Exit status: 0 when all outputs were identical and none was refused, 1 otherwise, 2 for an unknown example, 3 when
    the service did not run.
    """
    console, progress = Console(highlight=False), Console(stderr=True, highlight=False)
    try:
        chosen = load_example(example)
        with progress.status("Starting the service on the embedded model ..."):
            result = run(chosen, repeats)
    except UnknownExampleError as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    except (LaunchError, RedraftError) as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(3) from None
    show(result, console)
    raise typer.Exit(0 if result.identical else 1)


def run(example: ExampleEdit, repeats: int) -> DemoResult:
    """Raises LaunchError or RedraftError when the service does not run."""
    on, off = DraftOptions(enabled=True), DraftOptions(enabled=False)
    drafted: list[Called] = []
    plain: list[Called] = []
    with launch(env=COMMON_ENVIRONMENT) as address, Client(address) as client:
        smallest, *larger = warm_up_edits()
        for edit in larger:  # passes of many tokens; plain decoding has only one kind of pass
            call(client, edit, on)
        call(client, smallest, off)
        for repeat in range(repeats):
            # There and back: neither kind always follows the other.
            first_on = repeat % 2 == 0
            for enabled in (first_on, not first_on):
                (drafted if enabled else plain).append(call(client, example, on if enabled else off))
    failures = [called.failure for called in (*drafted, *plain) if called.failure is not None]
    return DemoResult(
        name=example.name,
        note=example.note,
        path=example.path,
        edit=example.edit,
        original=example.original,
        expected=example.expected,
        predicted=plan_edit(example.original, example.edit, example.language).predicted,
        result=drafted[0].text,
        drafted=tuple(called.measurement for called in drafted),
        plain=tuple(called.measurement for called in plain),
        failure=failures[0] if failures else None,
    )
