from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drafts.align.plan import Instruction, Plan, Region, RegionKind, Span
from evals.corpus.records import EditRecord
from evals.html.edits import Edits
from evals.html.model import Strip
from evals.html.replay import ReplayRun, read_replay
from evals.html.run_files import RunFile, read_runs
from evals.html.strips import draw, passes, regions
from evals.replay.case import make_case
from evals.replay.drafters import entrant
from evals.replay.run import replay_one
from evals.replay.tokenizers import NamedTokenizer


@pytest.fixture(scope="module")
def replay(replay_file: Path) -> ReplayRun:
    return read_replay(read_runs([replay_file])[0])


def changed(replay_file: Path, **fields: Any) -> ReplayRun:
    record = json.loads(replay_file.read_bytes()) | fields
    return read_replay(RunFile(replay_file, "replay", "A", record))


def strips_of(edits: Edits) -> dict[str, Strip]:
    return {view.title: view.strip for view in edits.views() if view.strip is not None}


def test_passes_cover_the_output_and_count_as_the_run_did(
    replay: ReplayRun, records: list[EditRecord], tokenizer: NamedTokenizer
) -> None:
    edits = Edits(records)
    assert draw(replay, edits, records, tokenizer).drawn == 6
    counts = replay.forms[0].at("copy-64", replay.shown_cost)
    found = strips_of(edits)
    for index, record in enumerate(records):
        strip = found[record.id]
        size = len(record.after.encode())
        assert [one.start for one in strip.passes] == [0, *(one.end for one in strip.passes[:-1])]
        assert strip.passes[-1].end == size
        assert len(strip.passes) == counts.passes[index]
        assert sum(one.k for one in strip.passes) == counts.drafted[index]
        assert (strip.passes[0].cursor, strip.passes[0].k) == ("prefill", 0)
        assert strip.regions[0].start == 0
        assert strip.regions[-1].end == size
        edited = [record.after.encode()[one.start : one.end] for one in strip.regions if one.kind == "edited"]
        assert b"value - " in b"".join(edited)


def test_the_cursor_is_lost_where_no_draft_token_is_accepted_and_found_after(
    records: list[EditRecord], tokenizer: NamedTokenizer
) -> None:
    record = replace(records[0], after=records[0].before.replace("value + 7", "an_unheard_of(name, 123, zebra) % quux"))
    case = make_case(record, "instruction", Instruction("Go"), tokenizer.tokenizer, record.after)
    one = replay_one(case, entrant("copy-64"), 0.02)
    found = passes(one, case.output, ["cause"] * one.passes, tokenizer.tokenizer)
    events = [one for one in found if one.event]
    assert [one.event for one in events[:2]] == ["lost", "found"]
    start = record.after.encode().index(b"an_unheard_of")
    assert start <= events[0].start < events[1].start
    assert all((one.cursor == "lost") == (one.accepted == 0) for one in found[1:-1])


def test_only_the_slowest_are_drawn_when_told_so(
    replay: ReplayRun, records: list[EditRecord], tokenizer: NamedTokenizer
) -> None:
    edits = Edits(records)
    drawn = draw(replay, edits, records, tokenizer, most=2)
    assert drawn.drawn == 2
    assert "2 of the 6 edits" in drawn.note
    form = replay.forms[0]
    speed = form.tokens / form.at("copy-64", replay.shown_cost).cost(replay.shown_cost)
    slowest = sorted(zip(speed, form.ids, strict=True))[:2]
    assert set(strips_of(edits)) == {name for _, name in slowest}


def test_the_page_says_why_there_is_no_strip(
    replay: ReplayRun, replay_file: Path, records: list[EditRecord], tokenizer: NamedTokenizer
) -> None:
    def note(run: ReplayRun, texts: list[EditRecord], by: NamedTokenizer = tokenizer) -> str:
        drawn = draw(run, Edits(texts), texts, by)
        assert drawn.drawn == 0
        return drawn.note

    assert "--corpus" in note(replay, [])
    assert "other texts" in note(replay, records[:3])
    assert "--tokenizer" in note(replay, records, NamedTokenizer("other", "0" * 64, tokenizer.tokenizer))
    record = json.loads(replay_file.read_bytes())
    assert "unrelated outputs" in note(
        changed(replay_file, corpus=record["corpus"] | {"outputs": "unrelated"}), records
    )
    for run in record["samples"]["update"]["runs"]:
        run["passes"] = [count + 1 for count in run["passes"]]
    assert "6 this version drafts otherwise" in note(changed(replay_file, samples=record["samples"]), records)


def test_regions_follow_the_output_where_it_leaves_the_plan() -> None:
    predicted = "a\nb\nc\nd\n"
    kept, edited = RegionKind.KEPT, RegionKind.REPLACED
    plan = Plan(
        predicted,
        (
            Region(kept, Span(0, 2), Span(0, 2), 1.0),
            Region(edited, Span(2, 4), Span(2, 4), 1.0, ("def f",)),
            Region(kept, Span(4, 8), Span(4, 8), 1.0),
        ),
        1.0,
    )
    found = [(one.start, one.end, one.kind, one.path) for one in regions(plan, b"a\nb\nnew\nc\nd\n")]
    assert found == [(0, 2, "kept", ""), (2, 4, "edited", "def f"), (4, 8, "not as planned", ""), (8, 12, "kept", "")]
