from __future__ import annotations

from dataclasses import replace

import pytest

from evals.identity.traces import END, Trace, first_difference, token_at

# A prefill, a draft of 8 of which 3 were accepted, two passes without drafts, and one of 5 that was accepted whole.
TRACE = Trace(
    tokens=tuple(range(12)),
    emitted=(1, 4, 1, 1, 6),
    drafts=((8, 3), (5, 5)),
)


def test_the_width_of_the_pass_that_gave_a_token() -> None:
    widths = [TRACE.pass_width(position) for position in range(14)]
    assert widths == [1, 9, 9, 9, 9, 1, 1, 6, 6, 6, 6, 6, 6, None]


def test_a_draft_may_be_accepted_past_the_end() -> None:
    # 12 of 20 draft tokens were accepted by the engine; the output ended with the second of them.
    trace = Trace(tokens=(7, 8), emitted=(1, 2), drafts=((20, 12),))
    assert [trace.pass_width(position) for position in range(3)] == [1, 21, 21]
    # And with the first: the pass looks like one that rejected all.
    trace = Trace(tokens=(7,), emitted=(1, 1), drafts=((20, 12),))
    assert trace.pass_width(1) == 21


@pytest.mark.parametrize(
    ("emitted", "drafts", "widths"),
    [
        ((1, 1, 1), (), [1, 1, 1]),
        ((1, 1, 1), ((4, 0), (2, 0)), [1, 5, 3]),
        ((1, 1, 1), ((4, 0),), [1, None, None]),  # the first or the second
        ((1, 1, 1, 3), ((4, 0), (2, 2)), [1, None, None, 3, 3, 3]),
        ((1, 3, 1), ((2, 2), (9, 0)), [1, 3, 3, 3, 10]),
        ((1, 7), ((2, 2), (3, 3)), [None] * 8),  # two passes came together
        ((1, 4, 3), ((2, 2), (3, 3)), [None] * 8),  # not the order in which they were accepted
        ((1, 2), ((4, 1), (4, 0)), [None] * 3),
        ((3, 1), (), [None] * 4),
        ((), (), []),
    ],
)
def test_widths(emitted: tuple[int, ...], drafts: tuple[tuple[int, int], ...], widths: list[int | None]) -> None:
    trace = Trace(tokens=(), emitted=emitted, drafts=drafts)
    assert [trace.pass_width(position) for position in range(sum(emitted))] == widths


def test_the_same_output_in_other_passes_is_the_same() -> None:
    assert first_difference(TRACE, Trace(tokens=TRACE.tokens)) is None


@pytest.mark.parametrize(
    ("one", "other", "position"),
    [((1, 2, 3), (1, 9, 3), 1), ((1, 2, 3), (1, 2), 2), ((), (5,), 0), ((1,), (2,), 0)],
)
def test_the_first_difference(one: tuple[int, ...], other: tuple[int, ...], position: int) -> None:
    assert first_difference(Trace(one), Trace(other)) == position
    assert first_difference(Trace(other), Trace(one)) == position


def test_another_end_is_a_difference() -> None:
    assert first_difference(TRACE, replace(TRACE, status="RESULT_TRUNCATED")) == len(TRACE.tokens)
    assert token_at(TRACE, 11) == 11
    assert token_at(TRACE, 12) is END
