"""The replay's tables on the console."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from evals.replay.costs import COSTS
from evals.replay.report import NOTE, Row
from evals.replay.run import FormEdits

_STYLES = {"ours": "bold", "bound": "dim"}


def form_table(form: str, made: Sequence[Row], edits: FormEdits) -> Table:
    heading = f"Replay, form {form}: {len(edits.ids)} edits, {sum(edits.tokens):,} tokens"
    if edits.not_expressible:
        heading += f"; {len(edits.not_expressible)} edits cannot be said in this form"
    if form != "instruction":
        heading += f"; {edits.exact} predicted exactly"
    table = Table(title=heading, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("\ndrafter", no_wrap=True)
    for name in (
        "\npasses",
        "tokens\n/pass",
        "drafted\n/token",
        *(f"speed-up\ng={g:g}" for g in COSTS),
        "us/step\np50",
        "\np99",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for row in made:
        table.add_row(
            row.drafter,
            f"{row.passes:,}",
            f"{row.tokens_per_pass:.1f}",
            f"{row.drafted_per_token:.2f}",
            *(f"{row.modelled_speedup[f'{g:g}']:.2f}" for g in COSTS),
            *(("-", "-") if row.step_us is None else (f"{value:.0f}" for value in row.step_us)),
            style=_STYLES.get(row.kind, ""),
        )
    return table


def show(made: Sequence[Row], edits: dict[str, FormEdits], console: Console) -> None:
    for form, form_edits in edits.items():
        if form_edits.ids:
            console.print(form_table(form, [row for row in made if row.form == form], form_edits))
            console.print()
    console.print(NOTE, markup=False)
