"""The replay's tables on the console. Each says that it is a replay."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from evals.replay.costs import COSTS
from evals.replay.report import NOTE, Row, best_peers
from evals.replay.run import FormEdits

_STYLES = {"ours": "bold", "bound": "dim"}
_GS = tuple(f"{g:g}" for g in COSTS)


def show(made: Sequence[Row], edits: dict[str, FormEdits], console: Console, *, unrelated: bool = False) -> None:
    """unrelated: the outputs have nothing to do with the edits, so there is nothing to say of their causes."""
    for form, form_edits in edits.items():
        chosen = [row for row in made if row.form == form]
        if not chosen:
            continue
        console.print(_speed_table(form, chosen, form_edits, unrelated))
        console.print()
        if any(row.kind == "ours" for row in chosen) and not unrelated:
            console.print(_cause_table(form, chosen))
            console.print()
        for line in _against_peers(chosen):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        console.print()
    console.print(NOTE, markup=False, highlight=False)


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _speed_table(form: str, made: Sequence[Row], edits: FormEdits, unrelated: bool) -> Table:
    title = "Replay of unrelated outputs" if unrelated else "Replay"
    title += f", form {form}: {len(edits.ids)} edits, {sum(edits.tokens):,} tokens"
    if form != "instruction" and not unrelated:
        title += f", {edits.exact} results predicted exactly"
    if edits.not_expressible:
        title += f"; {len(edits.not_expressible)} edits cannot be said in this form"
    speedups = [f"speed-up\ng={g}" for g in _GS]
    profiled = any(row.profile_speedup is not None for row in made)
    if profiled:
        speedups.append("by the\nprofile")
    table = _table(
        title, "\ndrafter", "\npasses", "tokens\n/pass", "drafted\n/token", *speedups, "us/step\np50", "\np99"
    )
    for row in made:
        table.add_row(
            row.drafter,
            f"{row.passes:,}",
            f"{row.tokens_per_pass:.1f}",
            f"{row.drafted_per_token:.2f}",
            *(f"{row.modelled_speedup[g]:.2f}" for g in _GS),
            *([] if not profiled else ["-" if row.profile_speedup is None else f"{row.profile_speedup:.2f}"]),
            *(("-", "-") if row.step_us is None else (f"{value:.0f}" for value in row.step_us)),
            style=_STYLES.get(row.kind, ""),
        )
    return table


def _cause_table(form: str, made: Sequence[Row]) -> Table:
    """Ours at each cost: how near the bound, and why the passes ended where they did."""
    table = _table(
        f"Replay, form {form}: what passes are spent on",
        "drafter\nat g",
        "\nspeed-up",
        "of the\nbound",
        "\npasses",
        "bound\npasses",
        "rejected\n/token",
        "pre-\nfill",
        "\nlast",
        "\nk max",
        "draft\nshort",
        "not pre-\ndicted",
        "token-\nization",
        "wrong\nplace",
        "\nlost",
    )
    bounds = {row.drafter: row for row in made if row.kind == "bound"}
    for row in made:
        if row.kind != "ours":
            continue
        perfect = bounds[f"bound-{row.k}"]
        for g in _GS:
            # A drafter that does not look at the cost has one run for all.
            run = row.by_cost.get(g) or {"passes": row.passes, "rejected": row.rejected, "passes_by_cause": row.causes}
            table.add_row(
                f"{row.drafter} {g}",
                f"{row.modelled_speedup[g]:.2f}",
                f"{row.modelled_speedup[g] / perfect.modelled_speedup[g]:.0%}",
                f"{run['passes']:,}",
                f"{perfect.passes:,}",
                f"{run['rejected'] / row.tokens:.3f}",
                *(f"{count:,}" for count in run["passes_by_cause"].values()),
            )
    return table


def _against_peers(made: Sequence[Row]) -> list[str]:
    return [
        f"At g={best['g']:g} the best public drafter here is {best['drafter']} with {best['modelled_speedup']:.2f}"
        + "".join(f"; {name} is {ratio:.2f} times as fast" for name, ratio in best["ours"].items())
        + f"; perfect drafting would be {best['perfect']:.2f}."
        for best in best_peers(made)
    ]
