"""What travels with a request to the drafter inside the engine, and the report that comes back. Flat, and documented.

The plan goes into vLLM's `SamplingParams.extra_args` (`vllm_xargs` over HTTP): only strings, numbers and flat lists.
Every key is optional. A request that names no token ids still drafts from its own prompt.

    redraft_key               str        the report is fetched under this name; unique per request
    redraft_enabled           int        0 decodes plainly
    redraft_max_draft_tokens  int        k of this request in one pass, within the engine's own maximum
    redraft_predicted         list[int]  token ids of the predicted text
    redraft_predicted_text    str        the predicted text itself, for callers without the tokenizer; instead of ids
    redraft_region_ends       list[int]  regions tile `predicted`: region i ends before this token
    redraft_region_kinds      list[str]  "kept" or "edited", one for each region
    redraft_region_confidences list[float]  0 to 1, one for each region: the chance that it is right where it begins
    redraft_confidence        float      0 to 1: the chance that `predicted` is the whole output
    redraft_node_starts       list[int]  syntax nodes of `predicted`, nested or disjoint, ordered by start and then
    redraft_node_ends         list[int]  longest first: node i is the half-open range of these two
    redraft_original          list[int]  [start, end): token positions of the original in the prompt, half-open
    redraft_edit              list[int]  the same for the edit
    redraft_original_tokens   list[int]  token ids of the original, when the prompt does not hold them in one piece
    redraft_edit_tokens       list[int]  the same for the edit
    redraft_end_token         int        ends the output after the predicted text
    redraft_newline_tokens    list[int]  ids whose text holds a line feed
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from drafts.core.types import DraftNode, DraftRegion, DraftReport, DraftRequest, RegionReport, SourceKind

Tokenize = Callable[[str], Sequence[int]]

# Of these, the service's own payloads name at least one.
_TOKENS = ("redraft_predicted", "redraft_original", "redraft_original_tokens", "redraft_edit", "redraft_edit_tokens")

# What a caller's own prediction is taken to be worth until the output has spoken for itself.
_CALLERS_CONFIDENCE = 0.5


class PayloadError(ValueError):
    """A payload that does not say what this module documents. The message names the key, never its content."""


@dataclass(frozen=True, slots=True)
class Payload:
    """A decoded payload. request: None when drafting is off."""

    key: str | None
    request: DraftRequest | None


def encode(request: DraftRequest | None, prompt: Sequence[int], key: str) -> dict[str, Any]:
    """Flat extra_args for `request`; None turns drafting off. Parts that the prompt holds travel as positions."""
    if request is None:
        return {"redraft_key": key, "redraft_enabled": 0}
    payload: dict[str, Any] = {
        "redraft_key": key,
        "redraft_enabled": 1,
        "redraft_max_draft_tokens": request.max_draft_tokens,
        "redraft_predicted": list(request.predicted),
        "redraft_region_ends": [region.end for region in request.regions],
        "redraft_region_kinds": [region.kind.value for region in request.regions],
        "redraft_region_confidences": [region.confidence for region in request.regions],
        "redraft_confidence": request.confidence,
        "redraft_node_starts": [node.start for node in request.nodes],
        "redraft_node_ends": [node.end for node in request.nodes],
        "redraft_newline_tokens": sorted(request.newline_tokens),
    }
    if request.end_token is not None:
        payload["redraft_end_token"] = request.end_token
    for name, part in (("original", request.original), ("edit", request.edit)):
        place = _find(prompt, part)
        if place is not None:
            payload[f"redraft_{name}"] = list(place)
        elif part:
            payload[f"redraft_{name}_tokens"] = list(part)
    return payload


def decode(
    extra_args: Mapping[str, Any] | None,
    prompt: Sequence[int],
    default_draft_tokens: int,
    tokenize: Tokenize | None = None,
    vocabulary: int = 2**31,
) -> Payload:
    """The draft request of a prompt. tokenize: a text as the target would write it; None takes no predicted text.
    vocabulary: how many ids the target has. An engine dies of looking up any other, so none may be drafted.

    Raises PayloadError for anything that the module's table does not allow.
    """
    args = extra_args or {}
    key = args.get("redraft_key")
    if key is not None and not isinstance(key, str):
        raise PayloadError("redraft_key must be a string")
    if not _integer(args, "redraft_enabled", 1):
        return Payload(key, None)
    predicted, confidence = _ids(args, "redraft_predicted", vocabulary), _confidence(args)
    if "redraft_predicted_text" in args:
        predicted = _tokenized(args, tokenize)
        confidence = confidence if "redraft_confidence" in args else _CALLERS_CONFIDENCE
    end_token = _integer(args, "redraft_end_token", None)
    if end_token is not None and end_token >= vocabulary:
        raise PayloadError(f"redraft_end_token must be an id of the model's vocabulary, below {vocabulary}")
    request = DraftRequest(
        predicted=predicted,
        regions=_regions(args, len(predicted)),
        confidence=confidence,
        nodes=_nodes(args, len(predicted)),
        original=_part(args, "original", prompt, vocabulary) if any(name in args for name in _TOKENS) else prompt,
        edit=_part(args, "edit", prompt, vocabulary),
        max_draft_tokens=min(
            _integer(args, "redraft_max_draft_tokens", default_draft_tokens) or 0, default_draft_tokens
        ),
        end_token=end_token,
        newline_tokens=frozenset(_integers(args, "redraft_newline_tokens")),
    )
    return Payload(key, request)


def encode_report(report: DraftReport) -> dict[str, Any]:
    """Plain dicts, lists, ints and strings: what vLLM's worker calls can return."""
    return {
        "target_passes": report.target_passes,
        "output_tokens": report.output_tokens,
        "drafted": report.drafted,
        "accepted": report.accepted,
        "rejected": report.rejected,
        "drafter_ns": report.drafter_ns,
        "draft_lengths": list(report.draft_lengths.items()),
        "regions": [
            (row.region, row.kind.value, row.drafted, row.accepted, row.rejected, row.passes) for row in report.regions
        ],
    }


