"""`redraft eval align`: how good the alignment is, how well its confidence is calibrated, and what it costs.

Every edit is written as an update snippet with 3, 1 and 0 lines of context, as a unified diff and as search/replace
blocks; the plan's predicted text must be the file after the edit, byte for byte. No model runs. Edits that a form
cannot say are left out of its row and counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from drafts.align import Edit, Plan, UnifiedDiff, UpdateSnippet, plan_edit
from drafts.align.structure import Syntax
from evals.corpus.records import EditRecord
from evals.example_edits import ExampleEdit
from evals.forms import search_replace, unified_diff, update_snippet

CONTEXT_LINES = (3, 1, 0)
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Case:
    """One edit in one form."""

    name: str
    language: str
    form: str
    original: str
    edit: Edit
    expected: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """cause: why the predicted text is another one (see `cause_of`); empty when it is right."""

    name: str
    language: str
    form: str
    confidence: float
    right: bool
    cause: str


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of processor time to plan an edit of three hunks, the least of several tries.

    parse_ms: the part that tree-sitter takes to parse the file. whole_ms: the same edit sent as the whole file.
    """

    lines: int
    plan_ms: float
    parse_ms: float
    whole_ms: float


@dataclass(frozen=True, slots=True)
class AlignmentReport:
    """unsayable: for each form, the edits that it cannot say."""

    outcomes: tuple[Outcome, ...]
    unsayable: dict[str, int]
    costs: tuple[Cost, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "outcomes": [asdict(outcome) for outcome in self.outcomes],
            "unsayable": self.unsayable,
            "costs": [asdict(cost) for cost in self.costs],
        }


def measure(cases: Iterable[Case | str], *, sizes: Sequence[int] = SIZES) -> AlignmentReport:
    """Plan every case; a name of a form among them stands for an edit that this form cannot say."""
    outcomes: list[Outcome] = []
    unsayable: dict[str, int] = {}
    for case in cases:
        if isinstance(case, str):
            unsayable[case] = unsayable.get(case, 0) + 1
            continue
        plan = plan_edit(case.original, case.edit, case.language)
        cause = "" if plan.predicted == case.expected else cause_of(case, plan)
        outcomes.append(Outcome(case.name, case.language, case.form, plan.confidence, not cause, cause))
    return AlignmentReport(tuple(outcomes), unsayable, tuple(cost_of(size) for size in sizes))


def cases_of(records: Iterable[EditRecord]) -> Iterable[Case | str]:
    """Every record in every form."""
    for number, record in enumerate(records):
        old, new, language = record.before, record.after, record.language
        forms: list[tuple[str, Edit | None]] = []
        for context in CONTEXT_LINES:
            snippet = update_snippet(old, new, language, context, seed=number)
            forms.append((f"snippet, {context} lines", None if snippet is None else UpdateSnippet(snippet)))
        diff = unified_diff(old, new, record.path)
        forms.append(("unified diff", None if diff is None else UnifiedDiff(diff)))
        forms.append(("search/replace", search_replace(old, new)))
        for form, edit in forms:
            yield form if edit is None else Case(record.id, language, form, old, edit, new)


def cases_of_examples(examples: Iterable[ExampleEdit]) -> Iterable[Case]:
    """The examples as they are written."""
    for example in examples:
        yield Case(example.name, example.language, "as written", example.original, example.edit, example.expected)


def cause_of(case: Case, plan: Plan) -> str:
    """What kind of miss it is, as far as the texts tell."""
    predicted, expected = plan.predicted, case.expected
    if predicted == case.original:
        return "not placed"
    if _filled(predicted) == _filled(expected):
        return "blank lines only"
    if sorted(_filled(predicted)) == sorted(_filled(expected)):
        return "another place, the same lines"
    old, wrong, right = (set(_filled(text)) for text in (case.original, predicted, expected))
    if (old & right) - wrong:
        return "deleted what stays"
    if (old & wrong) - right:
        return "kept what goes"
    return "another change"


def _filled(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def cost_of(lines: int) -> Cost:
    """The cost for a file of this many lines, made of functions with bodies that resemble each other."""
    original = synthetic_file(lines)
    edited = _with_hunks(original)
    snippet = update_snippet(original, edited, "python", 3, seed=0) or ""
    return Cost(
        lines,
        _least(lambda: plan_edit(original, UpdateSnippet(snippet), "python")),
        _least(lambda: Syntax.of(original, "python")),
        _least(lambda: plan_edit(original, UpdateSnippet(edited), "python")),
    )


def synthetic_file(lines: int) -> str:
    """A Python file of about this many lines: classes of methods whose lines partly repeat."""
    made: list[str] = ["import os", ""]
    number = 0
    while len(made) < lines:
        if number % 12 == 0:
            made += ["", f"class Store{number // 12}:", f'    """Keeps the things of part {number // 12}."""']
        made += [
            "",
            f"    def step_{number}(self, value, limit={number}):",
            "        if value is None:",
            "            return None",
            f"        total = self.weigh(value) + {number % 7}",
            f"        for item in self.items[{number % 5}:]:",
            "            total += item",
            f"            self.seen[{number}].append(item)",
            "        self.total = total",
            f"        return min(total, limit + {number % 3})",
        ]
        number += 1
    return "\n".join(made[:lines]) + "\n"


def _with_hunks(text: str, hunks: int = 3) -> str:
    lines = text.split("\n")
    for number in range(hunks):
        at = (2 * number + 1) * len(lines) // (2 * hunks)
        lines[at : at + 1] = [f"        changed = self.compute({number})", f"        self.log(changed, {number})"]
    return "\n".join(lines)


def _least(run: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return round(1_000 * min(times), 3)
