"""The quality report: one object that feeds the console and the JSON file. Pure but for rich's drawing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evals.corpus_report import CorpusReport
from evals.proportion import Proportion
from evals.quality.agreement import AgreementFigures, agreement_figures
from evals.quality.samples import QualitySample
from evals.quality.sizes import SIZES, Size, size_of
from service.agreement import Agreement


@dataclass(frozen=True, slots=True)
class Figures:
    """Over some edits. parses: of those of which it can be told. Shares count refused edits as wrong."""

    edits: int
    byte_exact: Proportion
    exact_but_blank_lines: Proportion
    parses: Proportion
    hunks: Proportion
    untouched_lines_changed: int

    def to_json(self) -> dict[str, Any]:
        return {
            "edits": self.edits,
            "byte_exact": self.byte_exact.rate,
            "byte_exact_count": self.byte_exact.count,
            "byte_exact_interval": [self.byte_exact.low, self.byte_exact.high],
            "exact_but_blank_lines": self.exact_but_blank_lines.rate,
            "parses": self.parses.rate,
            "parses_of": self.parses.total,
            "hunks": {
                "applied": self.hunks.count,
                "missed": self.hunks.total - self.hunks.count,
                "applied_rate": self.hunks.rate,
            },
            "untouched_lines_changed": self.untouched_lines_changed,
        }


def figures(samples: Sequence[QualitySample]) -> Figures:
    scores = [sample.score for sample in samples]
    return Figures(
        edits=len(scores),
        byte_exact=_share(score.byte_exact for score in scores),
        exact_but_blank_lines=_share(score.exact_but_blank_lines for score in scores),
        parses=_share(score.parses for score in scores if score.parses is not None),
        hunks=Proportion(sum(score.hunks_applied for score in scores), sum(score.hunks for score in scores)),
        untouched_lines_changed=sum(score.untouched_lines_changed for score in scores),
    )


@dataclass(frozen=True, slots=True)
class Row:
    """One form. refused: reason -> edits. by_size: only the sizes that some edit's file is of, the smallest first.

    no_op: edits that change nothing, and gave the same bytes. no_op_refused: those for which the service gave an error
    instead: they count as wrong, and the caller's file is safe all the same.
    """

    form: str
    all: Figures
    by_language: dict[str, Figures]
    by_size: dict[Size, Figures]
    agreement: AgreementFigures
    no_op: Proportion
    no_op_refused: int
    refused: dict[str, int]
    not_expressible: int
    output_tokens: int
    target_passes: int


@dataclass(slots=True)
class QualityReport(CorpusReport[QualitySample]):
    """What has been applied so far."""

    KIND: ClassVar[str] = "quality"

    @property
    def rows(self) -> list[Row]:
        return [self._row(form) for form in sorted({sample.form for sample in self.samples})]

    def _row(self, form: str) -> Row:
        edits = [sample for sample in self.samples if sample.form == form and not sample.no_op]
        no_ops = [sample for sample in self.samples if sample.form == form and sample.no_op]
        languages: dict[str, list[QualitySample]] = defaultdict(list)
        sizes: dict[Size, list[QualitySample]] = defaultdict(list)
        for sample in edits:
            languages[sample.language].append(sample)
            sizes[size_of(sample.lines)].append(sample)
        return Row(
            form=form,
            all=figures(edits),
            by_language={name: figures(languages[name]) for name in sorted(languages)},
            by_size={size: figures(sizes[size]) for size in SIZES if size in sizes},
            agreement=agreement_figures(edits),
            no_op=_share(sample.score.byte_exact for sample in no_ops),
            no_op_refused=sum(sample.status != "OK" for sample in no_ops),
            refused=dict(Counter(sample.status for sample in edits if sample.status != "OK")),
            not_expressible=self.not_expressible.get(form, 0),
            output_tokens=sum(sample.output_tokens for sample in edits),
            target_passes=sum(sample.target_passes for sample in edits),
        )

    def done(self, digests: dict[str, str]) -> set[tuple[str, str, bool]]:
        """What need not be applied again: id, form, no-op. digests: id -> digest of the corpus at hand."""
        return {(s.id, s.form, s.no_op) for s in self.samples if digests.get(s.id) == s.digest}

    def row_to_json(self, row: Row) -> dict[str, Any]:
        return {
            "form": row.form,
            "drafter": self.drafter,
            "configuration": self.setup["configuration"],
            **row.all.to_json(),
            "no_op": {
                "edits": row.no_op.total,
                "same_bytes_rate": row.no_op.rate,
                "refused": row.no_op_refused,
                "changed": row.no_op.total - row.no_op.count - row.no_op_refused,
            },
            "agreement": row.agreement.to_json(),
            "agreement_not_recorded": row.agreement.not_recorded,
            "refused": row.refused,
            "not_expressible": row.not_expressible,
            "output_tokens": row.output_tokens,
            "target_passes": row.target_passes,
            "by_language": {name: found.to_json() for name, found in row.by_language.items()},
            "by_size": [{"lines": list(size), **found.to_json()} for size, found in row.by_size.items()],
        }

    @staticmethod
    def sample_from_json(record: dict[str, Any]) -> QualitySample:
        return QualitySample.from_json(record)


def _share(verdicts: Iterable[bool]) -> Proportion:
    values = list(verdicts)
    return Proportion(sum(values), len(values))


def render(report: QualityReport) -> RenderableType:
    """At most 80 columns wide."""
    table = Table(
        title="Results against the author's own",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("form, language,\nsize of file", no_wrap=True)
    headings = (
        "\nedits",
        "\nbyte-exact",
        "but blank\nlines",
        "\nparses",
        "\nhunks",
        "other lines\nchanged",
        "no-op\nkept",
    )
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in report.rows:
        table.add_row(*_cells(row.form, row.all), _percent(row.no_op), style="bold")
        for name, found in row.by_language.items():
            table.add_row(*_cells(f"  {name}", found), "")
        for size, found in row.by_size.items():
            table.add_row(*_cells(f"  {size}", found), "")
    return Group(table, *(Text(line) for line in _notes(report)))


def _cells(name: str, found: Figures) -> tuple[str, ...]:
    return (
        name,
        str(found.edits),
        _percent(found.byte_exact),
        _percent(found.exact_but_blank_lines),
        _percent(found.parses),
        _percent(found.hunks),
        str(found.untouched_lines_changed),
    )


def _percent(share: Proportion) -> str:
    return share.percent().split(" ")[0]


def _agreement(found: AgreementFigures) -> str:
    if found.not_recorded and not found.recorded:
        return "agreement of model and plan: not recorded"
    agree, differ = found.byte_exact[Agreement.MODEL_AND_PLAN], found.byte_exact[Agreement.MODEL_ONLY]
    planned = found.byte_exact[Agreement.PLAN_ONLY]
    interval = f" (95% {agree.percent().partition(' (')[2]}" if agree.total else ""
    said = [
        f"agree: {agree.total}, of which right {agree.count}{interval}",
        f"differ: {differ.total}, right {differ.count}",
        *([f"differ, plan's text given: {planned.total}, right {planned.count}"] if planned.total else []),
        *([f"not recorded: {found.not_recorded}"] if found.not_recorded else []),
    ]
    return "; ".join(said)


def _notes(report: QualityReport) -> list[str]:
    lines = ["", "Refused and cut-off answers count as wrong. Nothing is stripped before comparing."]
    if any(row.agreement.recorded for row in report.rows):
        lines.append("agree: the model's text is as aligning the edit with the file predicts.")
    for row in report.rows:
        lines.append(f"{row.form}: byte-exact, 95% interval: {row.all.byte_exact.percent()}.")
        lines.append(f"{row.form}: {_agreement(row.agreement)}.")
        if row.refused:
            counts = ", ".join(f"{reason} {count}" for reason, count in sorted(row.refused.items()))
            lines.append(f"{row.form}: refused: {counts}.")
        if row.no_op.count < row.no_op.total:
            changed = row.no_op.total - row.no_op.count - row.no_op_refused
            lines.append(
                f"{row.form}: of {row.no_op.total} edits that change nothing, {row.no_op_refused} were refused and "
                f"{changed} changed the file."
            )
        if row.not_expressible:
            lines.append(f"{row.form}: {row.not_expressible} edits cannot be said in this form.")
    return lines
