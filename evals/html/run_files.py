"""Reads the files that the eval commands write. Every fault is one error that names the file and what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from evals.corpus_report import CorpusReport
from evals.run_file import SCHEMA

T = TypeVar("T")
C = TypeVar("C", bound=CorpusReport[Any])

KINDS: Final = ("latency", "replay", "identity", "quality")


class RunFileError(ValueError):
    """A file is no run that the page can show. The message names the file and says what is wrong with it."""

    def __init__(self, path: Path | str, what: str) -> None:
        self.path = path
        super().__init__(f"{path}: {what}")


@dataclass(frozen=True, slots=True)
class RunFile:
    """One run as it was read. letter: what it is called on the page, A for the first of its kind."""

    path: Path
    kind: str
    letter: str
    record: dict[str, Any]

    def fail(self, what: str) -> RunFileError:
        """An error about this file, to raise."""
        return RunFileError(self.path, what)

    def read(self, make: Callable[[dict[str, Any]], T]) -> T:
        """What `make` reads from the record. Raises RunFileError where a field is missing or not what it should be."""
        try:
            return make(self.record)
        except KeyError as error:
            raise self.fail(f"the {self.kind} run has no field {error}; write it again with this version") from error
        except (TypeError, AttributeError, IndexError, ValueError) as error:
            raise self.fail(f"the {self.kind} run is damaged or of another version: {error}") from error


def read_run(path: Path) -> tuple[str, dict[str, Any]]:
    """The kind of a run and its record. Raises RunFileError."""
    try:
        record = json.loads(path.read_bytes())
    except OSError as error:
        raise RunFileError(path, f"it cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError):
        raise RunFileError(path, "it is no JSON in UTF-8") from None
    if not isinstance(record, dict) or "kind" not in record:
        raise RunFileError(path, "it is no file that `redraft eval ... --json` wrote: it says no kind")
    kind, schema = record["kind"], record.get("schema")
    if kind not in KINDS:
        raise RunFileError(path, f"the page shows runs of the kinds {', '.join(KINDS)}, and this one is {kind!r}")
    if schema != SCHEMA:
        raise RunFileError(path, f"it is of schema {schema!r}, and this version reads schema {SCHEMA}")
    return kind, record


def read_runs(paths: Sequence[Path]) -> list[RunFile]:
    """All of them in the order given. Raises RunFileError at the first that is none, or that is named twice."""
    runs: list[RunFile] = []
    for path in paths:
        if any(run.path.resolve() == path.resolve() for run in runs):
            raise RunFileError(path, "it is named twice")
        kind, record = read_run(path)
        letter = chr(ord("A") + sum(run.kind == kind for run in runs))
        runs.append(RunFile(path, kind, letter, record))
    return runs


def read_corpus_report(run: RunFile, kind: type[C]) -> C:
    """The report of a run over a corpus. Raises RunFileError, also where it holds nothing to show."""
    report = run.read(kind.from_json)
    run.read(lambda _: report.rows)  # what the fields hold
    if not report.samples:
        raise run.fail("it holds no samples: the run was stopped before the first edits were done")
    return report
