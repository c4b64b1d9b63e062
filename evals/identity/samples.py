"""What one edit showed: the outcome of its decodings, as it is recorded. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a difference. token: None is the end of the output. text: the token's bytes, as UTF-8.

    margin: the natural log-probability of the likeliest token less that of the second, when this side was decoded
    again up to here; None when it then came out otherwise. likeliest: those two tokens.
    """

    token: int | None
    text: str
    margin: float | None = None
    likeliest: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where the output with drafting is not the one without.

    pass_width: of the target pass with drafting that gave the token; None where passes cannot be told apart.
    status: of the calls, "OK" or the reason of the service's error.
    """

    position: int
    plain: Side
    drafted: Side
    pass_width: int | None
    plain_status: str
    drafted_status: str


@dataclass(frozen=True, slots=True)
class IdentitySample:
    """One edit in one form at one concurrency.

    digest: of the edit's texts (see corpus.records.digest). status: of the call without drafting.
    output_tokens, target_passes, drafted_tokens: of the decoding with drafting.
    repeated, elsewhere: whether a second decoding without drafting, and one at another concurrency, gave the same
    tokens; None where it was not made.
    """

    id: str
    form: str
    language: str
    digest: str
    concurrency: int
    status: str
    output_tokens: int
    target_passes: int
    drafted_tokens: int
    difference: Difference | None
    repeated: bool | None
    elsewhere: bool | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> IdentitySample:
        """The inverse of to_json. Raises TypeError or KeyError when a field is missing or unknown."""
        found = record["difference"]
        difference = None
        if found is not None:
            sides = {name: _side(found[name]) for name in ("plain", "drafted")}
            difference = Difference(**{**found, **sides})
        return cls(**{**record, "difference": difference})


def _side(record: dict[str, Any]) -> Side:
    pair = record["likeliest"]
    return Side(**{**record, "likeliest": None if pair is None else (pair[0], pair[1])})
