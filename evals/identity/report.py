"""The identity report: one object that feeds the console and the JSON file. Pure but for rich's drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evals.corpus_report import CorpusReport
from evals.identity.samples import Difference, IdentitySample
from evals.proportion import Proportion

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Row:
    """One form at one concurrency. control: edits whose outputs without drafting were the same every time."""

    form: str
    drafter: str
    concurrency: int
    identical: Proportion
    control: Proportion
    repeated: Proportion
    elsewhere: Proportion
    output_tokens: int
    target_passes: int
    differences: tuple[tuple[str, Difference], ...]
    refused: dict[str, int] = field(default_factory=dict)
    not_expressible: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "form": self.form,
            "drafter": self.drafter,
            "configuration": f"{self.drafter}, concurrency {self.concurrency}",
            "concurrency": self.concurrency,
            "edits": self.identical.total,
            "identical_rate": self.identical.rate,
            "identical_interval": _interval(self.identical),
            "control_rate": self.control.rate,
            "control_interval": _interval(self.control),
            "control": {
                "repeated": {"edits": self.repeated.total, "identical_rate": self.repeated.rate},
                "other_concurrency": {"edits": self.elsewhere.total, "identical_rate": self.elsewhere.rate},
            },
            "output_tokens": self.output_tokens,
            "target_passes": self.target_passes,
            "refused": self.refused,
            "not_expressible": self.not_expressible,
            "differences": [{"id": name, **asdict(difference)} for name, difference in self.differences],
        }


@dataclass(slots=True)
class IdentityReport(CorpusReport[IdentitySample]):
    """refused: form -> case id -> reason. The other fields are those of every run over a corpus."""

    KIND: ClassVar[str] = "identity"

    refused: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def rows(self) -> list[Row]:
        places = dict.fromkeys((sample.form, sample.concurrency) for sample in self.samples)
        return [
            _row(
                form,
                concurrency,
                self.drafter,
                [s for s in self.samples if (s.form, s.concurrency) == (form, concurrency)],
                dict(Counter(self.refused.get(form, {}).values())),
                self.not_expressible.get(form, 0),
            )
            for form, concurrency in sorted(places)
        ]

    def done(self, form: str, digests: dict[str, str], concurrency: Iterable[int]) -> set[str]:
        """The ids of the edits that need not be decoded again in that form: as they are now, at all concurrencies.

        digests: id -> digest of the corpus at hand.
        """
        found: dict[str, set[int]] = {}
        for sample in self.samples:
            if sample.form == form and digests.get(sample.id) == sample.digest:
                found.setdefault(sample.id, set()).add(sample.concurrency)
        refused = {name for name in self.refused.get(form, {}) if name in digests}
        return refused | {name for name, reached in found.items() if reached.issuperset(concurrency)}

    def add(self, form: str, samples: Sequence[IdentitySample], refused: dict[str, str]) -> None:
        """Later samples replace earlier ones of the same edit, form and concurrency."""
        new = {(sample.id, sample.form, sample.concurrency) for sample in samples}
        self.samples = [s for s in self.samples if (s.id, s.form, s.concurrency) not in new] + list(samples)
        if refused:
            self.refused.setdefault(form, {}).update(refused)

    def row_to_json(self, row: Row) -> dict[str, Any]:
        return row.to_json()

    @staticmethod
    def sample_from_json(record: dict[str, Any]) -> IdentitySample:
        return IdentitySample.from_json(record)


def _row(
    form: str,
    concurrency: int,
    drafter: str,
    samples: Sequence[IdentitySample],
    refused: dict[str, int],
    not_expressible: int,
) -> Row:
    return Row(
        form=form,
        drafter=drafter,
        concurrency=concurrency,
        identical=_share(sample.difference is None for sample in samples),
        control=_share(False not in (sample.repeated, sample.elsewhere) for sample in samples),
        repeated=_share(sample.repeated for sample in samples if sample.repeated is not None),
        elsewhere=_share(sample.elsewhere for sample in samples if sample.elsewhere is not None),
        output_tokens=sum(sample.output_tokens for sample in samples),
        target_passes=sum(sample.target_passes for sample in samples),
        differences=tuple((sample.id, sample.difference) for sample in samples if sample.difference is not None),
        refused=refused,
        not_expressible=not_expressible,
    )


def _share(verdicts: Iterable[bool]) -> Proportion:
    values = list(verdicts)
    return Proportion(sum(values), len(values))


def _interval(share: Proportion) -> list[float] | None:
    return None if share.low is None or share.high is None else [share.low, share.high]


def render(report: IdentityReport) -> RenderableType:
    """The table, each difference, and what the figures mean."""
    table = Table(
        title="Output with drafting against output without, 95% intervals",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("\nform", no_wrap=True)
    for heading in ("in\nflight", "\nedits", "\ntokens", "\nidentical", "\ncontrol", "left\nout"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in report.rows:
        table.add_row(
            row.form,
            str(row.concurrency),
            str(row.identical.total),
            str(row.output_tokens),
            row.identical.percent(),
            row.control.percent(),
            str(sum(row.refused.values()) + row.not_expressible),
        )
    return Group(table, *(Text(line) for line in _notes(report)))


def _notes(report: IdentityReport) -> list[str]:
    lines = [
        "",
        "control: edits that came out the same without drafting, when decoded twice and at another concurrency.",
    ]
    for row in report.rows:
        if row.repeated.total < row.identical.total:
            lines.append(
                f"{row.form}, {row.concurrency} in flight: {row.repeated.total} of the edits were decoded twice."
            )
        for reason, count in sorted(row.refused.items()):
            lines.append(f"{row.form}, {row.concurrency} in flight: {count} refused before decoding ({reason}).")
        if row.not_expressible:
            lines.append(f"{row.form}: {row.not_expressible} edits cannot be said in this form.")
        for name, difference in row.differences[:_SHOWN]:
            lines.append(f"{row.form}, {row.concurrency} in flight: {name}: {describe(difference)}")
        if len(row.differences) > _SHOWN:
            lines.append(f"... and {len(row.differences) - _SHOWN} more differences, in the JSON.")
    return list(dict.fromkeys(lines))


def describe(difference: Difference) -> str:
    """One line: where, which tokens, how close they were, how wide the pass was."""

    def side(token: int | None, text: str) -> str:
        return "the end" if token is None else f"{token} {text!r}"

    def margin(value: float | None) -> str:
        return "not reproduced" if value is None else f"{value:.2g} nats"

    plain, drafted = difference.plain, difference.drafted
    line = (
        f"token {difference.position} is {side(plain.token, plain.text)} without drafting and "
        f"{side(drafted.token, drafted.text)} with; top-2 margin {margin(plain.margin)} and {margin(drafted.margin)}; "
        f"the pass was {difference.pass_width or 'of unknown width'}{' wide' if difference.pass_width else ''}"
    )
    if difference.plain_status != difference.drafted_status:
        line += f"; {difference.plain_status} without and {difference.drafted_status} with"
    return line
