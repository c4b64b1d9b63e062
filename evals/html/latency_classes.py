"""Latency by request class: the form of the edit and the size of the file. Pure but for the shipped example edits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from drafts.align.plan import Instruction, UnifiedDiff, UpdateSnippet
from evals.comparison import Row
from evals.example_edits import ExampleEdit, load_examples
from evals.html.edits import Edits
from evals.html.latency_parts import order, times
from evals.html.model import Cell, DotPlot, Point, Range, Table
from evals.html.resample import Array, interval, median, quantile, table
from evals.html.run_files import RunFile
from evals.html.words import cells, seconds
from evals.samples import Sample
from evals.stats import Interval
from service.request_class import size_bucket

OTHER_CLASS = "other edits"


def request_classes() -> dict[str, str]:
    """Example -> form and size bucket of the request that it makes; all callers of the benchmark are interactive."""
    return {
        example.name: f"{_form(example)}, {size_bucket(len(example.original.encode()))}" for example in load_examples()
    }


def _form(example: ExampleEdit) -> str:
    match example.edit:
        case UpdateSnippet():
            return "update snippet"
        case UnifiedDiff():
            return "unified diff"
        case Instruction():
            return "instruction"
    return "search/replace"


def _grouped(good: Sequence[Sample], classes: dict[str, str]) -> dict[str, dict[str, list[Sample]]]:
    groups: dict[str, dict[str, list[Sample]]] = defaultdict(lambda: defaultdict(list))
    for sample in good:
        groups[classes.get(sample.example, OTHER_CLASS)][sample.configuration].append(sample)
    order = [*dict.fromkeys(classes.values()), OTHER_CLASS]
    return {name: groups[name] for name in sorted(groups, key=order.index)}


def by_class(
    run: RunFile, rows: Sequence[Row], good: Sequence[Sample], classes: dict[str, str], edits: Edits
) -> DotPlot | None:
    groups = _grouped(good, classes)
    if not groups:
        return None
    points: list[Point] = []
    ranges: list[Range] = []
    for name, by_configuration in groups.items():
        for row in rows:
            found = by_configuration.get(row.configuration, [])
            if not found:
                continue
            middle = interval(times(found), median)
            ranges.append(Range(name, row.configuration, middle.low, middle.estimate, middle.high, "median"))
            points += [
                Point(
                    place=name,
                    value=sample.measurement.total_seconds,
                    series=sample.configuration,
                    label=f"{sample.example}, {sample.configuration}: {seconds(sample.measurement.total_seconds)}",
                    edit=edits.key(sample.example),
                )
                for sample in found
            ]
    return DotPlot(
        name=f"latency-{run.letter}-classes",
        title="Time of an edit, by request class",
        text="The form of the edit and the size of the file (small up to 4 KiB, medium up to 16, large up to 64). The "
        "figures are in the next table.",
        axis="seconds to the last byte",
        points=tuple(points),
        ranges=tuple(ranges),
        logarithmic=True,
        offset=True,
        order=order(rows),
    )


def class_table(run: RunFile, rows: Sequence[Row], good: Sequence[Sample], classes: dict[str, str]) -> Table | None:
    made: list[tuple[Cell, ...]] = []
    for name, by_configuration in _grouped(good, classes).items():
        for row in rows:
            found = by_configuration.get(row.configuration, [])
            if not found:
                continue
            taken, first = times(found), _first_texts(found)
            made.append(
                cells(
                    name,
                    row.configuration,
                    str(len(found)),
                    *(_spread(interval(taken, quantile(q))) for q in (0.5, 0.95, 0.99)),
                    _spread(interval(first, median)) if len(first) else "-",
                )
            )
    if not made:
        return None
    return Table(
        f"latency-{run.letter}-class-table",
        "Percentiles by request class, with 95% bootstrap intervals",
        ("request class", "configuration", "samples", "p50", "p95", "p99", "first text p50"),
        tuple(made),
        frozenset(range(2, 7)),
        long=True,
    )


def _first_texts(samples: Sequence[Sample]) -> Array:
    by_edit: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        if sample.measurement.first_text_seconds is not None:
            by_edit[sample.example].append(sample.measurement.first_text_seconds)
    return table(by_edit)


def _spread(found: Interval) -> str:
    return f"{seconds(found.estimate)} ({seconds(found.low)} to {seconds(found.high)})"
