"""The syntax path of each region of a plan."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace

from drafts.align.lines import TAB_WIDTH
from drafts.align.outline import Definition
from drafts.align.plan import Plan, Region, RegionKind
from drafts.align.structure import Syntax


def with_paths(plan: Plan, syntax: Syntax) -> Plan:
    """The plan with the syntax path of every region that lies inside a definition of the original (`syntax`)."""
    predicted = plan.predicted.encode("utf-8", "surrogatepass")
    return replace(plan, regions=tuple(_with_path(region, syntax, predicted) for region in plan.regions))


def _with_path(region: Region, syntax: Syntax, predicted: bytes) -> Region:
    low = bisect_right(syntax.starts, region.original.start) - 1
    high = bisect_left(syntax.starts, region.original.end)
    around = syntax.definitions_around(low, high)
    if region.kind is RegionKind.INSERTED:
        indent = _first_indent(predicted, region.predicted.start, region.predicted.end)
        around = _ending_here(syntax, low, indent) or around
    return replace(region, syntax_path=tuple(found.label for found in around)) if around else region


def _ending_here(syntax: Syntax, row: int, indent: int) -> list[Definition]:
    """The innermost definition that ends before `row` and that new lines of this indentation go on with; those around.

    Blank lines in between do not count: they are no part of it yet.
    """
    end = row
    while end and not syntax.line(end - 1).strip():
        end -= 1
    around = syntax.definitions_around(end - 1, end) if end else []
    while around:
        found = around[-1]
        if found.end == end and _first_indent(syntax.data, syntax.starts[found.head], len(syntax.data)) < indent:
            break
        around.pop()
    return around


def _first_indent(data: bytes, start: int, end: int) -> int:
    """Columns before the first character that is not blank."""
    column = 0
    for at in range(start, end):
        character = data[at]
        if character == 0x20:
            column += 1
        elif character == 0x09:
            column += TAB_WIDTH - column % TAB_WIDTH
        elif character in b"\r\n":
            column = 0
        else:
            return column
    return 0
