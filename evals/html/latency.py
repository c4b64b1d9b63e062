"""The latency part of the page: runs of `redraft eval latency`. Pure but for the shipped example edits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evals.comparison import Row, best
from evals.html.edits import Edits
from evals.html.latency_classes import OTHER_CLASS, by_class, class_table, request_classes
from evals.html.latency_parts import order, times
from evals.html.model import Cell, DotPlot, Figure, Point, Range, Scatter, Section, Table
from evals.html.resample import interval, median
from evals.html.run_files import RunFile
from evals.html.words import between, cells, percent, ratio, seconds
from evals.report import LatencyReport, notes
from evals.samples import Sample


def read_latency(run: RunFile) -> LatencyReport:
    """Raises RunFileError."""
    report = run.read(_parse)
    if not report.samples:
        raise run.fail("it holds no samples: the run was stopped before the first process was done")
    if report.subject not in {sample.configuration for sample in report.samples}:
        raise run.fail(f"it holds no samples of {report.subject!r}, which its ratios are about")
    return report


def _parse(record: dict[str, Any]) -> LatencyReport:
    report = LatencyReport.from_json(record)
    for sample in report.samples:
        seconds_taken = sample.measurement.total_seconds
        if isinstance(seconds_taken, bool) or not isinstance(seconds_taken, int | float) or not seconds_taken > 0:
            raise ValueError(f"a sample of {sample.example} has no time above 0")
    if report.samples and report.subject in {sample.configuration for sample in report.samples}:
        notes(report, report.rows)  # reads what is left: counts, texts' digests, the environment
    return report


def headline(report: LatencyReport, rows: Sequence[Row], letter: str) -> list[Figure]:
    figures: list[Figure] = []
    for prefix, label in (("plain", "plain decoding"), ("ngram", "n-gram drafting")):
        rival = best(rows, prefix)
        if rival is not None and rival.ratio is not None:
            figures.append(
                Figure(
                    name=f"latency-{letter}-against-{prefix}",
                    label=f"times as fast as the best {label}",
                    value=f"{ratio(rival.ratio.estimate)}x",
                    number=rival.ratio.estimate,
                    unit="ratio of times",
                    detail=f"{report.subject} against {rival.configuration}; 95% interval {ratio(rival.ratio.low)} to "
                    f"{ratio(rival.ratio.high)}, {len(rival.ratio_by_example)} paired edits",
                )
            )
    subject = next(row for row in rows if row.configuration == report.subject)
    identical = min((row.identical_rate for row in rows), default=0.0)
    if subject.examples:
        figures += [
            Figure(
                name=f"latency-{letter}-median",
                label="median time of an edit",
                value=seconds(subject.total_seconds_median),
                number=subject.total_seconds_median,
                unit="seconds",
                detail=f"{report.subject}, prompt included; 95th percentile {seconds(subject.total_seconds_p95)}",
            ),
            Figure(
                name=f"latency-{letter}-tokens-per-pass",
                label="tokens per target pass",
                value=f"{subject.tokens_per_pass:.1f}",
                number=subject.tokens_per_pass,
                unit="tokens",
                detail=f"{report.subject}; {percent(subject.acceptance)} of the verified draft tokens accepted",
            ),
        ]
    figures.append(
        Figure(
            name=f"latency-{letter}-identical",
            label="outputs identical",
            value=percent(identical),
            number=identical,
            unit="share",
            detail=f"byte for byte those of {report.reference}, in every repeat and configuration",
        )
    )
    return figures


def section(run: RunFile, report: LatencyReport, rows: Sequence[Row], edits: Edits, *, alone: bool) -> Section:
    classes = request_classes()
    good = [sample for sample in report.samples if sample.measurement.ok]
    for name in dict.fromkeys(sample.example for sample in report.samples):
        edits.note(name, fact=f"request class: {classes.get(name, OTHER_CLASS)}")
        edits.note(name, table=_edit_table(run, name, report.samples))
    blocks = [
        _summary(run, report, rows),
        _by_configuration(run, rows, good, edits),
        _ratios(run, report, rows, edits),
        _ratio_table(run, report, rows),
        _by_size(run, rows, good, edits),
        by_class(run, rows, good, classes, edits),
        class_table(run, rows, good, classes),
    ]
    return Section(
        name=f"latency-{run.letter}",
        title="Latency" if alone else f"Latency, run {run.letter}",
        lead="Time to apply an edit through the service, from sending the request to the last byte, prompt included.",
        blocks=tuple(block for block in blocks if block is not None),
        notes=(
            *notes(report, rows),
            "Points lead to the edit that they measured. Intervals are bootstrap intervals over edits; percentiles "
            "of few samples lie close to the largest one.",
            "This run carries no passes of single edits; a replay run shows acceptance along the file.",
        ),
    )


def _summary(run: RunFile, report: LatencyReport, rows: Sequence[Row]) -> Table:
    columns = ("configuration", "edits", "median", "p95", "first text", "tokens/s", "tokens/pass", "acceptance")
    made: list[tuple[Cell, ...]] = []
    for row in rows:
        found = row.examples > 0
        made.append(
            cells(
                row.configuration,
                str(row.examples),
                seconds(row.total_seconds_median) if found else "-",
                seconds(row.total_seconds_p95) if found else "-",
                seconds(row.first_text_seconds_median) if found else "-",
                f"{row.tokens_per_second:.0f}" if found else "-",
                f"{row.tokens_per_pass:.1f}" if found else "-",
                percent(row.acceptance),
                percent(row.identical_rate),
                "-" if row.ratio is None else between(row.ratio),
            )
        )
    return Table(
        f"latency-{run.letter}-summary",
        "Each configuration over the edits that succeeded in every repeat",
        (*columns, "identical", f"time over {report.subject}"),
        tuple(made),
        frozenset(range(1, 10)),
    )


def _points(samples: Sequence[Sample], edits: Edits) -> tuple[Point, ...]:
    return tuple(
        Point(
            place=sample.configuration,
            value=sample.measurement.total_seconds,
            series=sample.configuration,
            label=f"{sample.example}, repeat {sample.repeat + 1}: {seconds(sample.measurement.total_seconds)}",
            edit=edits.key(sample.example),
        )
        for sample in samples
    )


def _by_configuration(run: RunFile, rows: Sequence[Row], good: Sequence[Sample], edits: Edits) -> DotPlot | None:
    ranges: list[Range] = []
    said: list[str] = []
    for row in rows:
        samples = [sample for sample in good if sample.configuration == row.configuration]
        if samples:
            found = interval(times(samples), median)
            ranges.append(Range(row.configuration, row.configuration, found.low, found.estimate, found.high, "median"))
            said.append(f"{row.configuration} {seconds(found.estimate)}")
    if not ranges:
        return None
    return DotPlot(
        name=f"latency-{run.letter}-times",
        title="Time of an edit, by configuration",
        text=f"Every successful sample, and the medians with their 95% intervals: {', '.join(said)}.",
        axis="seconds to the last byte",
        points=_points(good, edits),
        ranges=tuple(ranges),
        logarithmic=True,
        order=order(rows),
    )


def _ratios(run: RunFile, report: LatencyReport, rows: Sequence[Row], edits: Edits) -> DotPlot | None:
    rivals = [(row, row.ratio) for row in rows if row.ratio is not None]
    if not rivals:
        return None
    said = ", ".join(f"{row.configuration} {between(found)}" for row, found in rivals)
    return DotPlot(
        name=f"latency-{run.letter}-ratios",
        title=f"Drafter against drafter: time over that of {report.subject}, paired by edit",
        text=f"Above 1 {report.subject} was faster. Medians of the paired ratios with 95% intervals: {said}.",
        axis=f"time / time of {report.subject}",
        points=tuple(
            Point(row.configuration, value, row.configuration, f"{name}: {ratio(value)}", edits.key(name))
            for row, _ in rivals
            for name, value in row.ratio_by_example.items()
        ),
        ranges=tuple(
            Range(row.configuration, row.configuration, found.low, found.estimate, found.high, "median")
            for row, found in rivals
        ),
        logarithmic=True,
        reference=1.0,
        order=order(rows),
    )


def _ratio_table(run: RunFile, report: LatencyReport, rows: Sequence[Row]) -> Table | None:
    made = [
        cells(
            row.configuration,
            str(len(row.ratio_by_example)),
            between(row.ratio),
            ratio(min(row.ratio_by_example.values())),
            ratio(max(row.ratio_by_example.values())),
        )
        for row in rows
        if row.ratio is not None
    ]
    if not made:
        return None
    return Table(
        f"latency-{run.letter}-ratio-table",
        f"How many times as fast {report.subject} was, paired by edit, with 95% intervals of the median",
        ("against", "edits", "median ratio", "smallest", "largest"),
        tuple(made),
        frozenset(range(1, 5)),
    )


def _by_size(run: RunFile, rows: Sequence[Row], good: Sequence[Sample], edits: Edits) -> Scatter | None:
    points = tuple(
        Point(
            place=float(sample.measurement.output_tokens),
            value=sample.measurement.total_seconds,
            series=sample.configuration,
            label=f"{sample.example}, {sample.configuration}: {seconds(sample.measurement.total_seconds)}, "
            f"{sample.measurement.output_tokens} tokens in {sample.measurement.target_passes} passes",
            edit=edits.key(sample.example),
        )
        for sample in good
        if sample.measurement.output_tokens > 0
    )
    if not points:
        return None
    return Scatter(
        name=f"latency-{run.letter}-sizes",
        title="Time of an edit, by the length of the file written",
        text="Plain decoding grows with the file; drafting grows with the passes that the edit takes. The same samples "
        "are in the table of each edit.",
        across="output tokens",
        axis="seconds to the last byte",
        points=points,
        order=order(rows),
    )


def _edit_table(run: RunFile, name: str, samples: Sequence[Sample]) -> Table:
    made = [
        cells(
            sample.configuration,
            str(sample.repeat + 1),
            sample.measurement.status if not sample.measurement.ok else seconds(sample.measurement.total_seconds),
            "-" if sample.measurement.first_text_seconds is None else seconds(sample.measurement.first_text_seconds),
            str(sample.measurement.output_tokens),
            str(sample.measurement.target_passes),
            percent(sample.measurement.acceptance),
        )
        for sample in sorted(samples, key=lambda s: s.process)
        if sample.example == name
    ]
    return Table(
        f"latency-{run.letter}-edit",
        f"Samples of latency run {run.letter}, in the order in which they were taken",
        ("configuration", "repeat", "time", "first text", "tokens", "passes", "acceptance"),
        tuple(made),
        frozenset(range(1, 7)),
    )
