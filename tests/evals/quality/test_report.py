"""What a run's samples come to: by agreement of model and plan, by size of the file, and in older files."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from evals.quality.agreement import agreement_figures
from evals.quality.report import QualityReport, render
from evals.quality.samples import QualitySample
from evals.quality.scorers import Score
from evals.quality.sizes import SIZES, size_of
from service.agreement import Agreement

AGREE, MODEL, PLAN = Agreement.MODEL_AND_PLAN, Agreement.MODEL_ONLY, Agreement.PLAN_ONLY


def sample(
    right: bool,
    agreement: Agreement | None = None,
    *,
    form: str = "update",
    lines: int = 36,
    status: str = "OK",
    no_op: bool = False,
) -> QualitySample:
    score = Score(right, right, True, 1, int(right), 0)
    return QualitySample("id", form, no_op, "python", "0", lines, status, score, 90, 5, "", agreement)


def report(*samples: QualitySample) -> QualityReport:
    return QualityReport({"configuration": "copy"}, {}, {}, "copy", list(samples), {}, True)


def row_of(*samples: QualitySample) -> dict[str, Any]:
    (row,) = report(*samples).to_json()["rows"]
    return dict(row)


def shown(made: QualityReport) -> list[str]:
    """The console's lines in 80 columns."""
    console = Console(width=80)
    with console.capture() as captured:
        console.print(render(made))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_right_results_are_counted_by_agreement() -> None:
    row = row_of(
        *[sample(True, AGREE)] * 12,
        sample(False, AGREE),
        *[sample(False, MODEL)] * 3,
        *[sample(True, PLAN)] * 2,
    )
    agreement = row["agreement"]
    # The score interval by its formula: (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), and n / (n + z²) for all.
    assert agreement["MODEL_AND_PLAN"] == {
        "edits": 13,
        "byte_exact": 12,
        "interval": pytest.approx([0.6669, 0.9863], abs=5e-5),
    }
    assert agreement["MODEL_ONLY"] == {"edits": 3, "byte_exact": 0, "interval": pytest.approx([0, 0.5615], abs=5e-5)}
    assert agreement["PLAN_ONLY"] == {"edits": 2, "byte_exact": 2, "interval": pytest.approx([0.3424, 1], abs=5e-5)}
    assert row["agreement_not_recorded"] == 0
    assert (row["edits"], row["byte_exact_count"]) == (18, 14)


def test_refused_edits_and_those_that_change_nothing_have_no_part_in_it() -> None:
    row = row_of(
        sample(True, AGREE),
        sample(False, status="RESULT_DIFFERS_FROM_PLAN"),
        *[sample(True, AGREE, no_op=True)] * 4,
        sample(False, MODEL, no_op=True),
    )
    assert row["agreement"]["MODEL_AND_PLAN"]["edits"] == 1
    assert row["agreement"]["MODEL_ONLY"] == {"edits": 0, "byte_exact": 0, "interval": [None, None]}
    assert row["agreement_not_recorded"] == 0
    assert row["edits"] == 2


def test_a_sample_is_read_as_it_was_written() -> None:
    for one in (sample(True, AGREE), sample(False, MODEL), sample(True, PLAN), sample(False, status="OVER_CONTEXT")):
        assert QualitySample.from_json(one.to_json()) == one
    assert sample(True, PLAN).to_json()["agreement"] == "PLAN_ONLY"
    assert "agreement" not in sample(False, status="OVER_CONTEXT").to_json()
    with pytest.raises(KeyError, match="BOTH"):
        QualitySample.from_json(sample(True).to_json() | {"agreement": "BOTH"})


def test_results_of_older_files_count_as_not_recorded() -> None:
    old = report(sample(True), sample(True), sample(False, status="OVER_CONTEXT"))
    record = old.to_json()
    assert record["schema"] == 1
    for added in ("agreement", "agreement_not_recorded", "by_size"):
        del record["rows"][0][added]
    again = QualityReport.from_json(record)
    assert again.rows[0].agreement == agreement_figures(old.samples)
    assert (again.rows[0].agreement.recorded, again.rows[0].agreement.not_recorded) == (0, 2)
    assert "update: agreement of model and plan: not recorded." in shown(again)
    # The same run, gone on with.
    again.samples += [sample(True, AGREE)]
    said = " ".join(shown(again))
    assert "update: agree: 1, of which right 1 (95% 20.7 to 100); differ: 0, right 0; not recorded: 2." in said


@pytest.mark.parametrize(
    ("samples", "line"),
    [
        (
            [*[sample(True, AGREE)] * 130, *[sample(True, MODEL)] * 3, *[sample(False, MODEL)] * 11],
            "update: agree: 130, of which right 130 (95% 97.1 to 100); differ: 14, right 3.",
        ),
        (
            [sample(False, MODEL, form="instruction")],
            "instruction: agree: 0, of which right 0; differ: 1, right 0.",
        ),
        ([sample(False, status="OVER_CONTEXT")], "update: agree: 0, of which right 0; differ: 0, right 0."),
    ],
)
def test_the_console_says_it_in_one_line_a_form(samples: list[QualitySample], line: str) -> None:
    assert line in shown(report(*samples))


def test_texts_of_the_plan_are_named_where_there_are_any() -> None:
    said = " ".join(shown(report(sample(True, AGREE), sample(True, PLAN), sample(False, PLAN))))
    assert "differ: 0, right 0; differ, plan's text given: 2, right 1." in said


def test_sizes_tile_all_lengths() -> None:
    assert [size_of(lines) for size in SIZES for lines in (size.low, size.high or 10**6)] == [
        size for size in SIZES for _ in range(2)
    ]
    assert [after.low for after in SIZES[1:]] == [(before.high or 0) + 1 for before in SIZES[:-1]]
    assert list(map(str, SIZES)) == [
        *("up to 50 lines", "51-100 lines", "101-150 lines", "151-200 lines", "201-400 lines", "over 400 lines")
    ]


def test_quality_by_size_of_the_file() -> None:
    found = [sample(lines <= 100, lines=lines) for lines in (0, 50, 51, 100, 401, 9000)]
    made = report(*found, sample(True, lines=400), sample(False, lines=120, no_op=True))
    (row,) = made.to_json()["rows"]
    counted = [(part["lines"], part["edits"], part["byte_exact_count"], part["byte_exact"]) for part in row["by_size"]]
    assert counted == [([0, 50], 2, 2, 1), ([51, 100], 2, 2, 1), ([201, 400], 1, 1, 1), ([401, None], 2, 0, 0)]
    lines = [line.split() for line in shown(made)]
    assert [line[:5] for line in lines if "lines" in line][-4:] == [
        ["up", "to", "50", "lines", "2"],
        ["51-100", "lines", "2", "100%", "100%"],
        ["201-400", "lines", "1", "100%", "100%"],
        ["over", "400", "lines", "2", "0%"],
    ]
