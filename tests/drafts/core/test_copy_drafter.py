"""The copy drafter against recorded outputs: always the same output, in few passes where it follows a source."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drafts.core.copy_drafter import CopyDrafter
from drafts.core.loop import replay
from drafts.core.none_drafter import NoneDrafter
from drafts.core.options import CopyOptions
from drafts.core.step_cost import StepCost
from drafts.core.types import DraftRegion, DraftReport, DraftRequest, SourceKind

NEWLINE = 1
END = 0
K = 128


def make_file(length: int, seed: int) -> list[int]:
    """Lines of 4 to 13 tokens over a vocabulary with frequent and rare ids, as code has them."""
    rng = random.Random(seed)
    tokens: list[int] = []
    while len(tokens) < length:
        tokens += [min(int(rng.paretovariate(0.7)) + 1, 4000) for _ in range(rng.randrange(4, 14))]
        tokens.append(NEWLINE)
    return tokens[:length]


def kept(predicted: list[int], max_draft_tokens: int = K) -> DraftRequest:
    return DraftRequest(
        predicted=predicted,
        regions=(DraftRegion(len(predicted), SourceKind.KEPT),),
        original=predicted,
        max_draft_tokens=max_draft_tokens,
        end_token=END,
        newline_tokens=(NEWLINE,),
    )


def run(request: DraftRequest, output: list[int], cost_ratio: float = 0.05) -> DraftReport:
    emitted, report = replay(CopyDrafter(StepCost(cost_ratio)), request, output, K)
    assert emitted == output
    check_sums(report, request)
    assert report.output_tokens == len(output)
    return report


def check_sums(report: DraftReport, request: DraftRequest) -> None:
    assert report.output_tokens == report.target_passes + report.accepted
    assert sum(report.draft_lengths.values()) == report.target_passes
    assert sum(k * passes for k, passes in report.draft_lengths.items()) == report.drafted
    assert report.accepted + report.rejected <= report.drafted
    for name in ("drafted", "accepted", "rejected"):
        assert sum(getattr(row, name) for row in report.regions) == getattr(report, name)
    assert all(-1 <= row.region < len(request.regions) for row in report.regions)
    assert max(report.draft_lengths) <= min(K, request.max_draft_tokens)


@pytest.mark.parametrize("size", [1, 2, 127, 500, 1500, 5000])
def test_perfect_plan_takes_about_one_pass_per_k_tokens(size: int) -> None:
    predicted = make_file(size, 0)
    report = run(replace(kept(predicted), confidence=1.0), [*predicted, END])
    assert report.rejected == 0
    assert report.target_passes <= math.ceil(size / K) + 2


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("place", [40, 700, 1300])
@pytest.mark.parametrize("change", ["insertion", "deletion", "replacement", "one token"])
def test_departures_are_resumed_within_a_few_passes(change: str, place: int, seed: int) -> None:
    predicted = make_file(1500, seed)
    new = make_file(30, seed + 100)
    output = {
        "insertion": [*predicted[:place], *new, *predicted[place:]],
        "deletion": [*predicted[:place], *predicted[place + 40 :]],
        "replacement": [*predicted[:place], *new, *predicted[place + 25 :]],
        "one token": [*predicted[:place], 4001, *predicted[place + 1 :]],
    }[change]
    report = run(kept(predicted), [*output, END])
    unforeseen = {"insertion": 30, "replacement": 30, "one token": 1}.get(change, 0)
    assert report.target_passes <= math.ceil(1500 / K) + unforeseen + 18


def test_plan_without_confidence_is_still_followed() -> None:
    predicted = make_file(600, 3)
    request = DraftRequest(
        predicted=predicted,
        regions=(
            DraftRegion(200, SourceKind.KEPT),
            DraftRegion(300, SourceKind.EDITED),
            DraftRegion(600, SourceKind.KEPT),
        ),
        end_token=END,
    )
    report = run(request, [*predicted, END])
    assert [row.region for row in report.regions] == [0, 1, 2]
    assert report.rejected == 0


def test_no_plan_copies_the_original() -> None:
    original = make_file(900, 4)
    report = run(DraftRequest(original=original, newline_tokens=(NEWLINE,)), original)
    assert report.target_passes <= 900 / K + 6
    assert {(row.region, row.kind) for row in report.regions} == {(-1, SourceKind.ORIGINAL)}


def test_text_of_the_edit_is_drafted_where_the_plan_missed_it() -> None:
    original, edit = make_file(600, 5), make_file(80, 6)
    output = [*original[:300], *edit, *original[300:]]
    request = DraftRequest(
        predicted=original, regions=(DraftRegion(600, SourceKind.KEPT),), original=original, edit=edit
    )
    report = run(request, output)
    assert report.target_passes <= 600 / K + 30
    assert any(row.kind is SourceKind.EDIT and row.accepted > 40 for row in report.regions)


def test_repeated_output_is_drafted_from_itself() -> None:
    block = make_file(60, 7)
    report = run(DraftRequest(), block * 8)
    assert report.target_passes < 60 + 7 * 60 / 4
    assert {row.kind for row in report.regions} == {SourceKind.OUTPUT}


@pytest.mark.parametrize("cost_ratio", [0.006, 0.05])
@pytest.mark.parametrize("seed", range(3))
def test_rubbish_costs_almost_nothing(seed: int, cost_ratio: float) -> None:
    output = make_file(1500, seed)
    rubbish = [token + 5000 for token in make_file(1500, seed + 50)]
    report = run(kept(rubbish), [*output, END], cost_ratio)
    assert report.target_passes + cost_ratio * report.drafted <= 1.03 * len(output)


@settings(max_examples=60, deadline=None)
@given(
    predicted=st.lists(st.integers(0, 6), max_size=150),
    output=st.lists(st.integers(0, 6), min_size=1, max_size=300),
    edit=st.lists(st.integers(0, 6), max_size=30),
    k=st.integers(0, K),
    cost_ratio=st.floats(0.005, 0.2),
)
def test_whatever_is_drafted_the_output_is_the_same_and_the_cost_bounded(
    predicted: list[int], output: list[int], edit: list[int], k: int, cost_ratio: float
) -> None:
    request = DraftRequest(
        predicted=predicted,
        regions=(DraftRegion(len(predicted), SourceKind.KEPT),) if predicted else (),
        original=predicted[::2],
        edit=edit,
        max_draft_tokens=k,
        end_token=END,
        newline_tokens=(NEWLINE,),
    )
    report = run(request, output, cost_ratio)
    # Never dearer than plain decoding, but for one draft of the widest kind and a few per cent.
    cost = report.target_passes + cost_ratio * report.drafted
    assert cost <= 1.03 * len(output) + 2 * (cost_ratio * k + 1)


@pytest.mark.parametrize(
    "options",
    [
        CopyOptions(plan=False),
        CopyOptions(structure=False),
        CopyOptions(adaptive_k=False),
        CopyOptions(kept_cursor=False),
    ],
    ids=str,
)
def test_no_part_is_needed_for_the_right_output(options: CopyOptions) -> None:
    original, new = make_file(800, 11), make_file(30, 12)
    output = [*original[:300], *new, *original[320:], END]
    request = kept([*original[:300], *new, *original[320:]])
    emitted, report = replay(CopyDrafter(StepCost(0.01), options), request, output, K)
    assert emitted == output
    check_sums(report, request)
    emitted, whole = replay(CopyDrafter(StepCost(0.01)), request, output, K)
    assert report.target_passes >= whole.target_passes
    if not options.adaptive_k:
        assert report.draft_lengths[K] >= 5
    if not options.plan:
        assert all(row.region == -1 for row in report.regions)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=50))
def test_k_zero_is_plain_decoding(output: list[int]) -> None:
    report = run(kept(output, max_draft_tokens=0), output)
    assert (report.target_passes, report.drafted) == (len(output), 0)
    emitted, plain = replay(NoneDrafter(), kept(output), output, K)
    assert emitted == output
    assert (plain.target_passes, plain.drafted, plain.draft_lengths) == (len(output), 0, {0: len(output)})


@pytest.mark.parametrize("limit", [1, 5, 64])
def test_driver_s_limit_is_kept(limit: int) -> None:
    predicted = make_file(400, 8)
    emitted, report = replay(CopyDrafter(), kept(predicted), predicted, limit)
    assert emitted == predicted
    assert max(report.draft_lengths) == limit


def test_trimmed_draft_is_not_a_rejected_one() -> None:
    drafter = CopyDrafter()
    drafter.start(kept([10, 11, 12, 13, 14, 15, 16]))
    drafter.observe([10])
    assert drafter.propose(K) == [11, 12, 13, 14, 15, 16, END]
    drafter.observe([11, 12])  # the scheduler verified only one draft token
    assert drafter.propose(K) == [13, 14, 15, 16, END]
    drafter.observe([13, 99])
    report = drafter.finish()
    assert (report.drafted, report.accepted, report.rejected) == (12, 2, 4)
    assert report.target_passes == 3


def test_second_proposal_replaces_the_first() -> None:
    drafter = CopyDrafter()
    drafter.start(kept([10, 11, 12, 13]))
    drafter.observe([10])
    assert len(drafter.propose(K)) == 4
    assert drafter.propose(2) == [11, 12]
    drafter.observe([11, 12, 13])
    assert drafter.finish().drafted == 2


def test_end_of_predicted_text_proposes_the_end() -> None:
    drafter = CopyDrafter()
    drafter.start(kept([10, 11]))
    drafter.observe([10])
    assert drafter.propose(K) == [11, END]
    drafter.observe([11, END])
    assert drafter.propose(K) == []


def test_observing_nothing_is_an_error() -> None:
    drafter = CopyDrafter()
    drafter.start(kept([10, 11]))
    with pytest.raises(ValueError, match="at least one token"):
        drafter.observe([])


def test_search_cost_does_not_grow_with_the_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens looked at per pass, counted: a context 16 times as long takes no more of them."""
    counted = [0]

    class Counted(list[int]):
        def __getitem__(self, key: Any) -> Any:
            found = super().__getitem__(key)
            counted[-1] += len(found) if isinstance(key, slice) else 1
            return found

    per_pass = []
    for size in (2000, 32000):
        # Of the file the output has only the line feeds, so that as many places are found in a long one.
        predicted = make_file(size, 9)
        output = [token if token == NEWLINE else token + 5000 for token in make_file(300, 10)]
        drafter = CopyDrafter()
        drafter.start(kept(predicted))
        main = drafter._main
        main.tokens = Counted(main.tokens)
        main._index._tokens = main.tokens
        main._text._tokens = main.tokens
        for done, token in enumerate(output):
            if done == len(output) // 2:
                counted.append(0)  # by now the longer one is indexed, a chunk a pass
            drafter.observe([token])
            drafter.propose(K)
        per_pass.append(counted[-1] / (len(output) // 2))
    assert per_pass[1] <= 2 * per_pass[0]


def test_smaller_limit_shortens_the_proposal() -> None:
    drafter = CopyDrafter()
    drafter.start(kept([10, 11, 12, 13]))
    drafter.observe([10])
    assert drafter.propose(3) == [11, 12, 13]
    assert drafter.propose(0) == []
    drafter.observe([11])
    report = drafter.finish()
    assert (report.drafted, report.rejected, report.draft_lengths) == (0, 0, {0: 2})


@pytest.mark.parametrize("most", [128, 512, 4096])
def test_sure_plan_that_is_rubbish_costs_little_whatever_k_is(most: int) -> None:
    """Only the first token is right: the plan is drafted as far as that may cost."""
    predicted = make_file(5000, 21)
    output = [predicted[0], *range(10_000, 11_200)]
    drafter = CopyDrafter(StepCost(0.02))
    drafter.start(replace(kept(predicted, most), confidence=1.0))
    drafted = 0
    for token in output:  # as in serving, nothing says how long the output will be
        drafter.observe([token])
        drafted += len(drafter.propose(most))
    assert 0 < 0.02 * drafted <= 0.03 * len(output)
