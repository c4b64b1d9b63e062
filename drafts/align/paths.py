"""The syntax path of each region of a plan."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace

from drafts.align.lines import TAB_WIDTH
from drafts.align.outline import Definition, Outline
from drafts.align.plan import Plan, Region, RegionKind
from drafts.align.structure import Syntax


def with_paths(plan: Plan, syntax: Syntax) -> Plan:
    """The plan with the syntax path of every region that lies inside a definition of the original (`syntax`)."""
    if not syntax.outline.definitions:
        return plan
    predicted = plan.predicted.encode("utf-8", "surrogatepass")
    return replace(plan, regions=tuple(_with_path(region, syntax, predicted) for region in plan.regions))


def _with_path(region: Region, syntax: Syntax, predicted: bytes) -> Region:
    low = bisect_right(syntax.starts, region.original.start) - 1
    high = bisect_left(syntax.starts, region.original.end)
    found = syntax.outline.around(low, high)
    if region.kind is RegionKind.INSERTED:
        indent = _first_indent(predicted, region.predicted.start, region.predicted.end)
        found = _ends_here(syntax, low, indent) or found
    return region if found is None else replace(region, syntax_path=found.path)


def _ends_here(syntax: Syntax, row: int, indent: int) -> Definition | None:
    """The innermost definition that ends before `row` and that new lines of this indentation go on with.

    Blank lines in between do not count: they are no part of it yet.
    """
    outline: Outline = syntax.outline
    starts, data = syntax.starts, syntax.data
    end = row
    while end and not data[starts[end - 1] : starts[end]].strip():
        end -= 1
    found = outline.around(end - 1, end) if end else None
    while found is not None:
        if found.end == end and _first_indent(data, starts[found.head], len(data)) < indent:
            return found
        found = outline.definitions[found.parent] if found.parent >= 0 else None
    return None


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
