"""What an alignment of (original, edit) gives: edits, regions, plans.

Texts here are `str` with LF line ends (the service normalizes them); every range is half-open and in
bytes of the text's UTF-8 encoding.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UpdateSnippet:
    """Changed code with elision markers ("... existing code ...") for what stays."""

    text: str


@dataclass(frozen=True, slots=True)
class UnifiedDiff:
    """A unified diff of one file. Line numbers are hints: they may be wrong."""

    text: str


@dataclass(frozen=True, slots=True)
class SearchReplaceBlock:
    """Replace one occurrence of `search` by `replace`."""

    search: str
    replace: str


@dataclass(frozen=True, slots=True)
class SearchReplace:
    """Search/replace blocks, applied in order."""

    blocks: tuple[SearchReplaceBlock, ...]


@dataclass(frozen=True, slots=True)
class Instruction:
    """Free text only: nothing can be placed, the plan keeps the whole original."""

    text: str


Edit = UpdateSnippet | UnifiedDiff | SearchReplace | Instruction


class RegionKind(enum.Enum):
    """What happens to the original's bytes of a region."""

    KEPT = "kept"
    REPLACED = "replaced"
    INSERTED = "inserted"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open byte range."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Region:
    """One step of a plan, in the order of the predicted text.

    original: the bytes of the original it stands for (empty for INSERTED).
    predicted: its bytes in the predicted text (empty for DELETED).
    syntax_path: where it lies, outermost first, for example ("class Foo", "def bar"); empty when unknown.
    confidence: 0 to 1, how sure the alignment is of this region's place and text.
    """

    kind: RegionKind
    original: Span
    predicted: Span
    confidence: float
    syntax_path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Ordered regions; their `original` spans tile the original, their `predicted` spans tile `predicted`."""

    predicted: str
    regions: tuple[Region, ...]
    confidence: float
