"""Runs a replay: every drafter over every edit in every form."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from drafts.core.loop import replay
from evals.corpus.records import EditRecord
from evals.replay.case import ReplayCase, make_case
from evals.replay.causes import Cause, CauseFinder
from evals.replay.costs import COSTS
from evals.replay.drafters import Entrant
from evals.replay.forms import form_edit, lf
from evals.replay.recorder import Recorder
from evals.stepcost.profile import StepCostProfile
from service.prompts.tokenization import TextTokenizer


class ReplayError(RuntimeError):
    """A drafter changed an output or miscounted: a bug, never a property of the edit."""


@dataclass(frozen=True, slots=True)
class EditRun:
    """One drafter over one edit: draft tokens proposed to passes that were made, and what became of them.

    seconds: by a measured profile of passes; 0 without one.
    """

    recorder: Recorder
    passes: int
    drafted: int
    accepted: int
    rejected: int
    seconds: float = 0.0


@dataclass(slots=True)
class Run:
    """One drafter over the edits of one form, at one cost of a draft token (None: it does not look at it).

    passes, drafted, accepted, rejected: one entry for each edit, in the form's order.
    """

    entrant: Entrant
    form: str
    g: float | None
    passes: array[int] = field(default_factory=lambda: array("q"))
    drafted: array[int] = field(default_factory=lambda: array("q"))
    accepted: array[int] = field(default_factory=lambda: array("q"))
    rejected: array[int] = field(default_factory=lambda: array("q"))
    step_ns: array[int] = field(default_factory=lambda: array("q"))
    start_ns: array[int] = field(default_factory=lambda: array("q"))
    causes: Counter[Cause] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, one: EditRun, causes: Counter[Cause]) -> None:
        self.passes.append(one.passes)
        self.drafted.append(one.drafted)
        self.accepted.append(one.accepted)
        self.rejected.append(one.rejected)
        self.step_ns.extend(one.recorder.step_ns)
        self.start_ns.append(one.recorder.start_ns)
        self.causes.update(causes)
        self.seconds += one.seconds


@dataclass(slots=True)
class FormEdits:
    """The edits of one form: ids and lengths of those replayed, ids of those that the form cannot express.

    exact: how many plans predict the result to the byte. plain_seconds: of plain decoding, by a measured profile.
    """

    form: str
    ids: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    exact: int = 0
    plain_seconds: float = 0.0
    not_expressible: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Replayed:
    """complete: False when it was interrupted; then every drafter of a form still has the same edits.

    profile_cost: the cost of a draft token at which drafters that look at it were run for a profile, if one was given.
    """

    edits: dict[str, FormEdits] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    complete: bool = False
    profile_cost: float | None = None


def recorded_output(record: EditRecord) -> str:
    return lf(record.after)


def run_replay(
    records: Sequence[EditRecord],
    forms: Sequence[str],
    entrants: Sequence[Entrant],
    tokenizer: TextTokenizer,
    *,
    seed: int,
    output: Callable[[EditRecord], str] = recorded_output,
    advance: Callable[[str], None] = lambda form: None,
    costs: Sequence[float] = COSTS,
    profile: StepCostProfile | None = None,
) -> Replayed:
    """output gives the text that the target emits for an edit. advance is called after each edit of each form.

    profile: the measured time of passes, which is added to the model of time.

    Ctrl-C ends it early, with what was complete by then. Raises ReplayError, and PeerUnavailableError at the first
    edit that would need a package that is not there.
    """
    result = Replayed()
    if profile is not None:
        result.profile_cost = profile.cost()
        costs = (*costs, result.profile_cost)
    try:
        for form in forms:
            edits = result.edits[form] = FormEdits(form)
            runs = [Run(entrant, form, g) for entrant in entrants for g in (costs if entrant.by_cost else (None,))]
            result.runs += runs
            for record in records:
                _one_edit(record, edits, runs, tokenizer, seed, output, profile)
                advance(form)
        result.complete = True
    except KeyboardInterrupt:
        pass
    return result


def _one_edit(
    record: EditRecord,
    edits: FormEdits,
    runs: Sequence[Run],
    tokenizer: TextTokenizer,
    seed: int,
    output: Callable[[EditRecord], str],
    profile: StepCostProfile | None,
) -> None:
    edit = form_edit(record, edits.form, seed)
    if edit is None:
        edits.not_expressible.append(record.id)
        return
    case = make_case(record, edits.form, edit, tokenizer, output(record))
    finder = CauseFinder(case, tokenizer)
    pass_seconds = _pass_seconds(case, profile)
    done = []
    for run in runs:
        one = replay_one(case, run.entrant, run.g, pass_seconds)
        # Of plain decoding there is nothing to explain.
        done.append((run, one, finder.count(one.recorder, run.entrant.k) if run.entrant.k else Counter()))
    # All of them or none, wherever an interrupt falls.
    edits.ids.append(record.id)
    edits.tokens.append(len(case.output))
    if pass_seconds is not None:
        edits.plain_seconds += len(case.output) * pass_seconds(0)
    edits.exact += case.output[:-1] == tuple(case.prompt.expected.token_ids)
    for run, one, causes in done:
        run.add(one, causes)


def _pass_seconds(case: ReplayCase, profile: StepCostProfile | None) -> Callable[[int], float] | None:
    """The time of a pass by its draft tokens, alone in its batch, at the context in the middle of the output."""
    if profile is None:
        return None
    context = len(case.prompt.token_ids) + len(case.output) // 2
    return cache(lambda draft_tokens: profile.seconds(draft_tokens, context=context))


def replay_one(
    case: ReplayCase, entrant: Entrant, g: float | None, pass_seconds: Callable[[int], float] | None = None
) -> EditRun:
    """Raises ReplayError when the output or the counts are not the recorded ones."""
    recorder = Recorder(entrant.make(case, COSTS[0] if g is None else g), entrant.k, len(case.output))
    emitted, report = replay(recorder, case.draft_request(entrant.k), case.output, entrant.k)
    passes = len(recorder.emitted)
    drafted = sum(map(len, recorder.proposals))
    if tuple(emitted) != case.output or (report.target_passes, report.drafted) != (passes, drafted):
        raise ReplayError(
            f"drafter {entrant.name} on {case.record_id} ({case.form}): the output or the counts are not the recorded "
            "ones; this is a bug in redraft"
        )
    # The prefill's pass counts as one without a draft: it is the same for every drafter and for plain decoding.
    seconds = 0.0 if pass_seconds is None else sum(pass_seconds(len(draft)) for draft in recorder.proposals)
    return EditRun(recorder, passes, drafted, report.accepted, report.rejected, seconds)
