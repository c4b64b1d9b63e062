from __future__ import annotations

import pytest

from evals.comparison import best, compare
from evals.samples import Measurement, Sample


def sample(
    configuration: str,
    example: str,
    seconds: float,
    *,
    repeat: int = 0,
    status: str = "OK",
    output: str = "same",
    passes: int = 100,
    drafted: int = 0,
    accepted: int = 0,
) -> Sample:
    order = ["copy", "plain", "ngram-5", "ngram-16"].index(configuration)
    measurement = Measurement(
        status=status,
        total_seconds=seconds,
        first_text_seconds=seconds / 10,
        output_sha256=output,
        output_tokens=100,
        target_passes=passes,
        drafted_tokens=drafted,
        accepted_tokens=accepted,
        rejected_tokens=drafted - accepted,
        matches_expected=status == "OK",
    )
    return Sample(configuration, example, repeat, order, measurement)


def test_the_ratio_is_the_median_of_the_paired_ratios() -> None:
    samples = [
        *(sample("copy", name, 1.0) for name in "abc"),
        *(sample("plain", name, seconds) for name, seconds in zip("abc", (2.0, 5.0, 30.0), strict=True)),
    ]
    copy, plain = compare(samples, subject="copy", reference="plain")
    assert copy.ratio is None
    assert plain.ratio is not None
    assert plain.ratio.estimate == 5.0
    assert plain.ratio_by_example == {"a": 2.0, "b": 5.0, "c": 30.0}


def test_repeats_are_reduced_by_their_median_before_pairing() -> None:
    samples = [
        *(sample("copy", "a", s, repeat=i) for i, s in enumerate((1.0, 1.0, 50.0))),
        *(sample("plain", "a", s, repeat=i) for i, s in enumerate((4.0, 4.0, 4.0))),
    ]
    plain = compare(samples, subject="copy", reference="plain")[1]
    assert plain.ratio is not None
    assert plain.ratio.estimate == 4.0


def test_a_failed_call_leaves_its_example_out_of_the_times_and_is_counted() -> None:
    samples = [
        sample("copy", "a", 1.0),
        sample("copy", "b", 1.0),
        sample("plain", "a", 3.0),
        sample("plain", "b", 9.0, status="FAILED_PRECONDITION"),
    ]
    copy, plain = compare(samples, subject="copy", reference="plain")
    assert (plain.examples, plain.failed) == (1, 1)
    assert plain.ratio_by_example == {"a": 3.0}
    assert copy.identical_rate == 0.5
    assert plain.expected_rate == 0.5


def test_one_different_output_in_one_repeat_is_not_identical() -> None:
    samples = [
        sample("plain", "a", 1.0),
        sample("plain", "a", 1.0, repeat=1),
        sample("copy", "a", 1.0),
        sample("copy", "a", 1.0, repeat=1, output="other"),
    ]
    copy = compare(samples, subject="copy", reference="plain")[0]
    assert copy.identical_rate == 0.0


def test_an_example_that_the_reference_did_not_run_is_not_identical() -> None:
    samples = [sample("copy", "a", 1.0), sample("copy", "b", 1.0), sample("plain", "a", 1.0)]
    assert compare(samples, subject="copy", reference="plain")[0].identical_rate == 0.5


def test_rates_are_over_all_tokens() -> None:
    samples = [
        sample("copy", "a", 1.0, passes=10, drafted=100, accepted=90),
        sample("copy", "b", 3.0, passes=40, drafted=100, accepted=60),
    ]
    row = compare(samples, subject="copy", reference="copy")[0]
    assert row.tokens_per_pass == 4.0
    assert row.tokens_per_second == 50.0
    assert row.acceptance == 0.75


def test_the_best_rival_is_the_fastest_of_its_kind() -> None:
    samples = [
        sample("copy", "a", 1.0),
        sample("plain", "a", 9.0),
        sample("ngram-5", "a", 3.0),
        sample("ngram-16", "a", 2.0),
    ]
    rows = compare(samples, subject="copy", reference="plain")
    rival = best(rows, "ngram")
    assert rival is not None
    assert rival.configuration == "ngram-16"
    assert best(rows, "suffix") is None


@pytest.mark.parametrize(("subject", "reference"), [("copy", "plain"), ("plain", "copy")])
def test_a_configuration_without_samples_is_refused(subject: str, reference: str) -> None:
    with pytest.raises(ValueError, match="no samples"):
        compare([sample("copy", "a", 1.0)], subject=subject, reference=reference)
