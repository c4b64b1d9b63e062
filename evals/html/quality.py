"""The quality part of the page: runs of `redraft eval quality`. Pure."""

from __future__ import annotations

from evals.html.edits import Edits
from evals.html.model import Cell, DotPlot, Figure, Range, Section, Table
from evals.html.run_files import RunFile
from evals.html.words import cells, percent
from evals.quality.report import Figures, QualityReport, Row
from evals.quality.samples import QualitySample

ALL = "all languages"


def headline(report: QualityReport, letter: str) -> list[Figure]:
    """Of the first form."""
    figures: list[Figure] = []
    for row in report.rows[:1]:
        share = row.all.byte_exact
        if share.rate is not None:
            figures.append(
                Figure(
                    name=f"quality-{letter}-byte-exact",
                    label="results byte for byte the author's",
                    value=percent(share.rate),
                    number=share.rate,
                    unit="share",
                    detail=f"{share.count} of {share.total} edits, form {row.form}; 95% interval {percent(share.low)} "
                    f"to {percent(share.high)}; the model's quality, not its speed",
                )
            )
    return figures


def section(run: RunFile, report: QualityReport, edits: Edits, *, alone: bool) -> Section:
    rows = report.rows
    for sample in report.samples:
        if not sample.no_op:
            _note(run, sample, edits)
    languages = list(dict.fromkeys(name for row in rows for name in row.by_language))
    ranges: list[Range] = []
    for row in rows:
        for name in (ALL, *languages):
            found = row.all if name == ALL else row.by_language.get(name)
            if found is None:
                continue
            share = found.byte_exact
            if share.rate is not None and share.low is not None and share.high is not None:
                label = f"{name}, {row.form}: {share.percent()} of {share.total}"
                ranges.append(Range(name, row.form, share.low, share.rate, share.high, label))
    plot = DotPlot(
        name=f"quality-{run.letter}-languages",
        title="Byte-exact results, by language",
        text="The share of edits whose result is the author's file, byte for byte, with 95% score intervals. The "
        "figures are in the next table.",
        axis="share of edits",
        points=(),
        ranges=tuple(ranges),
        offset=True,
        order=tuple(row.form for row in rows),
        number_format=".0%",
    )
    notes = [
        "Refused and cut-off answers count as wrong. Nothing is stripped before comparing.",
        *(f"{row.form}: refused: {_counts(row.refused)}." for row in rows if row.refused),
        *(f"{row.not_expressible} edits cannot be said in the form {row.form}." for row in rows if row.not_expressible),
    ]
    return Section(
        name=f"quality-{run.letter}",
        title="Quality" if alone else f"Quality, run {run.letter}",
        lead="What the model made of each edit, against what its author did.",
        blocks=(plot, _table(run, rows), _wrong(run, report, edits)),
        notes=tuple(notes),
    )


def _counts(refused: dict[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in sorted(refused.items()))


def _table(run: RunFile, rows: list[Row]) -> Table:
    made: list[tuple[Cell, ...]] = []
    for row in rows:
        made.append(_cells(row.form, ALL, row.all, row.no_op.percent().split(" ")[0]))
        made += [_cells(row.form, name, found, "") for name, found in row.by_language.items()]
    return Table(
        f"quality-{run.letter}-table",
        "By form and language, 95% interval for byte-exact results",
        (
            *("form", "language", "edits", "byte-exact", "but blank lines", "parses", "hunks applied", "hunks missed"),
            *("other lines changed", "no-op kept"),
        ),
        tuple(made),
        frozenset(range(2, 10)),
    )


def _cells(form: str, language: str, found: Figures, no_op: str) -> tuple[Cell, ...]:
    return cells(
        form,
        language,
        str(found.edits),
        found.byte_exact.percent(),
        percent(found.exact_but_blank_lines.rate),
        percent(found.parses.rate),
        str(found.hunks.count),
        str(found.hunks.total - found.hunks.count),
        str(found.untouched_lines_changed),
        no_op,
    )


def _wrong(run: RunFile, report: QualityReport, edits: Edits) -> Table:
    made = [
        (
            Cell(sample.id, edit=edits.key(sample.id)),
            *cells(
                sample.form,
                sample.language,
                sample.status,
                f"{sample.score.hunks_applied} of {sample.score.hunks}",
                str(sample.score.untouched_lines_changed),
            ),
        )
        for sample in report.samples
        if not sample.no_op and not sample.score.byte_exact
    ]
    return Table(
        f"quality-{run.letter}-wrong",
        f"The {len(made)} results that are not the author's, each with its diff",
        ("edit", "form", "language", "status", "hunks applied", "other lines changed"),
        tuple(made),
        frozenset({4, 5}),
        long=True,
    )


def _note(run: RunFile, sample: QualitySample, edits: Edits) -> None:
    score = sample.score
    said = "byte-exact" if score.byte_exact else "exact but for blank lines" if score.exact_but_blank_lines else "other"
    if sample.status != "OK":
        said = f"refused ({sample.status})"
    edits.note(sample.id, fact=f"quality {run.letter}, {sample.form}: {said}", texts=sample.digest)
    if sample.difference:
        edits.answer(sample.id, f"Quality {run.letter}, {sample.form}: from the author's text to the result",
                     sample.difference)  # fmt: skip
