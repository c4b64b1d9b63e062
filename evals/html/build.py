"""From run files to the report: which sections a page has. Pure but for the shipped example edits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evals.corpus.records import EditRecord
from evals.html import compare, identity, latency, quality, replay, strips
from evals.html.edits import Edits
from evals.html.model import Figure, PageReport, RunNote, Section
from evals.html.run_files import RunFile, read_corpus_report
from evals.identity.report import IdentityReport
from evals.quality.report import QualityReport
from evals.replay.command import example_records
from evals.replay.tokenizers import NamedTokenizer


def build(
    runs: Sequence[RunFile],
    tokenizer: NamedTokenizer,
    records: Sequence[EditRecord] = (),
    *,
    strip_edits: int = strips.MOST,
    advance: Callable[[], None] = lambda: None,
) -> PageReport:
    """The report of some runs.

    tokenizer, records: the tokenizer that replays were made in, and the texts of their edits, as far as they are at
    hand. strip_edits: how many edits of a replay get a region strip; advance is called after each.

    Raises RunFileError.
    """
    edits = Edits(records)
    figures: list[Figure] = []
    sections: list[Section] = []
    earlier: dict[str, tuple[RunFile, compare.AnyReport]] = {}
    for run in runs:
        alone = sum(other.kind == run.kind for other in runs) == 1
        report: compare.AnyReport
        match run.kind:
            case "latency":
                report = latency.read_latency(run)
                edits.offer(example_records())
                rows = report.rows
                figures += latency.headline(report, rows, run.letter)
                made = latency.section(run, report, rows, edits, alone=alone)
            case "replay":
                report = replay.read_replay(run)
                texts = example_records() if report.corpus == "examples" else tuple(records)
                edits.offer(texts)
                figures += replay.headline(report, run.letter)
                drawn = strips.draw(report, edits, texts, tokenizer, most=strip_edits, advance=advance)
                made = replay.section(run, report, edits, drawn.note, alone=alone)
            case "identity":
                report = read_corpus_report(run, IdentityReport)
                figures += identity.headline(report, run.letter)
                made = identity.section(run, report, edits, alone=alone)
            case _:
                report = read_corpus_report(run, QualityReport)
                figures += quality.headline(report, run.letter)
                made = quality.section(run, report, edits, alone=alone)
        sections.append(made)
        if run.kind in earlier:
            first, before = earlier[run.kind]
            sections.append(compare.section(first, run, compare.compare(before, report)))
        else:
            earlier[run.kind] = run, report
    return PageReport(
        title="redraft, measured",
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
    if isinstance(corpus, dict):
        listed = corpus.get("files") or ([corpus] if "file" in corpus else [])
        names = [str(file["file"]) for file in listed if isinstance(file, dict) and "file" in file]
        if names:
            facts.append(f"{corpus.get('records', '?')} edits of {', '.join(names)}")
    if record.get("complete") is False:
        facts.append("interrupted before its end")
    return tuple(facts)
