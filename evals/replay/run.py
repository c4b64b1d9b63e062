"""Runs a replay: every drafter over every edit in every form."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from drafts.core.loop import replay
from evals.corpus.records import EditRecord
from evals.replay.case import ReplayCase, make_case
from evals.replay.costs import COSTS
from evals.replay.drafters import Entrant
from evals.replay.forms import form_edit
from evals.replay.recorder import Recorder
from service.prompts.tokenization import TextTokenizer


class ReplayError(RuntimeError):
    """A drafter changed an output or miscounted: a bug, never a property of the edit."""


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

    def add(self, recorder: Recorder, passes: int, drafted: int, accepted: int, rejected: int) -> None:
        self.passes.append(passes)
        self.drafted.append(drafted)
        self.accepted.append(accepted)
        self.rejected.append(rejected)
        self.step_ns.extend(recorder.step_ns)
        self.start_ns.append(recorder.start_ns)


@dataclass(slots=True)
class FormEdits:
    """The edits of one form: ids and lengths of those replayed, ids of those that the form cannot express.

    exact: how many plans predict the result to the byte.
    """

    form: str
    ids: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    exact: int = 0
    not_expressible: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Replayed:
    """complete: False when it was interrupted; then every drafter of a form still has the same edits."""

    edits: dict[str, FormEdits] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    complete: bool = False


def run_replay(
    records: Sequence[EditRecord],
    forms: Sequence[str],
    entrants: Sequence[Entrant],
    tokenizer: TextTokenizer,
    *,
    seed: int,
    advance: Callable[[str], None] = lambda form: None,
    costs: Sequence[float] = COSTS,
) -> Replayed:
    """advance is called after each edit of each form. Ctrl-C ends it early, with what was complete by then.

    Raises ReplayError, and PeerUnavailableError before anything is replayed if it can.
    """
    result = Replayed()
    try:
        for form in forms:
            edits = result.edits[form] = FormEdits(form)
            runs = [Run(entrant, form, g) for entrant in entrants for g in (costs if entrant.by_cost else (None,))]
            result.runs += runs
            for record in records:
                _one_edit(record, edits, runs, tokenizer, seed)
                advance(form)
        result.complete = True
    except KeyboardInterrupt:
        pass
    return result


def _one_edit(record: EditRecord, edits: FormEdits, runs: Sequence[Run], tokenizer: TextTokenizer, seed: int) -> None:
    edit = form_edit(record, edits.form, seed)
    if edit is None:
        edits.not_expressible.append(record.id)
        return
    case = make_case(record, edits.form, edit, tokenizer)
    done = [(run, *replay_one(case, run.entrant, run.g)) for run in runs]
    # All of them or none, wherever an interrupt falls.
    edits.ids.append(record.id)
    edits.tokens.append(len(case.output))
    edits.exact += case.output[:-1] == tuple(case.prompt.expected.token_ids)
    for run, recorder, passes, drafted, accepted, rejected in done:
        run.add(recorder, passes, drafted, accepted, rejected)


def replay_one(case: ReplayCase, entrant: Entrant, g: float | None) -> tuple[Recorder, int, int, int, int]:
    """The recorder, then passes, drafted, accepted and rejected tokens. Raises ReplayError."""
    recorder = Recorder(entrant.make(case, COSTS[0] if g is None else g), entrant.k, len(case.output))
    emitted, report = replay(recorder, case.prompt.draft_request(entrant.k), case.output, entrant.k)
    passes = len(recorder.emitted)
    drafted = sum(map(len, recorder.proposals))
    if tuple(emitted) != case.output or report.target_passes != passes or report.drafted != drafted:
        raise ReplayError(
            f"drafter {entrant.name} on {case.record_id} ({case.form}): the output or the counts are not the recorded "
            "ones; this is a bug in redraft"
        )
    return recorder, passes, drafted, report.accepted, report.rejected
