"""Where a draft of a plan ends that is sure of some of its changes only."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from drafts.core.trust import Trust
from drafts.core.types import DraftRegion, SourceKind

KEPT, EDITED = SourceKind.KEPT, SourceKind.EDITED


def plan(*changes: tuple[int, float], size: int = 2000, width: int = 20) -> Trust:
    """A plan with changes of `width` tokens: where they begin, and how sure they are."""
    regions: list[DraftRegion] = []
    for start, confidence in changes:
        regions += [DraftRegion(start, KEPT), DraftRegion(start + width, EDITED, confidence)]
    return Trust([*regions, DraftRegion(size, KEPT)])


def test_a_sure_plan_is_drafted_whole() -> None:
    assert plan((500, 1.0), (900, 1.0)).length(1, 4096, 4096, 0.02) == 4096
    assert plan((500, 1.0)).length(1, 128, 128, 0.02) == 128


def test_a_draft_ends_before_a_long_change_that_is_in_doubt() -> None:
    assert plan((500, 0.6), width=300).length(1, 4096, 4096, 0.02) == 499


def test_a_draft_ends_soon_after_a_short_change_that_is_in_doubt() -> None:
    assert 520 < 1 + plan((500, 0.6)).length(1, 4096, 4096, 0.02) < 620


def test_a_draft_goes_over_a_change_that_is_nearly_sure() -> None:
    assert plan((500, 0.997)).length(1, 4096, 4096, 0.02) == 4096


def test_what_is_nearly_sure_in_a_short_text_is_not_in_a_long_one() -> None:
    doubtful = (100, 0.96)
    assert plan(doubtful, size=400).length(1, 4096, 4096, 0.02) == 4096
    assert plan(doubtful, size=8000).length(1, 16384, 16384, 0.02) < 200


def test_dear_draft_tokens_make_careful() -> None:
    trust = plan((500, 0.9))
    assert trust.length(1, 4096, 4096, 0.001) == 4096
    assert trust.length(1, 4096, 4096, 0.05) < 600


def test_a_small_k_takes_more_risk() -> None:
    trust = plan((100, 0.9))
    assert trust.length(1, 128, 128, 0.02) == 128
    assert trust.length(1, 1024, 1024, 0.02) < 200


def test_behind_the_first_token_of_a_change_its_end_is_what_is_in_doubt() -> None:
    trust = plan((500, 0.6))
    behind = trust.length(501, 4096, 4096, 0.02)
    assert 520 < 501 + behind < 620
    assert trust.length(501 + behind + 1, 4096, 4096, 0.02) == 4096


def test_at_a_doubtful_change_little_is_drafted() -> None:
    assert 0 < plan((500, 0.5), width=300).length(500, 4096, 4096, 0.02) < 50
    assert plan((500, 0.01)).length(500, 4096, 4096, 0.05) == 0


def test_many_small_doubts_add_up() -> None:
    doubts = [(200 + 200 * i, 0.99) for i in range(30)]
    assert plan(doubts[0], size=7000).length(1, 8192, 8192, 0.02) < 8192
    stopped = plan(*doubts, size=7000).length(1, 8192, 8192, 0.006)
    assert stopped < 7000


@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from(list(SourceKind)[:2]), st.floats(0, 1)), max_size=40),
    st.integers(0, 400),
    st.integers(1, 500),
    st.floats(0.001, 0.3),
)
def test_a_length_is_within_its_limit(
    pieces: list[tuple[int, SourceKind, float]], position: int, limit: int, price: float
) -> None:
    end = 0
    regions = []
    for tokens, kind, confidence in pieces:
        end += tokens
        regions.append(DraftRegion(end, kind, confidence))
    assert 0 <= Trust(regions).length(position, limit, 500, price) <= limit
