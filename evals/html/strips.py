"""Acceptance along the file: single edits of a replay run, replayed again pass by pass.

A replay's file has the counts of every edit, not its passes. They are deterministic, so the page has them again from
the texts, by the classes that made the run, and shows them only where the counts are those that the run recorded.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from drafts.align.plan import Plan, RegionKind
from evals.corpus.records import EditRecord
from evals.html.edits import Edits
from evals.html.model import Strip, StripPass, StripRegion
from evals.html.replay import FormRun, ReplayRun
from evals.replay.case import make_case
from evals.replay.causes import CauseFinder
from evals.replay.document import describe_corpus
from evals.replay.drafters import UnknownDrafterError, entrant
from evals.replay.forms import form_edit
from evals.replay.run import EditRun, recorded_output, replay_one
from evals.replay.tokenizers import NamedTokenizer
from service.prompts.tokenization import TextTokenizer

MOST: Final = 48
"""Edits that get a strip, unless the command is told otherwise: the slowest, where there is most to see."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """drawn: edits with a strip. note: a sentence for the page on which have none and why."""

    drawn: int
    note: str


def draw(
    replay: ReplayRun,
    edits: Edits,
    records: Sequence[EditRecord],
    tokenizer: NamedTokenizer,
    *,
    most: int = MOST,
    advance: Callable[[], None] = lambda: None,
) -> Drawn:
    """Gives strips to the slowest edits of the first form. records: the texts at hand, in the corpus' order."""
    form, g = replay.forms[0], replay.shown_cost
    subject = form.fastest(g, "ours")
    if subject is None:
        return Drawn(0, "Acceptance along the file is shown for redraft's own drafters, and this run has none.")
    if replay.outputs != "recorded":
        return Drawn(
            0, "This run carries no passes, and its unrelated outputs are not in the corpus: no region strips."
        )
    replayed = {*form.ids, *replay.not_expressible.get(form.form, ())}
    chosen = [record for record in records if record.id in replayed]
    if describe_corpus(None, chosen)["records_sha256"] != replay.records_sha256:
        why = "its texts are not at hand (give its corpus with --corpus)" if not chosen else "other texts were given"
        return Drawn(
            0, f"This run carries no passes of single edits, and {why}: acceptance along the file is not shown."
        )
    if tokenizer.sha256 != replay.tokenizer_sha256:
        return Drawn(0, "The run used another tokenizer: give it with --tokenizer to see acceptance along the file.")
    return _draw(replay, form, subject, {record.id: record for record in chosen}, edits, tokenizer, most, advance)


def _draw(
    replay: ReplayRun,
    form: FormRun,
    subject: str,
    by_id: dict[str, EditRecord],
    edits: Edits,
    tokenizer: NamedTokenizer,
    most: int,
    advance: Callable[[], None],
) -> Drawn:
    g = replay.shown_cost
    counts = form.at(subject, g)
    try:
        drafter = entrant(subject)
    except UnknownDrafterError:
        return Drawn(0, f"This version has no drafter {subject}: acceptance along the file is not shown.")
    cost = counts.cost(g)
    slowest = sorted(range(len(form.ids)), key=lambda index: form.tokens[index] / cost[index])[:most]
    drawn = 0
    for index in slowest:
        record = by_id[form.ids[index]]
        edit = form_edit(record, form.form, replay.seed)
        advance()
        if edit is None:
            continue
        case = make_case(record, form.form, edit, tokenizer.tokenizer, recorded_output(record))
        one = replay_one(case, drafter, g if drafter.by_cost else None)
        if (one.passes, one.drafted) != (counts.passes[index], counts.drafted[index]):
            continue
        causes = CauseFinder(case, tokenizer.tokenizer).causes(one.recorder, drafter.k)
        edits.draw(
            record.id,
            Strip(
                form=form.form,
                drafter=subject,
                regions=regions(case.plan, recorded_output(record).encode()),
                passes=passes(one, case.output, [cause.value for cause in causes], tokenizer.tokenizer),
            ),
        )
        drawn += 1
    note = f"Acceptance along the file is shown for {drawn} of the {len(form.ids)} edits, the slowest ones ({subject})."
    if drawn < len(slowest):
        note += f" On {len(slowest) - drawn} this version drafts otherwise than the run did, so they have none."
    return Drawn(drawn, note)


def regions(plan: Plan, output: bytes) -> tuple[StripRegion, ...]:
    """The output's bytes, as the plan sees them: kept or edited where its lines are the predicted ones, in order."""
    predicted = plan.predicted.encode()
    old, new = predicted.splitlines(keepends=True), output.splitlines(keepends=True)
    place, at = _offsets(old), _offsets(new)
    made: list[StripRegion] = []
    for tag, old_low, old_high, low, high in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            shift = at[low] - place[old_low]
            for region in plan.regions:
                start, end = max(region.predicted.start, place[old_low]), min(region.predicted.end, place[old_high])
                kind = "kept" if region.kind is RegionKind.KEPT else "edited"
                _append(made, StripRegion(start + shift, end + shift, kind, " > ".join(region.syntax_path)))
        else:
            _append(made, StripRegion(at[low], at[high], "not as planned", ""))
    return tuple(made)


def _append(made: list[StripRegion], one: StripRegion) -> None:
    if one.end <= one.start:
        return
    last = made[-1] if made else None
    if last is not None and (last.end, last.kind, last.path) == (one.start, one.kind, one.path):
        made[-1] = StripRegion(last.start, one.end, one.kind, one.path)
    else:
        made.append(one)


def _offsets(lines: Sequence[bytes]) -> list[int]:
    return [0, *accumulate(map(len, lines))]


def passes(
    one: EditRun, output: Sequence[int], causes: Sequence[str], tokenizer: TextTokenizer
) -> tuple[StripPass, ...]:
    """One entry for a target pass. output: with its end token, which has no bytes."""
    ends = [0, *tokenizer.byte_ends(output[:-1])]
    ends.append(ends[-1])
    made: list[StripPass] = []
    at = 0
    cursor = "prefill"
    for proposal, emitted, cause in zip(one.recorder.proposals, one.recorder.emitted, causes, strict=True):
        before, cursor = cursor, "prefill" if at == 0 else "following" if emitted > 1 else "lost"
        event = {("following", "lost"): "lost", ("lost", "following"): "found"}.get((before, cursor), "")
        if cause == "last" and emitted == 1:
            cursor, event = before, ""  # only the end was left to say
        made.append(StripPass(ends[at], ends[at + emitted], len(proposal), emitted - 1, cursor, event, cause))
        at += emitted
    return tuple(made)
