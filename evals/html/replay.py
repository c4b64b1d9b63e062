"""The replay part of the page: runs of `redraft eval replay`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from evals.html.edits import Edits
from evals.html.model import Cell, DotPlot, Figure, Point, Range, Scatter, Section, Table
from evals.html.resample import Array, interval, ratio_of_totals
from evals.html.run_files import RunFile
from evals.html.words import between, cells, percent, ratio

SHOWN_COST: Final = 0.02
"""The cost of a draft token, in passes, that plots are drawn at: between a large GPU (0.006) and a few cores (0.05)."""

SHOWN_POINTS: Final = 60


@dataclass(frozen=True, slots=True)
class Counts:
    """One drafter over the edits of a form, at one cost or at any. Each array has one entry for an edit."""

    passes: Array
    drafted: Array
    accepted: Array
    rejected: Array

    def cost(self, g: float) -> Array:
        """In passes, for each edit."""
        return self.passes + g * self.drafted


@dataclass(frozen=True, slots=True)
class FormRun:
    """The edits of one form. counts: (drafter, g) -> counts; g is None where a drafter does not look at the cost."""

    form: str
    ids: tuple[str, ...]
    tokens: Array
    counts: Mapping[tuple[str, float | None], Counts]
    kinds: Mapping[str, str]
    causes: Mapping[str, Mapping[str, int]]

    def at(self, drafter: str, g: float) -> Counts:
        found = self.counts.get((drafter, g))
        return self.counts[drafter, None] if found is None else found

    def drafters(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind in kinds]

    def speedup(self, drafter: str, g: float) -> float:
        """Over plain decoding, of all edits together."""
        return float(self.tokens.sum() / self.at(drafter, g).cost(g).sum())

    def fastest(self, g: float, *kinds: str) -> str | None:
        return max(self.drafters(*kinds), key=lambda name: self.speedup(name, g), default=None)


@dataclass(frozen=True, slots=True)
class ReplayRun:
    """What the page needs of a replay's file."""

    costs: tuple[float, ...]
    forms: tuple[FormRun, ...]
    corpus: str
    records_sha256: str
    outputs: str
    tokenizer_sha256: str
    seed: int
    note: str
    not_expressible: Mapping[str, Sequence[str]]

    @property
    def shown_cost(self) -> float:
        return SHOWN_COST if SHOWN_COST in self.costs else self.costs[0]


def read_replay(run: RunFile) -> ReplayRun:
    """Raises RunFileError."""
    found = run.read(_parse)
    if not found.forms:
        raise run.fail("it holds no edits: the run was stopped before the first was replayed")
    return found


def _parse(record: dict[str, Any]) -> ReplayRun:
    costs = tuple(float(g) for g in record["costs"])
    if not costs or min(costs) <= 0:
        raise ValueError("costs must be a list of numbers above 0")
    forms = [
        _form(form, part, [row for row in record["rows"] if row["form"] == form], costs)
        for form, part in record["samples"].items()
        if part["ids"]
    ]
    return ReplayRun(
        costs=costs,
        forms=tuple(forms),
        corpus=str(record["corpus"]["file"]),
        records_sha256=str(record["corpus"]["records_sha256"]),
        outputs=str(record["corpus"].get("outputs", "recorded")),
        tokenizer_sha256=str(record["tokenizer"]["sha256"]),
        seed=int(record["seed"]),
        note=str(record["note"]),
        not_expressible={form: list(part["not_expressible"]) for form, part in record["forms"].items()},
    )


def _form(form: str, part: dict[str, Any], rows: list[dict[str, Any]], costs: tuple[float, ...]) -> FormRun:
    ids, tokens = tuple(map(str, part["ids"])), _column(part["tokens"], len(part["ids"]), f"{form}: tokens")
    counts: dict[tuple[str, float | None], Counts] = {}
    for run in part["runs"]:
        name, g = str(run["drafter"]), None if run["g"] is None else float(run["g"])
        columns = (
            _column(run[column], len(ids), f"{form}, {name}: {column}")
            for column in ("passes", "drafted", "accepted", "rejected")
        )
        counts[name, g] = Counts(*columns)
    known = {name for name, _ in counts}
    kinds = {str(row["drafter"]): str(row["kind"]) for row in rows if row["drafter"] in known}
    causes = {str(row["drafter"]): row["passes_by_cause"] for row in rows if row["passes_by_cause"]}
    if known - kinds.keys():
        raise ValueError(f"{form}: there are samples of {', '.join(sorted(known - kinds.keys()))}, and no row")
    for name in sorted(known):
        if (name, None) not in counts and any((name, g) not in counts for g in costs):
            raise ValueError(f"{form}: {name} has not been replayed at every cost")
    if min(tokens.min(), *(found.passes.min() for found in counts.values())) < 1:
        raise ValueError(f"{form}: every edit has a token and a pass at least")
    return FormRun(form, ids, tokens, counts, kinds, causes)


