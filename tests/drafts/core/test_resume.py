from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from drafts.core.copy_drafter import CopyDrafter
from drafts.core.loop import replay
from drafts.core.options import CopyOptions
from drafts.core.resume import Departure, Place, Resume
from drafts.core.step_cost import StepCost
from drafts.core.types import DraftNode, DraftRegion, DraftRequest, SourceKind

NEWLINE = 1
# Six lines of three tokens and a line feed: a class of lines 0 to 4, with a function of lines 1 to 3 in it.
TOKENS = [token for line in range(6) for token in (10 + line, 20 + line, 30 + line, NEWLINE)]
NODES = (DraftNode(0, 20), DraftNode(4, 16), DraftNode(8, 12))


def places(position: int, output: list[int]) -> dict[Place, int]:
    resume = Resume(TOKENS, NODES, {NEWLINE}, None)
    resume.left(Departure(position, len(output) - 3))
    return dict(resume.places(output))


def test_line_boundary_offers_lines_and_ends_of_nodes_around_the_departure() -> None:
    assert places(9, [7, 7, NEWLINE]) == {
        Place.SAME_LINE: 8,
        Place.NEXT_LINE: 12,
        Place.NODE_END: 16,
        Place.OUTER_END: 20,
    }


def test_inside_a_line_only_the_substitution_of_one_token_is_offered() -> None:
    resume = Resume(TOKENS, NODES, {NEWLINE}, None)
    resume.left(Departure(9, 4))
    assert dict(resume.places([1, 2, 3, 4, 5])) == {Place.SUBSTITUTION: 10}
    assert dict(resume.places([1, 2, 3, 4, 5, 6])) == {}


def test_followed_again_offers_nothing() -> None:
    resume = Resume(TOKENS, NODES, {NEWLINE}, None)
    resume.left(Departure(9, 4))
    resume.left(None)
    assert list(resume.places([7, NEWLINE])) == []


def test_line_that_begins_otherwise_is_no_place() -> None:
    spelled = {NEWLINE: b"\n", 2: b"\n    "}
    tokens = [10, NEWLINE, 11, 2, 12, NEWLINE, 13]
    resume = Resume(tokens, (), {NEWLINE, 2}, lambda token: spelled.get(token, b"x"))
    resume.left(Departure(2, 5))
    assert dict(resume.places([9, 2])) == {Place.NEXT_LINE: 4}
    assert dict(resume.places([9, NEWLINE])) == {Place.SAME_LINE: 2}


def test_end_of_a_function_is_weighed_right_after_its_new_body_without_any_evidence() -> None:
    request = DraftRequest(
        predicted=TOKENS,
        regions=(DraftRegion(len(TOKENS), SourceKind.KEPT),),
        nodes=NODES,
        newline_tokens=(NEWLINE,),
    )
    weighed = []
    for structure in (True, False):
        drafter = CopyDrafter(StepCost(0.001), CopyOptions(structure=structure))
        drafter.start(request)
        drafter.observe(TOKENS[:9])
        for token in (70, 71, NEWLINE):
            drafter.propose(32)
            drafter.observe([token])
        drafter.propose(32)
        weighed.append({(cursor.place, cursor.position) for cursor, _ in drafter._tried})
    assert {(Place.NODE_END, 16), (Place.OUTER_END, 20), (Place.SAME_LINE, 8)} <= weighed[0]
    assert {place for place, _ in weighed[1]} <= {Place.NEAR, Place.FAR}


@st.composite
def requests(draw: st.DrawFn) -> DraftRequest:
    tokens = st.lists(st.integers(0, 6), max_size=80)
    predicted = draw(tokens)
    size = len(predicted)
    ends = sorted(draw(st.lists(st.integers(0, size), max_size=4)))
    kinds = st.sampled_from([SourceKind.KEPT, SourceKind.EDITED])
    ranges = draw(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90)), max_size=8))
    spelled = draw(st.lists(st.sampled_from([b"", b"a", b"b", b"ab", b"\n", b"\n  "]), min_size=7, max_size=7))
    return DraftRequest(
        predicted=predicted,
        regions=tuple(DraftRegion(end, draw(kinds)) for end in [*ends, size]) if predicted else (),
        confidence=draw(st.floats(0, 1)),
        # Nested, disjoint or neither: whatever comes, drafting goes on.
        nodes=tuple(DraftNode(start, end) for start, end in ranges),
        original=draw(tokens),
        edit=draw(tokens),
        max_draft_tokens=draw(st.integers(0, 64)),
        end_token=draw(st.none() | st.integers(0, 6)),
        newline_tokens=draw(st.frozensets(st.integers(0, 6), max_size=3)),
        token_bytes=draw(st.sampled_from([None, spelled.__getitem__])),
    )


@given(
    requests(),
    st.lists(st.integers(0, 6), min_size=1, max_size=150),
    st.builds(CopyOptions, st.booleans(), st.booleans(), st.booleans(), st.booleans()),
    st.floats(0.0005, 0.5),
    st.integers(0, 64),
)
def test_whatever_the_request_says_the_output_is_the_same_and_the_report_adds_up(
    request: DraftRequest, output: list[int], options: CopyOptions, cost_ratio: float, limit: int
) -> None:
    emitted, report = replay(CopyDrafter(StepCost(cost_ratio), options), request, output, limit)
    assert emitted == output
    assert report.output_tokens == len(output) == report.target_passes + report.accepted
    assert report.accepted + report.rejected <= report.drafted
    assert sum(k * passes for k, passes in report.draft_lengths.items()) == report.drafted
    assert sum(report.draft_lengths.values()) == report.target_passes
    for name in ("drafted", "accepted", "rejected"):
        assert sum(getattr(row, name) for row in report.regions) == getattr(report, name)
    assert max(report.draft_lengths) <= min(limit, request.max_draft_tokens)
