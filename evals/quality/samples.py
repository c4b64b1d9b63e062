"""What one call gave, as it is recorded. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from evals.quality.scorers import Score
from service.agreement import Agreement


@dataclass(frozen=True, slots=True)
class QualitySample:
    """One edit in one form. See scorers.Score for the scores.

    no_op: it was an edit that changes nothing; then only byte_exact counts.
    digest: of the edit's texts (see corpus.records.digest).
    status: "OK", or the reason of the service's error: then there is no result.
    difference: from the expected text to the result, for people; empty when they are the same or there is none.
    agreement: of the model with the plan, as the answer says; None where there is no result, or where the run's file is
    older than this field. In JSON by its name in capitals; None is left out.
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
    agreement: Agreement | None = None

    def to_json(self) -> dict[str, Any]:
        record = asdict(self)
        del record["agreement"]
        return record if self.agreement is None else record | {"agreement": self.agreement.name}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> QualitySample:
        """The inverse of to_json. Raises TypeError or KeyError when a field is missing or unknown."""
        agreement = Agreement[record["agreement"]] if "agreement" in record else None
        return cls(**{**record, "score": Score(**record["score"]), "agreement": agreement})
