"""What the reports of runs over a corpus have in common: their parts, and how they are written and read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from evals.run_file import content, envelope


class RecordedSample(Protocol):
    """One edit's outcome."""

    def to_json(self) -> dict[str, Any]: ...


S = TypeVar("S", bound=RecordedSample)


@dataclass(slots=True)
class CorpusReport(ABC, Generic[S]):
    """What has been measured so far; a row and a sample are what the kind of run makes them.

    setup: what must be equal for a run to go on where this one stopped: model, drafter, engine, seed.
    corpus: see run_file.corpus_note. environment: see environment.describe.
    not_expressible: form -> edits of the corpus that it cannot say. complete: whether the run got to its end.
    """

    KIND: ClassVar[str]

    setup: dict[str, Any]
    corpus: dict[str, Any]
    environment: dict[str, Any]
    drafter: str
    samples: list[S] = field(default_factory=list)
    not_expressible: dict[str, int] = field(default_factory=dict)
    complete: bool = False

    @property
    @abstractmethod
    def rows(self) -> Sequence[Any]:
        """One a form, or a form and configuration: computed from the samples."""

    @abstractmethod
    def row_to_json(self, row: Any) -> dict[str, Any]: ...

    @staticmethod
    @abstractmethod
    def sample_from_json(record: dict[str, Any]) -> S:
        """Raises KeyError or TypeError when a field is missing or unknown."""

    def to_json(self) -> dict[str, Any]:
        """Rows come first: they are what other programs read."""
        parts = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "samples"}
        rows = [self.row_to_json(row) for row in self.rows]
        return envelope(self.KIND, {"rows": rows, **parts, "samples": [sample.to_json() for sample in self.samples]})

    @classmethod
    def from_json(cls, record: Any) -> Self:
        """Rows are computed again. Raises run_file.OtherRunError for anything else than to_json gives."""
        return content(record, cls.KIND, cls._read)

    @classmethod
    def _read(cls, record: dict[str, Any]) -> Self:
        parts = {part.name: record[part.name] for part in fields(cls) if part.name != "samples"}
        return cls(**parts, samples=[cls.sample_from_json(sample) for sample in record["samples"]])
