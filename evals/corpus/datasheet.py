"""What a corpus holds, in figures: for the console and as Markdown. Pure but for rich's drawing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evals.corpus.filters import bare_lines, changed_share, hunks
from evals.corpus.records import EditRecord
from evals.stats import quantile

_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
SIZES = (50, 100, 200, 400)


@dataclass(frozen=True, slots=True)
class Spread:
    """Smallest, lower quartile, median, upper quartile, largest."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(tuple(quantile(values, q) for q in _QUANTILES))

    def text(self, unit: str = "", scale: float = 1.0) -> str:
        low, lower, middle, upper, high = (f"{value * scale:.0f}" for value in self.values)
        return f"{middle}{unit}" if low == high else f"{middle}{unit} ({low}, {lower}, {upper}, {high})"


@dataclass(frozen=True, slots=True)
class LanguageGroup:
    """The edits of one language, or all of them. lines: of the file before the edit."""

    name: str
    edits: int
    lines: Spread
    hunks: Spread
    changed: Spread


@dataclass(frozen=True, slots=True)
class Datasheet:
    groups: tuple[LanguageGroup, ...]
    whole: LanguageGroup
    sizes: Mapping[str, int]
    licenses: Mapping[str, int]
    repos: Mapping[str, int]


def datasheet(records: Sequence[EditRecord]) -> Datasheet:
    """Raises ValueError for no records."""
    by_language: dict[str, list[tuple[int, int, float]]] = defaultdict(list)
    for record in records:
        old, new = bare_lines(record.before), bare_lines(record.after)
        by_language[record.language].append((record.lines, hunks(old, new), changed_share(old, new)))
    ordered = sorted(by_language.items(), key=lambda item: (-len(item[1]), item[0]))
    everything = [figures for _, group in ordered for figures in group]
    return Datasheet(
        groups=tuple(_group(name, group) for name, group in ordered),
        whole=_group("all", everything),
        sizes=_sizes([lines for lines, _, _ in everything]),
        licenses=dict(Counter(record.license for record in records).most_common()),
        repos=dict(Counter(record.repo for record in records).most_common()),
    )


def _group(name: str, figures: Sequence[tuple[int, int, float]]) -> LanguageGroup:
    lines, counts, shares = zip(*figures, strict=True)
    return LanguageGroup(name, len(figures), Spread.of(lines), Spread.of(counts), Spread.of(shares))


def _sizes(lines: Sequence[int]) -> dict[str, int]:
    """Edits by the length of their file: up to 50 lines, up to 100, ..., over 400."""
    found: dict[str, int] = {}
    low = 0
    for high in SIZES:
        found[f"{low + 1} to {high}"] = sum(low < count <= high for count in lines)
        low = high
    found[f"over {low}"] = sum(count > low for count in lines)
    return found


def _cells(group: LanguageGroup) -> tuple[str, ...]:
    return (
        group.name,
        str(group.edits),
        group.lines.text(),
        group.hunks.text(),
        group.changed.text("%", 100),
    )


_HEADINGS = ("language", "edits", "lines", "hunks", "lines changed")
_SPREAD_NOTE = "Median, and in brackets the smallest, both quartiles and the largest."


def render(sheet: Datasheet) -> RenderableType:
    """At most 80 columns wide."""
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == "language" else "right", no_wrap=True)
    for group in (*sheet.groups, sheet.whole):
        table.add_row(*_cells(group), style="bold" if group is sheet.whole else "")
    lines = ("", _SPREAD_NOTE, f"Lines of the file: {_list(sheet.sizes)}.", f"Licences: {_list(sheet.licenses)}.")
    return Group(table, *(Text(line) for line in lines))


def markdown(sheet: Datasheet, title: str, preface: Sequence[str]) -> str:
    """preface: paragraphs above the figures."""
    parts = [f"# {title}", *preface, "## Edits by language", _SPREAD_NOTE]
    parts.append(_markdown_table(_HEADINGS, [_cells(group) for group in (*sheet.groups, sheet.whole)]))
    for heading, first, counts in (
        ("Size of the files", "lines", sheet.sizes),
        ("Licences", "SPDX expression", sheet.licenses),
        ("Where the edits are from", "repository or package", sheet.repos),
    ):
        parts += [f"## {heading}", _markdown_table((first, "edits"), [(n, str(c)) for n, c in counts.items()])]
    return "\n\n".join(parts) + "\n"


def _markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("--:" for _ in headings[1:])]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (headings, rule, *rows)
    )


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items())
