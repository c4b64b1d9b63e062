"""The quality part of the page: runs of `redraft eval quality`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from evals.html.edits import Edits
from evals.html.model import Cell, DotPlot, Figure, Range, Section, Table
from evals.html.run_files import RunFile
from evals.html.words import cells, percent
from evals.quality.report import Figures, QualityReport, Row
from evals.quality.samples import QualitySample
from evals.quality.sizes import SIZES
from service.agreement import Agreement

ALL = "all languages"

_AGREEMENTS: Final = {
    Agreement.MODEL_AND_PLAN: "agree",
    Agreement.MODEL_ONLY: "differ",
    Agreement.PLAN_ONLY: "differ, plan's text given",
}
_NOT_RECORDED: Final = "not recorded"


def headline(report: QualityReport, letter: str) -> list[Figure]:
    """Of update snippets, the command's default, or else of the first form."""
    row = min(report.rows, key=lambda row: row.form != "update")
    figures: list[Figure] = []
    share = row.all.byte_exact
    if share.rate is not None:
        figures.append(
            Figure(
                name=f"quality-{letter}-byte-exact",
                label="results byte for byte the author's",
                value=percent(share.rate),
                number=share.rate,
                unit="share",
                detail=f"{share.count} of {share.total} edits, form {row.form}; 95% interval {percent(share.low)} to "
                f"{percent(share.high)}; the model's quality, not its speed",
            )
        )
    agreed = row.agreement.byte_exact[Agreement.MODEL_AND_PLAN]
    if agreed.rate is not None:
        figures.append(
            Figure(
                name=f"quality-{letter}-agreed",
                label="byte-exact where model and plan agree",
                value=percent(agreed.rate),
                number=agreed.rate,
                unit="share",
                detail=f"{agreed.count} of {agreed.total} results, form {row.form}; 95% interval "
                f"{percent(agreed.low)} to {percent(agreed.high)}",
            )
        )
    return figures


def section(run: RunFile, report: QualityReport, edits: Edits, *, alone: bool) -> Section:
    rows = report.rows
    for sample in report.samples:
        if not sample.no_op:
            _note(run, sample, edits)
    languages = [ALL, *sorted({name for row in rows for name in row.by_language})]
    notes = [
        "Refused and cut-off answers count as wrong. Nothing is stripped before comparing.",
        "Model and plan agree where the model's text is the one that aligning the edit with the file predicts. Refused "
        "and cut-off edits have no result.",
        *(f"{row.form}: refused: {_counts(row.refused)}." for row in rows if row.refused),
        *(f"{row.not_expressible} edits cannot be said in the form {row.form}." for row in rows if row.not_expressible),
    ]
    return Section(
        name=f"quality-{run.letter}",
        title="Quality" if alone else f"Quality, run {run.letter}",
        lead="What the model made of each edit, against what its author did.",
        blocks=(
            _plot(run, rows, "languages", "language", languages, _by_language),
            _language_table(run, rows),
            _plot(run, rows, "sizes", "size of the file", [str(size) for size in SIZES], _by_size),
            _size_table(run, rows),
            _agreement_table(run, rows),
            _wrong(run, report, edits),
        ),
        notes=tuple(notes),
    )


