"""`redraft eval`: measurements of the service."""

from __future__ import annotations

import typer

from evals.alignment_command import align
from evals.corpus.commands import app as corpus
from evals.drafter_cost import drafter_cost
from evals.html.command import report as html_report
from evals.identity.command import identity
from evals.latency_command import latency
from evals.quality.command import quality
from evals.replay.command import replay
from evals.stepcost.command import stepcost

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)


@app.callback()
def evaluate() -> None:
    """Measure the service."""


app.add_typer(corpus, name="corpus")
app.command()(align)
app.command()(drafter_cost)
app.command()(identity)
app.command()(latency)
app.command()(quality)
app.command()(replay)
app.command("report")(html_report)
app.command()(stepcost)