def _column(values: Any, length: int, what: str) -> Array:
    if not isinstance(values, list) or len(values) != length:
        raise ValueError(f"{what} must be a list with one number for each of the {length} edits")
    return np.array(values, dtype=np.float64)


def headline(replay: ReplayRun, letter: str) -> list[Figure]:
    """Of the first form: against the best public drafter, and how near the bound."""
    figures: list[Figure] = []
    form, g = replay.forms[0], replay.shown_cost
    ours, peer = form.fastest(g, "ours"), form.fastest(g, "peer")
    if ours is not None and peer is not None:
        found = interval(_pairs(form, peer, ours, g), ratio_of_totals)
        figures.append(
            Figure(
                name=f"replay-{letter}-against-peer",
                label="times as fast as the best public drafter (replay)",
                value=f"{ratio(found.estimate)}x",
                number=found.estimate,
                unit="ratio of modelled times",
                detail=f"{ours} against {peer}, form {form.form}, draft token = {g:g} passes; 95% interval "
                f"{ratio(found.low)} to {ratio(found.high)}, {len(form.ids)} edits",
            )
        )
    if ours is not None:
        counts = form.at(ours, g)
        value = float(form.tokens.sum() / counts.passes.sum())
        figures.append(
            Figure(
                name=f"replay-{letter}-tokens-per-pass",
                label="tokens per target pass (replay)",
                value=f"{value:.1f}",
                number=value,
                unit="tokens",
                detail=f"{ours}, form {form.form}, draft token = {g:g} passes",
            )
        )
    return figures


def _pairs(form: FormRun, rival: str, subject: str, g: float) -> Array:
    """(edits, 2): modelled time of the rival and of the subject."""
    return np.stack([form.at(rival, g).cost(g), form.at(subject, g).cost(g)], axis=1)


def section(run: RunFile, replay: ReplayRun, edits: Edits, strip_note: str, *, alone: bool) -> Section:
    """strip_note: which edits have a region strip."""
    blocks: list[DotPlot | Scatter | Table] = []
    for form in replay.forms:
        blocks.append(_speed_table(run, replay, form))
        subject = form.fastest(replay.shown_cost, "ours")
        if subject is not None:
            blocks += _against(run, replay, form, subject, edits)
            blocks.append(_by_size(run, replay, form, subject, edits))
            if subject in form.causes:
                blocks.append(_cause_table(run, form))
    _note_edits(run, replay, edits)
    left_out = [
        f"{len(names)} edits cannot be said in the form {form}."
        for form, names in replay.not_expressible.items()
        if names
    ]
    return Section(
        name=f"replay-{run.letter}",
        title="Replay" if alone else f"Replay, run {run.letter}",
        lead=replay.note,
        blocks=tuple(blocks),
        notes=(
            strip_note,
            "Intervals: 95%, bootstrap over edits of the ratio of summed modelled times.",
            *(
                ["Outputs had nothing to do with the edits: the worst that can come."]
                if replay.outputs != "recorded"
                else []
            ),
            *left_out,
        ),
    )


def _speed_table(run: RunFile, replay: ReplayRun, form: FormRun) -> Table:
    made: list[tuple[Cell, ...]] = []
    for name, kind in form.kinds.items():
        counts = form.at(name, replay.shown_cost)
        made.append(
            cells(
                name,
                {"ours": "redraft", "peer": "public", "plain": "simple"}.get(kind, "-"),
                f"{form.tokens.sum() / counts.passes.sum():.1f}",
                f"{counts.drafted.sum() / form.tokens.sum():.2f}",
                percent(float(counts.accepted.sum() / counts.drafted.sum())) if counts.drafted.sum() else "-",
                *(ratio(form.speedup(name, g)) for g in replay.costs),
            )
        )
    return Table(
        f"replay-{run.letter}-{form.form}-speed",
        f"Form {form.form}: {len(form.ids)} edits, {form.tokens.sum():,.0f} tokens. Counts at g={replay.shown_cost:g}; "
        "modelled speed-ups at each g",
        (
            *("drafter", "whose", "tokens/pass", "drafted/token", "accepted"),
            *(f"at g={g:g}" for g in replay.costs),
        ),
        tuple(made),
        frozenset(range(2, 5 + len(replay.costs))),
    )


