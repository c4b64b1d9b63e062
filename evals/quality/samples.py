"""What one call gave, as it is recorded. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from evals.quality.scorers import Score


@dataclass(frozen=True, slots=True)
class QualitySample:
    """One edit in one form. See scorers.Score for the scores.

    no_op: it was an edit that changes nothing; then only byte_exact counts.
    digest: of the edit's texts (see corpus.records.digest).
    status: "OK", or the reason of the service's error: then there is no result.
    difference: from the expected text to the result, for people; empty when they are the same or there is none.
    """

    id: str
    form: str
    no_op: bool
    language: str
    digest: str
    lines: int
    status: str
    score: Score
    output_tokens: int
    target_passes: int
    difference: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> QualitySample:
        """The inverse of to_json. Raises TypeError or KeyError when a field is missing or unknown."""
        return cls(**{**record, "score": Score(**record["score"])})
