"""One timed call, as it is recorded. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one call took and gave. Seconds are the caller's own clock, from sending to the event.

    status: "OK", or the gRPC status code that ended the call; then the counts are zero.
    first_text_seconds: None when no text came.
    output_sha256: of all the text that came, also of a call that failed.
    """

    status: str
    total_seconds: float
    first_text_seconds: float | None
    output_sha256: str
    prompt_tokens: int = 0
    output_tokens: int = 0
    target_passes: int = 0
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    rejected_tokens: int = 0
    drafter_seconds: float = 0.0
    matches_expected: bool = False
    queue_seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.status == "OK"

    @property
    def tokens_per_pass(self) -> float:
        return self.output_tokens / self.target_passes if self.target_passes else 0.0

    @property
    def acceptance(self) -> float | None:
        """Accepted over verified draft tokens; None when none was verified."""
        verified = self.accepted_tokens + self.rejected_tokens
        return self.accepted_tokens / verified if verified else None


@dataclass(frozen=True, slots=True)
class Sample:
    """A measurement and its place in the run. process: the index of the fresh process in the run's order.

    load: see load.Load. request_class: caller class/form/size bucket of the call.
    """

    configuration: str
    example: str
    repeat: int
    process: int
    measurement: Measurement
    load: str = "closed-1"
    request_class: str = ""

    def to_json(self) -> dict[str, Any]:
        """Flat, in the field's names."""
        place = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "measurement"}
        return place | asdict(self.measurement)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Sample:
        """The inverse of to_json. Raises TypeError when a field is missing or unknown."""
        place = {f.name for f in fields(cls)} - {"measurement"}
        inner = {name: value for name, value in record.items() if name not in place}
        return cls(measurement=Measurement(**inner), **{name: record[name] for name in place if name in record})
