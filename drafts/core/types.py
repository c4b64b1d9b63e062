"""The contract between a drafter and whoever drives it (vLLM's hook, replay, the reference loop)."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol


class SourceKind(enum.Enum):
    """Where a run of draft tokens was copied from; each kind has its own prior of acceptance."""

    KEPT = "kept"
    EDITED = "edited"
    ORIGINAL = "original"
    EDIT = "edit"
    OUTPUT = "output"

    # Members are looked up in every pass: Enum's own hash is written in Python, and several times as slow.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class DraftRegion:
    """A region of the predicted tokens: [previous region's end, end), kept from the original or edited.

    confidence: the chance that the target goes on with this region where it begins, all before it being right.
    """

    end: int
    kind: SourceKind
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class DraftNode:
    """A syntax node that stands on lines of its own: the half-open range of tokens that it covers."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """Everything a drafter may copy from. Token ids are the target's own.

    predicted: the plan's predicted text, tokenized as the target would write it; may be empty.
    regions: tile `predicted`; empty when there is no plan.
    confidence: the chance that `predicted` is the whole output; 0 when there is no plan.
    nodes: syntax nodes of `predicted` (of `original` where that is empty), nested or disjoint, ordered by start and
    then longest first; empty when unknown.
    original, edit: the tokens of the original file and of the edit; may be empty.
    max_draft_tokens: k is never above it; 0 means plain decoding.
    end_token: proposed after the last token of `predicted`, so that the output's end needs no pass of its own.
    newline_tokens: ids whose text holds a line feed: after one of them an edited line may be over.
    token_bytes: the bytes of a token id (empty for one that is no text), so that a text that the target tokenizes in
    another way is still followed; None when unknown.
    """

    predicted: Sequence[int] = ()
    regions: Sequence[DraftRegion] = ()
    confidence: float = 0.0
    nodes: Sequence[DraftNode] = ()
    original: Sequence[int] = ()
    edit: Sequence[int] = ()
    max_draft_tokens: int = 128
    end_token: int | None = None
    newline_tokens: Collection[int] = ()
    token_bytes: Callable[[int], bytes] | None = None


@dataclass(slots=True)
class RegionReport:
    """Counts of one region (index in DraftRequest.regions; -1: drafted from outside the plan)."""

    region: int
    kind: SourceKind
    drafted: int = 0
    accepted: int = 0
    rejected: int = 0
    passes: int = 0


@dataclass(slots=True)
class DraftReport:
    """Totals of one request. `drafted - accepted - rejected` are trimmed: proposed, never verified.

    Every pass emits its accepted draft tokens and then one token of the target's own, so
    `output_tokens == target_passes + accepted`; the token that ends the output counts as the target's own.
    draft_lengths: k -> number of passes that proposed k draft tokens, zero included.
    drafter_ns: time spent in observe and propose.
    """

    target_passes: int = 0
    output_tokens: int = 0
    drafted: int = 0
    accepted: int = 0
    rejected: int = 0
    drafter_ns: int = 0
    draft_lengths: dict[int, int] = field(default_factory=dict)
    regions: list[RegionReport] = field(default_factory=list)


class Drafter(Protocol):
    """One request's drafter: start, then observe and propose in turn, then finish.

    `observe` gets the tokens that one target pass emitted (at least one): the accepted run of the last proposal,
    then the target's own token. `propose` returns at most `limit` tokens that may follow.
    """

    def start(self, request: DraftRequest) -> None: ...

    def observe(self, tokens: Sequence[int]) -> None: ...

    def propose(self, limit: int) -> list[int]: ...

    def finish(self) -> DraftReport: ...
