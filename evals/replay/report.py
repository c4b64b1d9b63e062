"""The replay's report: one object for the JSON file and the tables."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from evals.replay.causes import Cause
from evals.replay.costs import COSTS, bound, speedup
from evals.replay.drafters import UNLIMITED, Entrant
from evals.replay.run import Replayed, Run

SCHEMA: Final = 1
NOTE: Final = (
    "A replay: recorded outputs are fed through the drafters as a target model would emit them. No model ran; passes "
    "and tokens are exact, speed-ups are modelled (a pass costs 1 and g for each draft token)."
)


@dataclass(frozen=True, slots=True)
class Row:
    """One drafter on the edits of one form.

    passes and what follows from it are of the run at the smallest cost for a drafter that looks at the cost;
    by_cost has the others. modelled_speedup is at each cost from the run at that cost. profile_speedup: over plain
    decoding by a measured profile of passes, where one was given.
    """

    drafter: str
    kind: str
    form: str
    k: int
    edits: int
    tokens: int
    passes: int
    drafted: int
    accepted: int
    rejected: int
    modelled_speedup: dict[str, float]
    by_cost: dict[str, dict[str, Any]]
    causes: dict[str, int] | None
    step_us: tuple[float, float] | None
    start_us: tuple[float, float] | None
    profile_speedup: float | None = None

    @property
    def tokens_per_pass(self) -> float:
        return self.tokens / self.passes

    @property
    def drafted_per_token(self) -> float:
        return self.drafted / self.tokens

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "drafter": self.drafter,
            "kind": self.kind,
            "form": self.form,
            "k": None if self.k == UNLIMITED else self.k,
            "edits": self.edits,
            "tokens": self.tokens,
            "passes": self.passes,
            "tokens_per_pass": self.tokens_per_pass,
            "drafted_per_token": self.drafted_per_token,
            "drafted": self.drafted,
            "accepted": self.accepted,
            "rejected": self.rejected,
            "modelled_speedup": self.modelled_speedup,
            "by_cost": self.by_cost,
            "profile_speedup": self.profile_speedup,
            "passes_by_cause": self.causes,
            "drafter_us_per_step": _quantiles(self.step_us),
            "drafter_us_to_start": _quantiles(self.start_us),
        }
        return row


def _quantiles(pair: tuple[float, float] | None) -> dict[str, float] | None:
    return None if pair is None else {"p50": pair[0], "p99": pair[1]}


def rows(replayed: Replayed, entrants: Sequence[Entrant]) -> list[Row]:
    """In the order of forms and drafters; after each form's, the bounds of perfect drafting."""
    made: list[Row] = []
    for form, edits in replayed.edits.items():
        if not edits.ids:
            continue
        for entrant in entrants:
            runs = [run for run in replayed.runs if run.form == form and run.entrant.name == entrant.name]
            row = _row(entrant, form, runs, sum(edits.tokens))
            if replayed.profile_cost is not None:
                run = next(run for run in runs if run.g in (None, replayed.profile_cost))
                row = replace(row, profile_speedup=edits.plain_seconds / run.seconds)
            made.append(row)
        made += bound_rows(form, edits.tokens, sorted({e.k for e in entrants if e.kind == "ours"} | {UNLIMITED}))
    return made


def bound_rows(form: str, lengths: Sequence[int], ks: Sequence[int]) -> list[Row]:
    """Perfect drafting: nothing drafted in vain, the fewest passes that k allows."""
    made: list[Row] = []
    for k in ks:
        passes, drafted = bound(lengths, k)
        name = "bound" if k == UNLIMITED else f"bound-{k}"
        tokens = sum(lengths)
        speedups = {f"{g:g}": speedup(tokens, passes, drafted, g) for g in COSTS}
        counts = (len(lengths), tokens, passes, drafted, drafted, 0)
        made.append(Row(name, "bound", form, k, *counts, speedups, {}, None, None, None))
    return made


def _row(entrant: Entrant, form: str, runs: Sequence[Run], tokens: int) -> Row:
    first = runs[0]
    totals = {run.g: (sum(run.passes), sum(run.drafted)) for run in runs}
    return Row(
        drafter=entrant.name,
        kind=entrant.kind,
        form=form,
        k=entrant.k,
        edits=len(first.passes),
        tokens=tokens,
        passes=sum(first.passes),
        drafted=sum(first.drafted),
        accepted=sum(first.accepted),
        rejected=sum(first.rejected),
        modelled_speedup={f"{g:g}": speedup(tokens, *totals[g if entrant.by_cost else None], g) for g in COSTS},
        by_cost={f"{run.g:g}": _at_cost(run, tokens) for run in runs if run.g is not None},
        causes=_causes(first),
        step_us=_microseconds(run.step_ns for run in runs),
        start_us=_microseconds(run.start_ns for run in runs),
    )


def _at_cost(run: Run, tokens: int) -> dict[str, Any]:
    passes, drafted = sum(run.passes), sum(run.drafted)
    return {
        "passes": passes,
        "drafted": drafted,
        "accepted": sum(run.accepted),
        "rejected": sum(run.rejected),
        "tokens_per_pass": tokens / passes,
        "drafted_per_token": drafted / tokens,
        "passes_by_cause": _causes(run),
    }


def _causes(run: Run) -> dict[str, int] | None:
    return {cause.value: run.causes[cause] for cause in Cause} if run.causes else None


def _microseconds(parts: Iterable[array[int]]) -> tuple[float, float] | None:
    filled = [np.frombuffer(part, dtype=np.int64) for part in parts if len(part)]
    if not filled:
        return None
    values = np.concatenate(filled)
    p50, p99 = np.quantile(values, (0.5, 0.99)) / 1000.0
    return float(p50), float(p99)


def best_peers(made: Sequence[Row]) -> list[dict[str, Any]]:
    """For each form and cost the best public drafter among those replayed, and ours as multiples of it.

    perfect: what drafting every edit whole, in one pass, is of it: no drafter can be more.
    """
    found: list[dict[str, Any]] = []
    for form in dict.fromkeys(row.form for row in made):
        peers = [row for row in made if row.form == form and row.kind == "peer"]
        ours = [row for row in made if row.form == form and row.kind == "ours"]
        if not peers:
            continue
        perfect = next(row for row in made if row.form == form and row.kind == "bound" and row.k == UNLIMITED)
        for g in map("{:g}".format, COSTS):
            best = max(peers, key=lambda row: row.modelled_speedup[g])
            speed = best.modelled_speedup[g]
            found.append(
                {
                    "form": form,
                    "g": float(g),
                    "drafter": best.drafter,
                    "modelled_speedup": speed,
                    "ours": {row.drafter: row.modelled_speedup[g] / speed for row in ours},
                    "perfect": perfect.modelled_speedup[g] / speed,
                }
            )
    return found


def samples(replayed: Replayed) -> dict[str, Any]:
    """Every count of every edit, in columns."""

    def columns(run: Run) -> dict[str, Any]:
        names = ("passes", "drafted", "accepted", "rejected")
        values: dict[str, array[int]] = {name: getattr(run, name) for name in names}
        return {"drafter": run.entrant.name, "g": run.g} | {name: list(value) for name, value in values.items()}

    return {
        form: {
            "ids": edits.ids,
            "tokens": edits.tokens,
            "runs": [columns(run) for run in replayed.runs if run.form == form],
        }
        for form, edits in replayed.edits.items()
    }
