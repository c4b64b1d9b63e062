"""Tries the example edits on any model: every one with drafting and without, through the real service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evals.call import call
from evals.example_edits import ExampleEdit
from evals.samples import Measurement
from service.client import Client, DraftOptions
from service.launch import launch


@dataclass(frozen=True, slots=True)
class Checked:
    """failure: why the service refused the drafted result; None when it gave one."""

    example: str
    drafted: Measurement
    plain: Measurement
    failure: str | None

    @property
    def identical(self) -> bool:
        """Drafting changed neither the text nor the outcome."""
        return (self.drafted.status, self.drafted.output_sha256) == (self.plain.status, self.plain.output_sha256)

    @property
    def right(self) -> bool:
        return self.drafted.matches_expected

    @property
    def outcome(self) -> str:
        if self.failure is not None:
            return f"refused: {self.failure}"
        return "right" if self.right else "another text than the example's"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "identical": self.identical, "right": self.right}


def check_model(
    flags: Sequence[str], examples: Sequence[ExampleEdit], *, env: Mapping[str, str], start_seconds: float
) -> Iterator[Checked]:
    """One service for all; results as they come. Raises LaunchError, and RedraftError when the service fails."""
    with launch(flags, env=env, start_seconds=start_seconds) as address, Client(address) as client:
        for example in examples:
            drafted = call(client, example, DraftOptions(enabled=True))
            plain = call(client, example, DraftOptions(enabled=False))
            yield Checked(example.name, drafted.measurement, plain.measurement, drafted.failure)
