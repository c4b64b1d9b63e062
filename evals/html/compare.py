"""A run against an earlier one of its kind: what moved beyond noise. Pure.

Everything is paired by edit, and only edits that both runs have count. A measure moved when the 95% bootstrap interval
of its paired change leaves out 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from evals.comparison import by_configuration
from evals.html.model import Cell, DotPlot, Mark, Range, Section, Table
from evals.html.replay import ReplayRun
from evals.html.resample import Array, Statistic, interval, mean, ratio_of_totals
from evals.html.run_files import RunFile
from evals.html.words import percent, ratio, seconds, signed_percent
from evals.identity.report import IdentityReport
from evals.quality.report import QualityReport
from evals.report import LatencyReport
from evals.samples import Measurement
from evals.stats import Interval, median

FEWEST: Final = 5
"""Edits below which an interval says nothing."""

AnyReport = LatencyReport | ReplayRun | IdentityReport | QualityReport


@dataclass(frozen=True, slots=True)
class Change:
    """One measure in two runs. change: relative for amounts, a difference for shares. lower: whether less is better."""

    what: str
    measure: str
    before: str
    after: str
    change: Interval
    edits: int
    lower: bool

    @property
    def mark(self) -> Mark:
        if self.edits < FEWEST or self.change.low <= 0 <= self.change.high:
            return ""
        return "better" if (self.change.high < 0) == self.lower else "worse"

    @property
    def verdict(self) -> str:
        if self.edits < FEWEST:
            return "too few edits"
        return "moved:" if self.mark else "within noise"


def compare(before: AnyReport, after: AnyReport) -> list[Change]:
    """The measures that both runs have, in the order of the first. Both are of one kind."""
    match before, after:
        case LatencyReport(), LatencyReport():
            return list(_latency(before, after))
        case ReplayRun(), ReplayRun():
            return list(_replay(before, after))
        case IdentityReport(), IdentityReport():
            return list(_identity(before, after))
        case QualityReport(), QualityReport():
            return list(_quality(before, after))
    raise TypeError("runs of two kinds cannot be compared")


def section(first: RunFile, second: RunFile, changes: Sequence[Change]) -> Section:
    """The comparison as a part of the page."""
    name = f"{first.kind}-{first.letter}-{second.letter}"
    moved = [change for change in changes if change.mark]
    told = sum(change.edits >= FEWEST for change in changes)
    lead = f"{len(moved)} of {told} measures moved beyond noise from run {first.letter} to run {second.letter}."
    if not changes:
        lead = "The two runs have no edit in common that both measured in the same way."
    plot = DotPlot(
        name=f"compare-{name}-changes",
        title=f"Change from run {first.letter} to run {second.letter}",
        text="Estimates with 95% bootstrap intervals over the edits that both runs have; 0 is no change.",
        axis="change",
        points=(),
        ranges=tuple(
            Range(
                f"{change.what}: {change.measure}",
                change.mark or "within noise",
                change.change.low,
                change.change.estimate,
                change.change.high,
                f"{change.before} to {change.after}: {_interval(change.change)}",
            )
            for change in changes
        ),
        reference=0.0,
        order=("better", "worse", "within noise"),
        number_format="+.0%",
    )
    table = Table(
        f"compare-{name}-table",
        f"Run {second.letter} against run {first.letter}, paired by edit, with 95% intervals of the change",
        ("of", "measure", f"run {first.letter}", f"run {second.letter}", "change", "edits", "verdict"),
        tuple(
            (
                *(Cell(change.what), Cell(change.measure), Cell(change.before), Cell(change.after)),
                *(Cell(_interval(change.change)), Cell(str(change.edits)), Cell(change.verdict, mark=change.mark)),
            )
            for change in changes
        ),
        frozenset({2, 3, 4, 5}),
    )
    notes = [
        f"Of {told} measures about {told * 0.05:.1f} would be marked by chance alone.",
        f"Fewer than {FEWEST} edits in common tell nothing, and are never marked.",
    ]
    if first.kind == "latency":
        notes.append(
            "A machine that was slower as a whole during one of the runs moves every time; the ratios, within one run, "
            "stay."
        )
    return Section(
        name=f"compare-{name}",
        title=f"{first.kind.capitalize()}: run {second.letter} against run {first.letter}",
        lead=lead,
        blocks=(plot, table) if changes else (),
        notes=tuple(notes) if changes else (),
    )


def _interval(found: Interval) -> str:
    return f"{signed_percent(found.estimate)} ({signed_percent(found.low)} to {signed_percent(found.high)})"


def _relative(statistic: Statistic) -> Statistic:
    return lambda rows: statistic(rows) - 1.0


def _median_ratio(rows: Array) -> Any:
    return np.median(rows[..., 1] / rows[..., 0], axis=-1)


def _amount(rows: Array, statistic: Statistic) -> Interval:
    """The relative change. rows: (edits, 2), before and after."""
    return interval(rows, _relative(statistic))


def _totals(rows: Array) -> Any:
    return ratio_of_totals(rows[..., ::-1])


def _latency(before: LatencyReport, after: LatencyReport) -> Iterable[Change]:
    old, new = _good(before), _good(after)
    for name in (name for name in old if name in new):
        common = [edit for edit in old[name] if edit in new[name]]
        if not common:
            continue
        times = np.array([[_time(old[name][edit]), _time(new[name][edit])] for edit in common])
        yield Change(
            name,
            "time of an edit",
            seconds(median(list(times[:, 0]))),
            seconds(median(list(times[:, 1]))),
            _amount(times, _median_ratio),
            len(common),
            lower=True,
        )
        passes = np.array(
            [
                [[run.output_tokens, run.target_passes] for run in (old[name][edit][0], new[name][edit][0])]
                for edit in common
            ]
        )
        if (passes > 0).all():
            rates = passes[:, :, 0] / passes[:, :, 1]
            yield Change(
                name,
                "tokens per pass",
                f"{passes[:, 0, 0].sum() / passes[:, 0, 1].sum():.1f}",
                f"{passes[:, 1, 0].sum() / passes[:, 1, 1].sum():.1f}",
                _amount(rates, _median_ratio),
                len(common),
                lower=False,
            )
        subject = before.subject
        both = [edit for edit in common if edit in old.get(subject, {}) and edit in new.get(subject, {})]
        if name == subject or after.subject != subject or not both:
            continue
        ratios = np.array(
            [[_time(found[name][edit]) / _time(found[subject][edit]) for found in (old, new)] for edit in both]
        )
        yield Change(
            name,
            f"time over {subject}",
            ratio(median(list(ratios[:, 0]))),
            ratio(median(list(ratios[:, 1]))),
            _amount(ratios, _median_ratio),
            len(both),
            lower=False,
        )


def _good(report: LatencyReport) -> dict[str, dict[str, list[Measurement]]]:
    """configuration -> edits that succeeded in every repeat -> their measurements."""
    return {
        name: {edit: runs for edit, runs in edits.items() if all(run.ok for run in runs)}
        for name, edits in by_configuration(report.samples).items()
    }


def _time(runs: Sequence[Measurement]) -> float:
    return median([run.total_seconds for run in runs])


def _replay(before: ReplayRun, after: ReplayRun) -> Iterable[Change]:
    if before.tokenizer_sha256 != after.tokenizer_sha256 or before.shown_cost != after.shown_cost:
        return
    g = before.shown_cost
    later = {form.form: form for form in after.forms}
    for old in before.forms:
        new = later.get(old.form)
        if new is None:
            continue
        places = {edit: index for index, edit in enumerate(new.ids)}
        common = [(i, places[edit]) for i, edit in enumerate(old.ids)
                  if edit in places and old.tokens[i] == new.tokens[places[edit]]]  # fmt: skip
        if not common:
            continue
        ours, theirs = (np.array(column) for column in zip(*common, strict=True))
        for name in (name for name in old.kinds if name in new.kinds):
            costs = np.stack([old.at(name, g).cost(g)[ours], new.at(name, g).cost(g)[theirs]], axis=1)
            tokens = old.tokens[ours].sum()
            yield Change(
                f"{name}, {old.form}",
                f"modelled time, g={g:g}",
                f"speed-up {ratio(tokens / costs[:, 0].sum())}",
                f"speed-up {ratio(tokens / costs[:, 1].sum())}",
                _amount(costs, _totals),
                len(common),
                lower=True,
            )


def _identity(before: IdentityReport, after: IdentityReport) -> Iterable[Change]:
    def flags(report: IdentityReport) -> dict[tuple[str, str], dict[tuple[str, str], bool]]:
        found: dict[tuple[str, str], dict[tuple[str, str], bool]] = {}
        for sample in report.samples:
            place = (f"{sample.form}, {sample.concurrency} in flight", "identical")
            found.setdefault(place, {})[sample.id, sample.digest] = sample.difference is None
        return found

    yield from _shares(flags(before), flags(after))


def _quality(before: QualityReport, after: QualityReport) -> Iterable[Change]:
    def flags(report: QualityReport) -> dict[tuple[str, str], dict[tuple[str, str], bool]]:
        found: dict[tuple[str, str], dict[tuple[str, str], bool]] = {}
        for sample in report.samples:
            name = (sample.id, sample.digest)
            if sample.no_op:
                found.setdefault((sample.form, "no-op kept"), {})[name] = sample.score.byte_exact
                continue
            found.setdefault((sample.form, "byte-exact"), {})[name] = sample.score.byte_exact
            found.setdefault((sample.form, "but blank lines"), {})[name] = sample.score.exact_but_blank_lines
            if sample.score.parses is not None:
                found.setdefault((sample.form, "parses"), {})[name] = sample.score.parses
        return found

    yield from _shares(flags(before), flags(after))


def _shares(
    before: dict[tuple[str, str], dict[tuple[str, str], bool]],
    after: dict[tuple[str, str], dict[tuple[str, str], bool]],
) -> Iterable[Change]:
    """Changes of shares, in percentage points. Both: (what, measure) -> edit -> whether it holds."""
    for place, old in before.items():
        new = after.get(place, {})
        common = [name for name in old if name in new]
        if not common:
            continue
        pairs = np.array([[old[name], new[name]] for name in common], dtype=np.float64)
        what, measure = place
        yield Change(
            what,
            measure,
            percent(float(pairs[:, 0].mean())),
            percent(float(pairs[:, 1].mean())),
            interval(pairs[:, 1:] - pairs[:, :1], mean),
            len(common),
            lower=False,
        )
