"""What was rewritten once is foreseen where it stands next; an edit that does it only once costs next to nothing."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafts.core.copy_drafter import CopyDrafter
from drafts.core.loop import replay
from drafts.core.options import CopyOptions
from drafts.core.rewrites import Rewrites
from drafts.core.step_cost import StepCost
from drafts.core.types import DraftReport, DraftRequest

OLD, NEW = [901, 902], [911, 912, 913]


def learned(*places: int) -> tuple[Rewrites, list[int]]:
    """A source with OLD at these places, the first of which has become NEW."""
    source = [token % 50 for token in range(1000)]
    for place in places:
        source[place : place + len(OLD)] = OLD
    rewrites = Rewrites(source)
    rewrites.learn(places[0], places[0] + len(OLD), NEW)
    return rewrites, source


def drafted(rewrites: Rewrites, source: list[int], position: int, length: int, price: float) -> list[int]:
    tokens: list[int] = []
    for piece in rewrites.pieces(position, length, price):
        tokens += source[piece.start : piece.stop] if isinstance(piece, range) else piece
    return tokens


def test_a_draft_ends_before_a_place_that_may_be_rewritten() -> None:
    rewrites, source = learned(10, 200)
    assert drafted(rewrites, source, 20, 700, 0.02) == source[20:200]


def test_next_place_is_foreseen_once_it_was_made_there() -> None:
    rewrites, source = learned(10, 200, 300)
    assert rewrites.left(200, NEW[0])
    assert rewrites.follow([*NEW, source[202]]) == (3, 202)
    assert drafted(rewrites, source, 202, 150, 0.02) == [*source[202:300], *NEW, *source[302:351]]


def test_rest_of_a_rewrite_is_drafted_when_it_has_begun() -> None:
    rewrites, source = learned(10, 200)
    assert rewrites.left(200, NEW[0])
    assert rewrites.follow(NEW[:1]) == (1, None)
    assert rewrites.resume == 202
    assert drafted(rewrites, source, 202, 30, 0.02) == [*NEW[1:], *source[202:232]]
    assert rewrites.follow(NEW[1:]) == (2, 202)
    assert rewrites.resume is None


def test_what_stays_once_is_not_foreseen_again() -> None:
    rewrites, source = learned(10, 200, 300)
    rewrites.copied(150, 250)
    assert not rewrites
    assert drafted(rewrites, source, 250, 150, 0.02) == source[250:400]


def test_what_becomes_something_else_is_not_foreseen_again() -> None:
    rewrites, _ = learned(10, 200, 300)
    assert rewrites.left(200, NEW[0])
    assert rewrites.follow([NEW[0], 7]) == (1, None)
    assert rewrites.resume is None
    assert not rewrites


def test_another_departure_begins_no_rewrite() -> None:
    rewrites, _ = learned(10, 200)
    assert not rewrites.left(200, 7)
    assert not rewrites.left(100, NEW[0])
    assert rewrites.follow([7]) == (0, None)


def test_stretch_with_two_changes_teaches_both() -> None:
    source = [1, 901, 2, 3, 902, 4, *range(100, 140), 902, *range(140, 180), 901, 5]
    rewrites = Rewrites(source)
    rewrites.learn(1, 5, [911, 2, 3, 912])
    assert rewrites.left(source.index(902, 6), 912)
    assert rewrites.follow([912])[1] is not None
    assert rewrites.left(source.index(901, 6), 911)


@pytest.mark.parametrize(("start", "end", "new"), [(10, 10, [1]), (10, 12, []), (10, 200, [1] * 5), (10, 12, [1] * 50)])
def test_insertions_deletions_and_long_changes_are_no_habit(start: int, end: int, new: list[int]) -> None:
    rewrites = Rewrites([7] * 1000)
    rewrites.learn(start, end, new)
    assert not rewrites


def test_rewrites_are_few() -> None:
    rewrites = Rewrites([*range(500), *range(500)])
    for place in range(0, 400, 4):
        rewrites.learn(place, place + 1, [1000])
    places = [place for place in range(500, 1000) if rewrites.left(place, 1000)]
    assert places == [500 + place for place in range(336, 400, 4)]


def renamed(count: int) -> tuple[list[int], list[int]]:
    """A file, and the file with a name of two tokens changed at `count` places."""
    rng = random.Random(count)
    before: list[int] = []
    for _ in range(count):
        before += [rng.randrange(1, 800) for _ in range(60)] + OLD
    before += [rng.randrange(1, 800) for _ in range(60)]
    after: list[int] = []
    at = 0
    while at < len(before):
        is_name = before[at : at + 2] == OLD
        after += NEW if is_name else [before[at]]
        at += 2 if is_name else 1
    return before, after


def replayed(before: list[int], after: list[int], options: CopyOptions) -> DraftReport:
    drafter = CopyDrafter(StepCost(0.02), options)
    emitted, report = replay(drafter, DraftRequest(original=before), after, 128)
    assert emitted == after
    assert report.output_tokens == report.target_passes + report.accepted
    return report


def test_renaming_everywhere_takes_half_the_passes() -> None:
    before, after = renamed(20)
    foreseen = replayed(before, after, CopyOptions())
    plain = replayed(before, after, replace(CopyOptions(), rewrites=False))
    assert foreseen.target_passes < 0.5 * plain.target_passes


def test_switched_off_nothing_is_foreseen() -> None:
    """The third name is drafted as it stands, although the first two were changed."""
    before, after = renamed(3)
    drafter = CopyDrafter(StepCost(0.02), replace(CopyOptions(), rewrites=False, adaptive_k=False))
    drafter.start(DraftRequest(original=before))
    third = max(at for at in range(len(after)) if after[at : at + len(NEW)] == NEW)
    draft: list[int] = []
    for token in after[: third - 5]:
        drafter.observe([token])
        draft = drafter.propose(128)
    assert OLD[0] in draft
    assert NEW[0] not in draft


def test_renaming_one_of_many_costs_a_few_passes_at_most() -> None:
    before, _ = renamed(20)
    place = before.index(OLD[0])
    after = [*before[:place], *NEW, *before[place + 2 :]]
    foreseen = replayed(before, after, CopyOptions())
    plain = replayed(before, after, replace(CopyOptions(), rewrites=False))
    assert foreseen.target_passes <= plain.target_passes + 2


@given(
    st.lists(st.integers(0, 5), max_size=60),
    st.lists(st.integers(0, 5), min_size=1, max_size=60),
    st.integers(1, 40),
    st.sampled_from([0.001, 0.05]),
)
def test_replay_gives_back_the_output(before: list[int], after: list[int], limit: int, price: float) -> None:
    """Few ids: everything repeats, and rewrites are learned, begun, left and made all the time."""
    drafter = CopyDrafter(StepCost(price))
    emitted, report = replay(drafter, DraftRequest(original=before, end_token=9), after, limit)
    assert emitted == after
    assert sum(k * passes for k, passes in report.draft_lengths.items()) == report.drafted
    assert sum(row.drafted for row in report.regions) == report.drafted


@given(st.data())
def test_replay_of_many_renames_gives_back_the_output(data: st.DataObject) -> None:
    before, after = renamed(data.draw(st.integers(2, 6)))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(after) - 1))
        after[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.lists(st.sampled_from([*OLD, *NEW, 3]), max_size=4)
        )
    replayed(before, after or [1], CopyOptions())
