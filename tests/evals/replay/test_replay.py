"""Whatever a drafter proposes, the output is the recorded one and the counts add up."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evals.corpus.records import EditRecord
from evals.replay.case import END_TOKEN, ReplayCase
from evals.replay.costs import bound_passes
from evals.replay.drafters import GROUPS, entrant
from evals.replay.run import replay_one, run_replay
from service.prompts.tokenization import TextTokenizer

MakeCase = Callable[..., ReplayCase]
MakeRecord = Callable[[str, str], EditRecord]

needs_suffix = pytest.mark.skipif(
    find_spec("arctic_inference") is None, reason="the extra `suffix` is not installed: it takes a C++ compiler"
)

LINES = ["x = 1\n", "    return f(x)\n", "\n", "def f(a):\n", "é = '変数'\n", "x = 1\n    y = 2\n", "}\n", "no newline"]
EVERY_KIND = tuple(
    dict.fromkeys(
        (
            *GROUPS["ablation"],
            *("none", "ngram-5", "ngram-64", "suffix", "suffix-128-8-64", "lookup-3-10", "whole-file", "fixed-16"),
        )
    )
)
texts = st.lists(st.sampled_from(LINES), max_size=12).map("".join)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs_suffix if name.startswith("suffix") else ()) for name in EVERY_KIND]
)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=texts, after=texts, snippet=texts)
def test_any_drafter_gives_back_exactly_the_output(
    make_replay_case: MakeCase, tokenizer: TextTokenizer, name: str, before: str, after: str, snippet: str
) -> None:
    # The snippet has nothing to do with the edit: plans are right, wrong and hostile.
    case = make_replay_case(before, after, snippet=snippet)
    assert case.output == (*tokenizer.encode_text(after), END_TOKEN)
    chosen = entrant(name)
    # It raises ReplayError when the tokens that came out are not those of case.output.
    one = replay_one(case, chosen, 0.02 if chosen.by_cost else None)
    recorder = one.recorder
    assert sum(recorder.emitted) == len(case.output) == one.passes + one.accepted
    assert one.passes >= bound_passes(len(case.output), chosen.k)
    assert all(len(proposal) <= chosen.k for proposal in recorder.proposals)
    assert one.drafted >= one.accepted + one.rejected
    assert len(recorder.proposals) == len(recorder.emitted) == one.passes
    if name == "none":
        assert one.passes == len(case.output)


def test_counts_do_not_change_between_runs(make_record: MakeRecord, tokenizer: TextTokenizer) -> None:
    before = "".join(f"line {n} of the file\n" for n in range(60))
    record = make_record(before, before.replace("line 30 of", "line thirty in"))
    drafters = [entrant(name) for name in ("ngram-16", "copy-128", "lookup-3-10")]
    first, second = (run_replay([record], ["update", "diff"], drafters, tokenizer, seed=0) for _ in range(2))
    assert first.complete
    assert [(r.passes, r.drafted, r.causes) for r in first.runs] == [
        (r.passes, r.drafted, r.causes) for r in second.runs
    ]


def test_a_form_that_cannot_say_an_edit_is_named(make_record: MakeRecord, tokenizer: TextTokenizer) -> None:
    # A bare deletion has no line to show without context.
    record = make_record("a\nb\nc\n", "a\nc\n")
    replayed = run_replay([record], ["update-0", "update"], [entrant("none")], tokenizer, seed=0)
    assert replayed.edits["update-0"].not_expressible == ["edit-1"]
    assert replayed.edits["update"].ids == ["edit-1"]


def test_an_interrupt_keeps_what_is_complete(make_record: MakeRecord, tokenizer: TextTokenizer) -> None:
    record = make_record("a\nb\nc\n", "a\nx\nc\n")
    seen: list[str] = []

    def stop_after_two(form: str) -> None:
        seen.append(form)
        if len(seen) == 2:
            raise KeyboardInterrupt

    replayed = run_replay(
        [record] * 3, ["diff"], [entrant("none"), entrant("copy-16")], tokenizer, seed=0, advance=stop_after_two
    )
    assert not replayed.complete
    assert {len(run.passes) for run in replayed.runs} == {2}
    assert len(replayed.edits["diff"].ids) == 2
