"""The report that the page shows: one versioned object of plain values, made from run files. Pure.

Nothing here knows HTML or a plotting library: sections are made by the modules named for the kinds of runs, drawn by
`plots` and written by `render`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

SCHEMA = 1

Mark = Literal["", "better", "worse"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A headline figure. value: as it is shown; number: what was rounded for it, in `unit`."""

    name: str
    label: str
    value: str
    number: float
    unit: str
    detail: str


@dataclass(frozen=True, slots=True)
class Cell:
    """text: as it is shown. edit: the key of an EditView to open. mark: moved beyond noise, and which way."""

    text: str
    edit: str | None = None
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class Table:
    """numeric: the columns whose cells are figures. The first column names the row."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[int] = frozenset()
    long: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """One measured value. place: the row it is drawn in (DotPlot), or its horizontal value (Scatter)."""

    place: str | float
    value: float
    series: str
    label: str
    edit: str | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """An estimate and its interval, in one row of a DotPlot."""

    place: str
    series: str
    low: float
    estimate: float
    high: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class DotPlot:
    """Rows of points, with an estimate and its interval in each. text: the alternative for who does not see it.

    reference: a value to draw a line at (1 for ratios, 0 for changes). offset: one line per series within a row.
    order: every series of the section, so that each has one colour in all of its plots.
    """

    name: str
    title: str
    text: str
    axis: str
    points: tuple[Point, ...]
    ranges: tuple[Range, ...]
    logarithmic: bool = False
    reference: float | None = None
    offset: bool = False
    order: tuple[str, ...] = ()
    number_format: str = ""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points over two quantities, both logarithmic. text, order: see DotPlot."""

    name: str
    title: str
    text: str
    across: str
    axis: str
    points: tuple[Point, ...]
    order: tuple[str, ...] = ()


Plot = DotPlot | Scatter


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page. blocks are shown in order; notes are plain sentences beneath."""

    name: str
    title: str
    lead: str
    blocks: tuple[Plot | Table, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StripRegion:
    """Output bytes [start, end): kept from the original, or edited."""

    start: int
    end: int
    kind: str
    path: str


@dataclass(frozen=True, slots=True)
class StripPass:
    """A target pass that gave output bytes [start, end). k: draft tokens that it verified; accepted: of them.

    cursor: following (a draft token was accepted), lost (none was), or prefill. event: lost or found where it changes.
    """

    start: int
    end: int
    k: int
    accepted: int
    cursor: str
    event: str
    cause: str


@dataclass(frozen=True, slots=True)
class Strip:
    """One edit's output from its first byte to its last. form, drafter: of the replay that was run again for it."""

    form: str
    drafter: str
    regions: tuple[StripRegion, ...]
    passes: tuple[StripPass, ...]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """kind: "hunk", "added", "removed" or "same"."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class NamedDiff:
    """From one text to another. title: says which."""

    title: str
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class EditView:
    """What a point opens. diff: None when the texts are not at hand, and `missing` says why.

    answers: what a model wrote otherwise than the edit's author.
    """

    key: str
    title: str
    facts: tuple[str, ...]
    diff: tuple[DiffLine, ...] | None
    missing: str
    tables: tuple[Table, ...] = ()
    answers: tuple[NamedDiff, ...] = ()
    strip: Strip | None = None


@dataclass(frozen=True, slots=True)
class RunNote:
    """Which file a run is from. letter: as it is named on the page. facts: where and when it was measured."""

    letter: str
    kind: str
    file: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageReport:
    """Everything on the page."""

    title: str
    runs: tuple[RunNote, ...]
    figures: tuple[Figure, ...]
    sections: tuple[Section, ...]
    edits: tuple[EditView, ...]

    def to_json(self) -> dict[str, Any]:
        """The same object for other programs."""
        record = asdict(self)
        for section in record["sections"]:
            for block in section["blocks"]:
                if "numeric" in block:
                    block["numeric"] = sorted(block["numeric"])
        for edit in record["edits"]:
            for table in edit["tables"]:
                table["numeric"] = sorted(table["numeric"])
        return {"schema": SCHEMA, "kind": "page"} | record