def _counts(refused: dict[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in sorted(refused.items()))


def _by_language(row: Row) -> dict[str, Figures]:
    return {ALL: row.all, **row.by_language}


def _by_size(row: Row) -> dict[str, Figures]:
    return {str(size): found for size, found in row.by_size.items()}


def _plot(
    run: RunFile,
    rows: Sequence[Row],
    name: str,
    what: str,
    places: Sequence[str],
    parts: Callable[[Row], dict[str, Figures]],
) -> DotPlot:
    """what: the edits are told apart by. places: all that there may be, in the order to show them."""
    ranges: list[Range] = []
    for place in places:
        for row in rows:
            found = parts(row).get(place)
            if found is None:
                continue
            share = found.byte_exact
            if share.rate is not None and share.low is not None and share.high is not None:
                label = f"{place}, {row.form}: {share.percent()} of {share.total}"
                ranges.append(Range(place, row.form, share.low, share.rate, share.high, label))
    return DotPlot(
        name=f"quality-{run.letter}-{name}",
        title=f"Byte-exact results, by {what}",
        text="The share of edits whose result is the author's file, byte for byte, with 95% score intervals. The "
        "figures are in the next table.",
        axis="share of edits",
        points=(),
        ranges=tuple(ranges),
        offset=True,
        order=tuple(row.form for row in rows),
        number_format=".0%",
    )


def _language_table(run: RunFile, rows: Sequence[Row]) -> Table:
    made: list[tuple[Cell, ...]] = []
    for row in rows:
        no_op = row.no_op.percent().split(" ")[0]
        made += [
            cells(row.form, name, *_shares(found), *_lines(found), no_op if name == ALL else "")
            for name, found in _by_language(row).items()
        ]
    return Table(
        f"quality-{run.letter}-table",
        "By form and language, 95% interval for byte-exact results",
        ("form", "language", *_SHARES, "hunks applied", "hunks missed", "other lines changed", "no-op kept"),
        tuple(made),
        frozenset(range(2, 10)),
    )


def _size_table(run: RunFile, rows: Sequence[Row]) -> Table:
    return Table(
        f"quality-{run.letter}-size-table",
        "By form and size of the file, 95% interval for byte-exact results",
        ("form", "file", *_SHARES),
        tuple(cells(row.form, name, *_shares(found)) for row in rows for name, found in _by_size(row).items()),
        frozenset(range(2, 6)),
    )


_SHARES: Final = ("edits", "byte-exact", "but blank lines", "parses")


def _shares(found: Figures) -> tuple[str, ...]:
    return (
        str(found.edits),
        found.byte_exact.percent(),
        percent(found.exact_but_blank_lines.rate),
        percent(found.parses.rate),
    )


def _lines(found: Figures) -> tuple[str, ...]:
    return str(found.hunks.count), str(found.hunks.total - found.hunks.count), str(found.untouched_lines_changed)


def _agreement_table(run: RunFile, rows: Sequence[Row]) -> Table:
    """An agreement that no result has gets no line, but for the one that the claim is about."""
    made: list[tuple[Cell, ...]] = []
    for row in rows:
        found = row.agreement
        if found.recorded or not found.not_recorded:
            made += [
                cells(row.form, _AGREEMENTS[agreement], str(share.total), str(share.count), share.percent())
                for agreement, share in found.byte_exact.items()
                if share.total or agreement is Agreement.MODEL_AND_PLAN
            ]
        if found.not_recorded:
            made.append(cells(row.form, _NOT_RECORDED, str(found.not_recorded), "-", "-"))
    return Table(
        f"quality-{run.letter}-agreement",
        "Results by whether model and plan agree, 95% interval",
        ("form", "model and plan", "results", "byte-exact", "share"),
        tuple(made),
        frozenset({2, 3, 4}),
    )


def _wrong(run: RunFile, report: QualityReport, edits: Edits) -> Table:
    made = [
        (
            Cell(sample.id, edit=edits.key(sample.id)),
            *cells(
                sample.form,
                sample.language,
                sample.status,
                _agreement(sample),
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
        ("edit", "form", "language", "status", "model and plan", "hunks applied", "other lines changed"),
        tuple(made),
        frozenset({5, 6}),
        long=True,
    )


def _agreement(sample: QualitySample) -> str:
    if sample.status != "OK":
        return "-"
    return _NOT_RECORDED if sample.agreement is None else _AGREEMENTS[sample.agreement]


def _note(run: RunFile, sample: QualitySample, edits: Edits) -> None:
    score = sample.score
    said = "byte-exact" if score.byte_exact else "exact but for blank lines" if score.exact_but_blank_lines else "other"
    if sample.status != "OK":
        said = f"refused ({sample.status})"
    elif sample.agreement is not None:
        said += f"; model and plan {_AGREEMENTS[sample.agreement]}"
    edits.note(sample.id, fact=f"quality {run.letter}, {sample.form}: {said}", texts=sample.digest)
    if sample.difference:
        edits.answer(sample.id, f"Quality {run.letter}, {sample.form}: from the author's text to the result",
                     sample.difference)  # fmt: skip
