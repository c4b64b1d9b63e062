from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafts.core.types import DraftNode, DraftRegion, DraftReport, DraftRequest, RegionReport, SourceKind
from drafts.payload import PayloadError, decode, decode_report, encode, encode_report

PROMPT = [1, 2, 3, 10, 11, 12, 13, 4, 20, 21, 5]


def plain(request: DraftRequest | None) -> dict[str, Any] | None:
    """Field by field, whatever kinds of sequences they are."""
    if request is None:
        return None
    return {
        "predicted": list(request.predicted),
        "regions": list(request.regions),
        "confidence": request.confidence,
        "nodes": list(request.nodes),
        "original": list(request.original),
        "edit": list(request.edit),
        "k": request.max_draft_tokens,
        "end": request.end_token,
        "newlines": set(request.newline_tokens),
    }


@given(
    predicted=st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=20),
    part=st.lists(st.sampled_from(PROMPT), max_size=4),
    k=st.integers(0, 128),
    end=st.none() | st.integers(0, 100),
    newlines=st.frozensets(st.integers(0, 100), max_size=5),
    confidence=st.floats(0, 1),
    doubt=st.floats(0, 1),
)
def test_decoding_gives_back_what_was_encoded(
    predicted: list[int],
    part: list[int],
    k: int,
    end: int | None,
    newlines: frozenset[int],
    confidence: float,
    doubt: float,
) -> None:
    half = len(predicted) // 2
    request = DraftRequest(
        predicted=predicted,
        regions=(DraftRegion(half, SourceKind.KEPT), DraftRegion(len(predicted), SourceKind.EDITED, doubt)),
        confidence=confidence,
        nodes=(DraftNode(0, len(predicted)), DraftNode(half, half + 1)),
        original=PROMPT[3:7],
        edit=part,
        max_draft_tokens=k,
        end_token=end,
        newline_tokens=newlines,
    )
    payload = encode(request, PROMPT, "name")
    assert all(isinstance(value, str | int | float | list) for value in payload.values())
    decoded = decode(payload, PROMPT, 128)
    assert decoded.key == "name"
    assert plain(decoded.request) == plain(request)


def test_parts_of_the_prompt_travel_as_positions() -> None:
    payload = encode(DraftRequest(original=[10, 11, 12, 13], edit=[20, 21]), PROMPT, "name")
    assert payload["redraft_original"] == [3, 7]
    assert payload["redraft_edit"] == [8, 10]
    assert "redraft_original_tokens" not in payload


def test_parts_that_the_prompt_lacks_travel_whole() -> None:
    payload = encode(DraftRequest(original=[10, 12], edit=[99]), PROMPT, "name")
    assert payload["redraft_original_tokens"] == [10, 12]
    assert payload["redraft_edit_tokens"] == [99]


def test_positions_are_whole_tokens() -> None:
    # The bytes of [256] also occur across the tokens 1 and 0: that is no occurrence.
    payload = encode(DraftRequest(original=[256]), [65536, 1, 256], "name")
    assert payload["redraft_original"] == [2, 3]
    assert "redraft_original" not in encode(DraftRequest(original=[256]), [65536, 1], "name")


@pytest.mark.parametrize("extra_args", [None, {}, {"other": 1}, {"redraft_key": "name"}])
def test_without_a_payload_the_prompt_is_the_source(extra_args: dict[str, Any] | None) -> None:
    decoded = decode(extra_args, PROMPT, 77)
    assert plain(decoded.request) == plain(DraftRequest(original=PROMPT, max_draft_tokens=77))


@pytest.mark.parametrize("extra_args", [{"redraft_max_draft_tokens": 5}, {"redraft_confidence": 1}])
def test_what_names_no_tokens_leaves_the_prompt_as_the_source(extra_args: dict[str, Any]) -> None:
    request = decode(extra_args, PROMPT, 77).request
    assert request is not None
    assert list(request.original) == PROMPT
    assert request.max_draft_tokens == extra_args.get("redraft_max_draft_tokens", 77)


def test_a_predicted_text_is_tokenized_here() -> None:
    request = decode({"redraft_predicted_text": "ab"}, PROMPT, 77, lambda text: [ord(c) for c in text]).request
    assert plain(request) == plain(
        DraftRequest(predicted=[97, 98], confidence=0.5, original=PROMPT, max_draft_tokens=77)
    )
    sure = decode({"redraft_predicted_text": "a", "redraft_confidence": 1}, PROMPT, 77, lambda _: [1]).request
    assert sure is not None
    assert sure.confidence == 1.0


