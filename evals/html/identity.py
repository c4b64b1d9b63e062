"""The identity part of the page: runs of `redraft eval identity`. Pure."""

from __future__ import annotations

from evals.html.edits import Edits
from evals.html.model import Cell, DotPlot, Figure, Range, Section, Table
from evals.html.run_files import RunFile
from evals.html.words import cells, percent
from evals.identity.report import IdentityReport, Row
from evals.identity.samples import Side
from evals.proportion import Proportion

DRAFTED = "with drafting against without"
CONTROL = "without, decoded again"


def headline(report: IdentityReport, letter: str) -> list[Figure]:
    """Over all forms and concurrencies together, beside the control."""
    rows = report.rows
    identical, control = _sum([row.identical for row in rows]), _sum([row.control for row in rows])
    if identical.rate is None:
        return []
    return [
        Figure(
            name=f"identity-{letter}-rate",
            label="outputs identical, token for token",
            value=percent(identical.rate),
            number=identical.rate,
            unit="share",
            detail=f"{identical.count} of {identical.total} decodings with {report.drafter}; 95% interval "
            f"{percent(identical.low)} to {percent(identical.high)}; control {percent(control.rate)}",
        )
    ]


def _sum(shares: list[Proportion]) -> Proportion:
    return Proportion(sum(share.count for share in shares), sum(share.total for share in shares))


def _place(row: Row) -> str:
    return f"{row.form}, {row.concurrency} in flight"


def section(run: RunFile, report: IdentityReport, edits: Edits, *, alone: bool) -> Section:
    rows = report.rows
    for sample in report.samples:
        said = "identical" if sample.difference is None else f"different from token {sample.difference.position} on"
        fact = f"identity {run.letter}, {sample.form}, {sample.concurrency} in flight: {said}"
        edits.note(sample.id, fact=fact, texts=sample.digest)
    ranges = [
        Range(_place(row), series, share.low, share.rate, share.high, f"{series}: {share.percent()}")
        for row in rows
        for series, share in ((DRAFTED, row.identical), (CONTROL, row.control))
        if share.rate is not None and share.low is not None and share.high is not None
    ]
    said = "; ".join(f"{_place(row)}: {row.identical.percent()}, control {row.control.percent()}" for row in rows)
    plot = DotPlot(
        name=f"identity-{run.letter}-rates",
        title="Share of edits with the same output",
        text=f"With 95% score intervals. {said}.",
        axis="share of edits",
        points=(),
        ranges=tuple(ranges),
        offset=True,
        order=(DRAFTED, CONTROL),
        number_format=".1%",
    )
    left_out = [f"{_place(row)}: {count} refused before decoding ({reason})." for row in rows
                for reason, count in sorted(row.refused.items())]  # fmt: skip
    left_out += [
        f"{row.form}: {row.not_expressible} edits cannot be said in it." for row in rows if row.not_expressible
    ]
    return Section(
        name=f"identity-{run.letter}",
        title="Identity" if alone else f"Identity, run {run.letter}",
        lead="Every edit decoded with and without drafting on one engine, and compared token for token.",
        blocks=(plot, _rates(run, rows), *_differences(run, rows, edits)),
        notes=(
            "The control decodes without drafting twice, and at another concurrency: what differs there is not the "
            "drafter's doing.",
            *([] if any(row.differences for row in rows) else ["No output differed."]),
            *dict.fromkeys(left_out),
        ),
    )


def _rates(run: RunFile, rows: list[Row]) -> Table:
    return Table(
        f"identity-{run.letter}-table",
        "Outputs with drafting against outputs without, with 95% intervals",
        ("form and concurrency", "edits", "tokens", "passes", "identical", "control", "differences"),
        tuple(
            cells(
                _place(row),
                str(row.identical.total),
                f"{row.output_tokens:,}",
                f"{row.target_passes:,}",
                row.identical.percent(),
                row.control.percent(),
                str(len(row.differences)),
            )
            for row in rows
        ),
        frozenset(range(1, 7)),
    )


def _differences(run: RunFile, rows: list[Row], edits: Edits) -> tuple[Table, ...]:
    """A table of all of them; none where no output differed."""
    made: list[tuple[Cell, ...]] = []
    for row in rows:
        for name, found in row.differences:
            status = found.plain_status
            if found.drafted_status != status:
                status = f"{status} / {found.drafted_status}"
            made.append(
                (
                    Cell(name, edit=edits.key(name)),
                    *cells(
                        _place(row),
                        str(found.position),
                        _token(found.plain),
                        _token(found.drafted),
                        _margin(found.plain),
                        _margin(found.drafted),
                        "unknown" if found.pass_width is None else str(found.pass_width),
                        status,
                    ),
                )
            )
    if not made:
        return ()
    return (
        Table(
            f"identity-{run.letter}-differences",
            "Every difference: the first token that differs, how close the model's choice was, how wide the pass was",
            (
                *("edit", "form and concurrency", "position", "without drafting", "with drafting"),
                *("top-2 margin without, nats", "with", "pass width", "status"),
            ),
            tuple(made),
            frozenset({2, 5, 6, 7}),
        ),
    )


def _token(side: Side) -> str:
    return "the end" if side.token is None else f"{side.token} {side.text!r}"


def _margin(side: Side) -> str:
    return "not reproduced" if side.margin is None else f"{side.margin:.3g}"
