"""What the demo shows. Pure: from texts and measurements to what rich prints."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from drafts.align.plan import Edit, Instruction, SearchReplace, UnifiedDiff, UpdateSnippet
from evals.samples import Measurement
from evals.stats import median
from service.diff import diff_lines, split_lines

_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class DemoResult:
    """One example, applied in turn with drafting and without, `len(drafted)` times each.

    result: the text of the first drafted call; what had come of it, when the call failed.
    predicted: the plan's predicted text; None when the edit could not be placed without the model.
    failure: why the first failed call failed; None when all succeeded.
    """

    name: str
    note: str
    path: str
    edit: Edit
    original: str
    expected: str
    predicted: str | None
    result: str
    drafted: tuple[Measurement, ...]
    plain: tuple[Measurement, ...]
    failure: str | None = None

    @property
    def identical(self) -> bool:
        """Every call of either kind gave the same bytes, and all of them succeeded."""
        runs = (*self.drafted, *self.plain)
        return all(run.ok for run in runs) and len({run.output_sha256 for run in runs}) == 1

    @property
    def as_expected(self) -> bool:
        return self.failure is None and self.result == self.expected


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a unified diff without its line end. marked: it is not in the predicted text at this place."""

    text: str
    marked: bool = False


def unified_diff(before: str, after: str, path: str, unpredicted: frozenset[int] = frozenset()) -> list[DiffLine]:
    """unpredicted: line numbers of `after`, from 0, whose added lines are to be marked."""
    lines: list[DiffLine] = []
    number = 0
    for index, line in enumerate(diff_lines(before, after, (f"a/{path}", f"b/{path}"))):
        if index >= 2 and line.startswith("@@"):
            number = _first_line_after(line)
        marked = index >= 2 and line.startswith("+") and number in unpredicted
        lines.append(DiffLine(line, marked))
        if index >= 2 and line[:1] in ("+", " "):
            number += 1
    return lines


def unpredicted_lines(predicted: str, result: str) -> frozenset[int]:
    """Line numbers of `result`, from 0, that the predicted text does not have there."""
    matcher = difflib.SequenceMatcher(a=split_lines(predicted), b=split_lines(result), autojunk=False)
    return frozenset(
        number for tag, _, _, start, end in matcher.get_opcodes() if tag != "equal" for number in range(start, end)
    )


def show(demo: DemoResult, console: Console) -> None:
    """The whole screen: the edit, the diff, the figures, the verdict. Code is never wrapped."""
    marks: frozenset[int] = frozenset()
    if demo.predicted is not None:
        marks = unpredicted_lines(demo.predicted, demo.result)
    heading = f"{demo.path}, {_lines(demo.original)}; {describe_edit(demo.edit)}"
    console.print(Rule(Text(f"redraft demo: {demo.name}", style="bold"), align="left"))
    console.print(Text(demo.note), Text(heading, style="dim"), "", sep="\n")
    console.print(_diff_text(unified_diff(demo.original, demo.result, demo.path, marks)), soft_wrap=True)
    console.print()
    if demo.failure is None:
        console.print(figures(demo), "", sep="\n")
    for line in verdict(demo):
        console.print(line)
    if demo.failure is None and not demo.as_expected and demo.predicted is not None:
        console.print(_diff_text(unified_diff(demo.predicted, demo.result, demo.path), limit=40), soft_wrap=True)


def describe_edit(edit: Edit) -> str:
    """For example: an update snippet of 12 lines."""
    match edit:
        case UpdateSnippet(text):
            return f"an update snippet of {_lines(text)}"
        case UnifiedDiff(text):
            return f"a unified diff of {_lines(text)}"
        case SearchReplace(blocks):
            return f"search/replace, {len(blocks)} block{'s' if len(blocks) > 1 else ''}"
        case Instruction():
            return "an instruction"