def decode_report(data: Mapping[str, Any]) -> DraftReport:
    return DraftReport(
        target_passes=data["target_passes"],
        output_tokens=data["output_tokens"],
        drafted=data["drafted"],
        accepted=data["accepted"],
        rejected=data["rejected"],
        drafter_ns=data["drafter_ns"],
        draft_lengths=dict(data["draft_lengths"]),
        regions=[
            RegionReport(region, SourceKind(kind), drafted, accepted, rejected, passes)
            for region, kind, drafted, accepted, rejected, passes in data["regions"]
        ],
    )


def _find(prompt: Sequence[int], part: Sequence[int]) -> tuple[int, int] | None:
    """Where `part` lies in `prompt`, at its first occurrence, as a half-open range."""
    if not part:
        return None
    haystack = np.asarray(prompt, dtype=np.int32).tobytes()
    needle = np.asarray(part, dtype=np.int32).tobytes()
    at = haystack.find(needle)
    while at >= 0 and at % 4:
        at = haystack.find(needle, at + 1)
    return None if at < 0 else (at // 4, at // 4 + len(part))


def _part(args: Mapping[str, Any], name: str, prompt: Sequence[int], vocabulary: int) -> Sequence[int]:
    place = _integers(args, f"redraft_{name}")
    if not place:
        return _ids(args, f"redraft_{name}_tokens", vocabulary)
    if len(place) != 2 or not 0 <= place[0] <= place[1] <= len(prompt):
        raise PayloadError(f"redraft_{name} must be [start, end) within the prompt of {len(prompt)} tokens")
    return prompt[place[0] : place[1]]


def _tokenized(args: Mapping[str, Any], tokenize: Tokenize | None) -> list[int]:
    text = args["redraft_predicted_text"]
    if not isinstance(text, str):
        raise PayloadError("redraft_predicted_text must be a string")
    if "redraft_predicted" in args:
        raise PayloadError("redraft_predicted_text and redraft_predicted exclude each other")
    if tokenize is None:
        raise PayloadError("redraft_predicted_text needs the model's tokenizer: send redraft_predicted")
    return list(tokenize(text))


def _regions(args: Mapping[str, Any], size: int) -> tuple[DraftRegion, ...]:
    ends = _integers(args, "redraft_region_ends")
    kinds = args.get("redraft_region_kinds", [])
    if not isinstance(kinds, list) or len(kinds) != len(ends):
        raise PayloadError("redraft_region_kinds must be a list with one kind for each of redraft_region_ends")
    if ends and (ends != sorted(ends) or ends[0] < 0 or ends[-1] != size):
        raise PayloadError("redraft_region_ends must rise and end with the length of redraft_predicted")
    confidences = args.get("redraft_region_confidences", [1.0] * len(ends))
    if not isinstance(confidences, list) or len(confidences) != len(ends) or not all(map(_is_chance, confidences)):
        raise PayloadError(
            "redraft_region_confidences must be a list with one number from 0 to 1 for each of redraft_region_ends"
        )
    try:
        return tuple(map(DraftRegion, ends, map(SourceKind, kinds), map(float, confidences)))
    except ValueError:
        raise PayloadError('redraft_region_kinds may hold only "kept" and "edited"') from None


def _nodes(args: Mapping[str, Any], size: int) -> tuple[DraftNode, ...]:
    starts, ends = _integers(args, "redraft_node_starts"), _integers(args, "redraft_node_ends")
    if len(starts) != len(ends) or starts != sorted(starts):
        raise PayloadError("redraft_node_ends must have one end for each of redraft_node_starts, which must rise")
    if any(not 0 <= start < end <= size for start, end in zip(starts, ends, strict=True)):
        raise PayloadError("redraft_node_starts and redraft_node_ends must be ranges within redraft_predicted")
    return tuple(map(DraftNode, starts, ends))


def _confidence(args: Mapping[str, Any]) -> float:
    value = args.get("redraft_confidence", 0.0)
    if not _is_chance(value):
        raise PayloadError("redraft_confidence must be a number from 0 to 1")
    return float(value)


def _is_chance(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _integers(args: Mapping[str, Any], name: str) -> list[int]:
    value = args.get(name, [])
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise PayloadError(f"{name} must be a flat list of integers")
    return value


def _ids(args: Mapping[str, Any], name: str, vocabulary: int) -> list[int]:
    ids = _integers(args, name)
    if ids and not 0 <= min(ids) <= max(ids) < vocabulary:
        raise PayloadError(f"{name} must hold ids of the model's vocabulary, from 0 to {vocabulary - 1}")
    return ids


def _integer(args: Mapping[str, Any], name: str, default: int | None) -> int | None:
    value = args.get(name, default)
    if value is not None and (type(value) is not int or value < 0):
        raise PayloadError(f"{name} must be an integer, zero or more")
    return value
