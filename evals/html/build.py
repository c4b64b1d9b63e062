"""From run files to the report: which sections a page has. Pure but for the shipped example edits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from evals.corpus.records import EditRecord
from evals.html import latency
from evals.html.edits import Edits
from evals.html.model import Figure, PageReport, RunNote, Section
from evals.html.run_files import RunFile
from evals.replay.command import example_records


def build(runs: Sequence[RunFile], records: Iterable[EditRecord] = ()) -> PageReport:
    """The report of some runs. records: the texts of their edits, as far as they are at hand.

    Raises RunFileError.
    """
    edits = Edits(records)
    figures: list[Figure] = []
    sections: list[Section] = []
    alone = {run.kind: sum(other.kind == run.kind for other in runs) == 1 for run in runs}
    for run in runs:
        if run.kind == "latency":
            report = latency.read_latency(run)
            edits.offer(example_records())
            rows = report.rows
            figures += latency.headline(report, rows, run.letter)
            sections.append(latency.section(run, report, rows, edits, alone=alone[run.kind]))
    return PageReport(
        title="redraft: measured",
        runs=tuple(RunNote(run.letter, run.kind, run.path.name, _facts(run.record)) for run in runs),
        figures=tuple(figures),
        sections=tuple(sections),
        edits=edits.views(),
    )


def _facts(record: dict[str, Any]) -> tuple[str, ...]:
    """Where a run was measured, as far as its file says; what is missing is left out."""
    facts: list[str] = []
    environment = record.get("environment")
    if isinstance(environment, dict):
        commit, hardware = environment.get("commit"), environment.get("hardware")
        if isinstance(commit, dict) and isinstance(commit.get("id"), str):
            facts.append(f"commit {commit['id'][:12]}{' with local changes' if commit.get('modified') else ''}")
        if isinstance(hardware, dict):
            facts.append(f"{hardware.get('cores', '?')} cores of {hardware.get('cpu', 'an unknown CPU')}")
            facts += [str(gpu) for gpu in hardware.get("gpus") or ()]
    corpus = record.get("corpus")
    if isinstance(corpus, dict) and "file" in corpus:
        facts.append(f"{corpus.get('records', '?')} edits of {corpus['file']}")
    if record.get("complete") is False:
        facts.append("interrupted before its end")
    return tuple(facts)