def figures(demo: DemoResult) -> Table:
    """Drafted beside not drafted. Medians over the repeats; the counts are those of the first call."""
    drafted, plain = demo.drafted[0], demo.plain[0]
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("")
    table.add_column("drafting on", justify="right", style="bold")
    table.add_column("drafting off", justify="right")
    table.add_column("")
    seconds = _seconds(demo.drafted), _seconds(demo.plain)
    table.add_row("output tokens", str(drafted.output_tokens), str(plain.output_tokens))
    table.add_row("target passes", str(drafted.target_passes), str(plain.target_passes))
    table.add_row("tokens per pass", f"{drafted.tokens_per_pass:.1f}", f"{plain.tokens_per_pass:.1f}")
    table.add_row("acceptance", _acceptance(drafted), _acceptance(plain))
    table.add_row(
        "wall clock",
        f"{seconds[0]:.2f} s",
        f"{seconds[1]:.2f} s",
        f"{seconds[1] / seconds[0]:.1f} times as fast",
    )
    return table


def verdict(demo: DemoResult) -> list[Text]:
    """Plain sentences."""
    times = len(demo.drafted)
    how = (
        f"(Drafting on and off took turns on the same engine, {times} time{'' if times == 1 else 's'} each after a "
        "warm-up. Wall clock: the median of whole calls, prompt included.)"
    )
    quality = _quality(demo)
    return [
        Text.assemble("identical: ", ("yes", "bold green") if demo.identical else ("no", "bold red")),
        Text(quality[0], style="" if demo.as_expected else "yellow"),
        *map(Text, quality[1:]),
        Text(how, style="dim"),
    ]


def _quality(demo: DemoResult) -> list[str]:
    """What became of the edit, the main sentence first."""
    if demo.failure is not None:
        return [
            f"The service refused the model's text: {demo.failure}",
            "The diff above shows what the model had written, which is not a result.",
        ]
    if demo.as_expected:
        return ["The result is the example's expected text, byte for byte."]
    mistake = "The result is not the example's expected text: the model made a mistake in this edit."
    if demo.predicted is None:
        return [mistake, "The edit could not be placed without the model: there is no predicted text to compare with."]
    if demo.predicted == demo.result:
        return [mistake, "It is what aligning the edit with the file predicted: both merges made the same mistake."]
    count = len(unpredicted_lines(demo.predicted, demo.result))
    marked = f"{count} line{' of it, marked ! above, differs' if count == 1 else 's of it, marked ! above, differ'}"
    return [
        mistake,
        f"{marked} from the predicted text, which comes from aligning the edit with the file.",
        "Below: the predicted text (-) and the result (+).",
    ]


def _diff_text(lines: Sequence[DiffLine], limit: int | None = None) -> Text:
    """limit: how many lines at most; the rest is only counted."""
    if not lines:
        return Text("(no line differs)", style="dim")
    gutter = any(line.marked for line in lines)
    shown = lines if limit is None else lines[:limit]
    rows: list[Text] = []
    for index, line in enumerate(shown):
        row = Text("! " if line.marked else "  ", style="bold yellow") if gutter else Text()
        rows.append(row.append(line.text, style="bold" if index < 2 else _DIFF_STYLES.get(line.text[:1], "default")))
    if len(shown) < len(lines):
        rows.append(Text(f"... and {len(lines) - len(shown)} more lines", style="dim"))
    return Text("\n").join(rows)


def _first_line_after(header: str) -> int:
    """From "@@ -1,2 +3,4 @@": 2, the first line of the new side, counted from 0."""
    start, _, length = header.split(" ")[2].lstrip("+").partition(",")
    return int(start) if length == "0" else int(start) - 1


def _seconds(runs: Sequence[Measurement]) -> float:
    return median([run.total_seconds for run in runs])


def _acceptance(run: Measurement) -> str:
    if run.acceptance is None:
        return "-"
    return f"{run.acceptance:.0%} of {run.accepted_tokens + run.rejected_tokens}"


def _lines(text: str) -> str:
    count = len(split_lines(text))
    return f"{count} line{'' if count == 1 else 's'}"
