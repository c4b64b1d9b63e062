"""The values that labels may take. Everything else becomes OTHER: no caller can make a new series."""

from __future__ import annotations

from typing import Final

from drafts.core.types import SourceKind
from service.agreement import Agreement
from service.languages import KNOWN as LANGUAGES

OTHER: Final = "other"

OK: Final = "OK"
REASONS: Final = (
    OK,
    "CANCELLED",
    "INVALID_REQUEST",
    "MODEL_NOT_FOUND",
    "BASE_DIGEST_MISMATCH",
    "EDIT_NOT_APPLICABLE",
    "EDIT_NOT_PLACED",
    "FORM_NOT_SUPPORTED_BY_MODEL",
    "RESULT_REJECTED",
    "RESULT_TRUNCATED",
    "RESULT_EMPTY",
    "RESULT_HAS_ELISION",
    "RESULT_LOST_LINES",
    "RESULT_NOT_IN_FORMAT",
    "RESULT_AMBIGUOUS",
    "RESULT_CONTROL_TOKEN",
    "RESULT_NOT_UTF8",
    "RESULT_DIFFERS_FROM_PLAN",
    "STARTING",
    "QUEUE_FULL",
    "DRAINING",
    "ENGINE_UNAVAILABLE",
    "UNAVAILABLE",
    "QUOTA_EXCEEDED",
    "DEADLINE_EXCEEDED",
    "INTERNAL",
)
"""What can come of a request: the reasons of proto/README.md, and the two ends that are no errors of ours."""

AGREEMENTS: Final = tuple(one.value for one in Agreement)

OUTSIDE_REGIONS: Final = "unknown"
REGION_KINDS: Final = (*(kind.value for kind in SourceKind), OUTSIDE_REGIONS)
"""Where draft tokens were copied from. The last one: drafted by an engine that does not say (method ngram)."""


def reason(name: str) -> str:
    return name if name in REASONS else OTHER


def language(name: str) -> str:
    return name if name in LANGUAGES else OTHER