@pytest.mark.parametrize("more", [{"redraft_predicted": [1]}, {}])
def test_a_predicted_text_that_cannot_be_used(more: dict[str, Any]) -> None:
    with pytest.raises(PayloadError, match="redraft_predicted_text"):
        decode({"redraft_predicted_text": "ab", **more}, PROMPT, 77, (lambda _: [1]) if more else None)


def test_drafting_can_be_off() -> None:
    assert decode(encode(None, PROMPT, "name"), PROMPT, 128).request is None


def test_k_is_at_most_the_engine_s() -> None:
    request = decode(encode(DraftRequest(predicted=[1], max_draft_tokens=1000), PROMPT, "name"), PROMPT, 64).request
    assert request is not None
    assert request.max_draft_tokens == 64


@pytest.mark.parametrize(
    ("extra_args", "key"),
    [
        ({"redraft_key": 5}, "redraft_key"),
        ({"redraft_enabled": "yes"}, "redraft_enabled"),
        ({"redraft_max_draft_tokens": -1}, "redraft_max_draft_tokens"),
        ({"redraft_predicted": [1, "2"]}, "redraft_predicted"),
        ({"redraft_predicted": "12"}, "redraft_predicted"),
        ({"redraft_predicted": [1, 2], "redraft_region_ends": [1], "redraft_region_kinds": ["kept"]}, "region_ends"),
        (
            {"redraft_predicted": [1], "redraft_region_ends": [2, 1], "redraft_region_kinds": ["kept", "kept"]},
            "region_ends",
        ),
        ({"redraft_predicted": [1], "redraft_region_ends": [1], "redraft_region_kinds": []}, "region_kinds"),
        ({"redraft_predicted": [1], "redraft_region_ends": [1], "redraft_region_kinds": ["best"]}, "region_kinds"),
        (
            {
                "redraft_predicted": [1],
                "redraft_region_ends": [1],
                "redraft_region_kinds": ["kept"],
                "redraft_region_confidences": [1.5],
            },
            "region_confidences",
        ),
        ({"redraft_region_confidences": [0.5]}, "region_confidences"),
        ({"redraft_original": [0, 12]}, "redraft_original"),
        ({"redraft_original": [5, 3]}, "redraft_original"),
        ({"redraft_edit": [1]}, "redraft_edit"),
        ({"redraft_confidence": 1.5}, "redraft_confidence"),
        ({"redraft_confidence": True}, "redraft_confidence"),
        ({"redraft_predicted": [1], "redraft_node_starts": [0], "redraft_node_ends": [2]}, "redraft_node_ends"),
        ({"redraft_predicted": [1], "redraft_node_starts": [0]}, "redraft_node_starts"),
        (
            {"redraft_predicted": [1, 2], "redraft_node_starts": [1, 0], "redraft_node_ends": [2, 1]},
            "redraft_node_starts",
        ),
        ({"redraft_end_token": 1.5}, "redraft_end_token"),
        ({"redraft_predicted_text": ["secret"]}, "redraft_predicted_text"),
    ],
)
def test_what_is_not_documented_is_refused_by_name(extra_args: dict[str, Any], key: str) -> None:
    with pytest.raises(PayloadError, match=key):
        decode(extra_args, PROMPT, 128)


def test_reports_survive_the_way_back() -> None:
    report = DraftReport(
        5,
        25,
        30,
        20,
        8,
        12345,
        {0: 1, 10: 3},
        [RegionReport(0, SourceKind.KEPT, 30, 20, 8, 3), RegionReport(-1, SourceKind.OUTPUT)],
    )
    assert decode_report(encode_report(report)) == report


@pytest.mark.parametrize("name", ["redraft_predicted", "redraft_original_tokens", "redraft_edit_tokens"])
@pytest.mark.parametrize("token", [-1, 50, 2**40])
def test_ids_are_the_model_s(name: str, token: int) -> None:
    assert decode({name: [0, 49]}, PROMPT, 8, vocabulary=50).request is not None
    with pytest.raises(PayloadError, match=f"{name} must hold ids of the model's vocabulary, from 0 to 49"):
        decode({name: [0, 49, token]}, PROMPT, 8, vocabulary=50)


def test_the_end_token_is_the_model_s() -> None:
    assert decode({"redraft_end_token": 49}, PROMPT, 8, vocabulary=50).request is not None
    with pytest.raises(PayloadError, match="redraft_end_token must be an id"):
        decode({"redraft_end_token": 50}, PROMPT, 8, vocabulary=50)
