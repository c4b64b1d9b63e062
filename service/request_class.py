"""Request classes: the caller's class, the form of the edit, the size of the file. What everything is measured by.

Pure, and bounded: each part is one of a few names, whatever a caller sends.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import Final

from drafts.align.plan import Edit, Instruction, SearchReplace, UnifiedDiff, UpdateSnippet
from service.types import RequestClass

UNKNOWN: Final = "unknown"
"""Stands for a part that a bad request does not give."""

CALLER_CLASSES: Final = tuple(one.value for one in RequestClass)
_FORM_OF: Final[dict[type[Edit], str]] = {
    UpdateSnippet: "update_snippet",
    UnifiedDiff: "unified_diff",
    SearchReplace: "search_replace",
    Instruction: "instruction",
}
FORMS: Final = tuple(_FORM_OF.values())
SIZES: Final = ("small", "medium", "large", "huge")

_SIZE_LIMITS: Final = (4 * 1024, 16 * 1024, 64 * 1024)
_WIRE_FORMS: Final = {**{form: form for form in FORMS}, "search_replace_text": "search_replace"}


@dataclass(frozen=True, slots=True)
class LabelledClass:
    """caller: interactive or batch. form: one of FORMS. size: of the file, one of SIZES. Each may be UNKNOWN."""

    caller: str = UNKNOWN
    form: str = UNKNOWN
    size: str = UNKNOWN

    @property
    def values(self) -> tuple[str, str, str]:
        """In the order of the labels `class`, `form`, `size`."""
        return self.caller, self.form, self.size


def size_bucket(file_bytes: int) -> str:
    """small: up to 4 KiB. medium: up to 16 KiB. large: up to 64 KiB. huge: more."""
    return SIZES[bisect.bisect_left(_SIZE_LIMITS, file_bytes)]


def form_of(edit: Edit) -> str:
    """The form of an edit."""
    return _FORM_OF[type(edit)]


def form_name(wire_form: str | None) -> str:
    """The form of an edit by the name of its field; blocks and their text form are one form."""
    return _WIRE_FORMS.get(wire_form or "", UNKNOWN)