def _against(
    run: RunFile, replay: ReplayRun, form: FormRun, subject: str, edits: Edits
) -> list[DotPlot | Scatter | Table]:
    g = replay.shown_cost
    rivals = [name for name in form.kinds if name != subject]
    if not rivals:
        return []
    found = {name: interval(_pairs(form, name, subject, g), ratio_of_totals) for name in rivals}
    shown = sorted({index * len(form.ids) // SHOWN_POINTS for index in range(SHOWN_POINTS)})
    if len(form.ids) <= SHOWN_POINTS:
        shown = list(range(len(form.ids)))
    points: list[Point] = []
    for name in rivals:
        pairs = _pairs(form, name, subject, g)
        for index in shown:
            value = float(pairs[index, 0] / pairs[index, 1])
            edit = form.ids[index]
            points.append(Point(name, value, name, f"{edit}, {name}: {ratio(value)}", edits.key(edit)))
    some = "" if len(shown) == len(form.ids) else f" Points: {len(shown)} of the {len(form.ids)} edits, evenly spread."
    plot = DotPlot(
        name=f"replay-{run.letter}-{form.form}-ratios",
        title=f"Drafter against drafter, form {form.form}: modelled time over that of {subject}",
        text=f"Above 1 {subject} was faster, at a draft token = {g:g} passes. Each interval is of all edits together."
        f"{some} The figures are in the next table.",
        axis=f"modelled time / that of {subject}",
        points=tuple(points),
        ranges=tuple(
            Range(name, name, one.low, one.estimate, one.high, f"{name}: {between(one)}") for name, one in found.items()
        ),
        logarithmic=True,
        reference=1.0,
        order=(subject, *rivals),
    )
    table = Table(
        f"replay-{run.letter}-{form.form}-ratio-table",
        f"Form {form.form}: modelled time over that of {subject} at each g, all edits together, with 95% intervals",
        ("against", *(f"g={g:g}" for g in replay.costs)),
        tuple(
            cells(name, *(between(interval(_pairs(form, name, subject, g), ratio_of_totals)) for g in replay.costs))
            for name in rivals
        ),
        frozenset(range(1, 1 + len(replay.costs))),
        long=True,
    )
    return [plot, table]


def _by_size(run: RunFile, replay: ReplayRun, form: FormRun, subject: str, edits: Edits) -> Scatter:
    g = replay.shown_cost
    peer = form.fastest(g, "peer")
    names = [subject] if peer is None else [subject, peer]
    points = [
        Point(float(tokens), float(tokens / cost), name, f"{edit}, {name}: {ratio(tokens / cost)}", edits.key(edit))
        for name in names
        for edit, tokens, cost in zip(form.ids, form.tokens, form.at(name, g).cost(g), strict=True)
    ]
    return Scatter(
        name=f"replay-{run.letter}-{form.form}-sizes",
        title=f"Modelled speed-up of every edit, form {form.form}",
        text=f"Over plain decoding, at a draft token = {g:g} passes, by the length of the file written. A point leads "
        "to its edit: the diff, and where its passes went.",
        across="output tokens",
        axis="modelled speed-up",
        points=tuple(points),
        order=tuple(names),
    )


def _cause_table(run: RunFile, form: FormRun) -> Table:
    columns = list(dict.fromkeys(cause for found in form.causes.values() for cause in found))
    return Table(
        f"replay-{run.letter}-{form.form}-causes",
        f"Form {form.form}: what passes are spent on, at the smallest g",
        ("drafter", *(column.replace("_", " ") for column in columns)),
        tuple(cells(name, *(f"{found.get(column, 0):,}" for column in columns)) for name, found in form.causes.items()),
        frozenset(range(1, 1 + len(columns))),
        long=True,
    )


def _note_edits(run: RunFile, replay: ReplayRun, edits: Edits) -> None:
    """The counts of ours and of the best public drafters, for every edit in every form."""
    made: dict[str, list[tuple[Cell, ...]]] = {}
    g = replay.shown_cost
    for form in replay.forms:
        names = list(dict.fromkeys([*form.drafters("ours"), *filter(None, (form.fastest(g, "peer"),))]))
        for name in names:
            counts = form.at(name, g)
            for index, edit in enumerate(form.ids):
                tokens, cost = form.tokens[index], counts.cost(g)[index]
                made.setdefault(edit, []).append(
                    cells(
                        form.form,
                        name,
                        f"{tokens:.0f}",
                        f"{counts.passes[index]:.0f}",
                        f"{counts.drafted[index]:.0f}",
                        f"{counts.accepted[index]:.0f}",
                        ratio(float(tokens / cost)),
                    )
                )
    for edit, rows in made.items():
        edits.note(
            edit,
            table=Table(
                f"replay-{run.letter}-edit",
                f"Replay run {run.letter}, at a draft token = {g:g} passes",
                ("form", "drafter", "tokens", "passes", "drafted", "accepted", "speed-up"),
                tuple(rows),
                frozenset(range(2, 7)),
            ),
        )
