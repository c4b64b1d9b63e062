"""From samples to one row per configuration. Pure.

Ratios are paired: within an example, the medians over the repeats of two configurations are divided, and the row
shows the median of these ratios over the examples. Above 1, the subject was faster than the row's configuration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evals.samples import Measurement, Sample
from evals.stats import Interval, median, median_interval, quantile


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration over the examples. All times are seconds of successful calls, prefill included.

    examples, failed: examples with a successful call in every repeat, and the others.
    ratio, ratio_by_example: the configuration's time over the subject's; None for the subject itself.
    identical_rate: the share of the examples whose every output is that of the reference, byte for byte.
    """

    configuration: str
    examples: int
    failed: int
    total_seconds_median: float
    total_seconds_p95: float
    first_text_seconds_median: float
    tokens_per_second: float
    tokens_per_pass: float
    acceptance: float | None
    identical_rate: float
    expected_rate: float
    ratio: Interval | None
    ratio_by_example: dict[str, float]


Table = dict[str, dict[str, list[Measurement]]]


def by_configuration(samples: Sequence[Sample]) -> Table:
    """configuration -> example -> measurements in order of repeat."""
    table: Table = defaultdict(lambda: defaultdict(list))
    for sample in sorted(samples, key=lambda s: s.repeat):
        table[sample.configuration][sample.example].append(sample.measurement)
    return table


def compare(samples: Sequence[Sample], *, subject: str, reference: str) -> list[Row]:
    """One row per configuration, in order of first appearance.

    subject: the configuration that the ratios are about. reference: the one that outputs must equal.
    Raises ValueError when either has no samples.
    """
    table = by_configuration(samples)
    for name in (subject, reference):
        if name not in table:
            raise ValueError(f"there are no samples of the configuration {name!r}")
    names = list(dict.fromkeys(s.configuration for s in sorted(samples, key=lambda s: s.process)))
    return [_row(name, table, subject, reference) for name in names]


def best(rows: Sequence[Row], prefix: str) -> Row | None:
    """The fastest rival whose name starts with `prefix`: the one with the smallest ratio. None when there is none."""
    rivals = [(row.ratio.estimate, row) for row in rows if row.ratio and row.configuration.startswith(prefix)]
    return min(rivals, key=lambda pair: pair[0])[1] if rivals else None


def _row(name: str, table: Table, subject: str, reference: str) -> Row:
    examples = table[name]
    good = {example: runs for example, runs in examples.items() if all(run.ok for run in runs)}
    runs = [run for found in good.values() for run in found]
    seconds = [run.total_seconds for run in runs]
    first = [run.first_text_seconds for run in runs if run.first_text_seconds is not None]
    accepted = sum(run.accepted_tokens for run in runs)
    verified = accepted + sum(run.rejected_tokens for run in runs)
    passes = sum(run.target_passes for run in runs)
    tokens = sum(run.output_tokens for run in runs)
    ratios = {} if name == subject else _ratios(good, table[subject])
    return Row(
        configuration=name,
        examples=len(good),
        failed=len(examples) - len(good),
        total_seconds_median=median(seconds) if seconds else 0.0,
        total_seconds_p95=quantile(seconds, 0.95) if seconds else 0.0,
        first_text_seconds_median=median(first) if first else 0.0,
        tokens_per_second=tokens / sum(seconds) if seconds else 0.0,
        tokens_per_pass=tokens / passes if passes else 0.0,
        acceptance=accepted / verified if verified else None,
        identical_rate=_identical_rate(examples, table[reference]),
        expected_rate=_share(all(run.matches_expected for run in found) for found in examples.values()),
        ratio=median_interval(list(ratios.values())) if ratios else None,
        ratio_by_example=ratios,
    )


def _ratios(rival: dict[str, list[Measurement]], subject: dict[str, list[Measurement]]) -> dict[str, float]:
    """Only examples that succeeded throughout on both sides."""
    return {
        example: median([run.total_seconds for run in runs]) / median([run.total_seconds for run in subject[example]])
        for example, runs in rival.items()
        if example in subject and all(run.ok for run in subject[example])
    }


def _identical_rate(examples: dict[str, list[Measurement]], reference: dict[str, list[Measurement]]) -> float:
    """Failed calls count too: what came of the text before must be the same."""

    def outputs(runs: Sequence[Measurement]) -> set[tuple[str, str]]:
        return {(run.status, run.output_sha256) for run in runs}

    return _share(
        len(outputs(runs)) == 1 and outputs(runs) == outputs(reference.get(example, []))
        for example, runs in examples.items()
    )


def _share(verdicts: Iterable[bool]) -> float:
    values = list(verdicts)
    return sum(values) / len(values) if values else 0.0
