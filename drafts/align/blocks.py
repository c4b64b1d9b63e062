"""Search/replace blocks: parsing, and applying each to the text as the blocks before it left it."""

from __future__ import annotations

import re

from drafts.align.build import Change, build_plan, keep_all
from drafts.align.errors import EditParseError
from drafts.align.hunks import apply_hunk, hunk_between, old_lines
from drafts.align.lines import Lines
from drafts.align.locate import find_all, locate
from drafts.align.plan import Plan, SearchReplace, SearchReplaceBlock

_SEARCH = re.compile(r"^<{5,9}\s*SEARCH>?\s*$")
_DIVIDER = re.compile(r"^={5,9}\s*$")
_REPLACE = re.compile(r"^>{5,9}\s*REPLACE\s*$")


def parse_search_replace(text: str) -> SearchReplace:
    """Blocks of the form

        <<<<<<< SEARCH
        old lines
        =======
        new lines
        >>>>>>> REPLACE

    Text outside blocks (file names, fences, remarks) is ignored. A block that is not closed, a delimiter out of
    turn, or no block at all raises EditParseError.
    """
    blocks: list[SearchReplaceBlock] = []
    search: list[str] = []
    replace: list[str] = []
    state = "outside"
    opened = 0
    for number, line in enumerate(text.split("\n"), 1):
        if _SEARCH.match(line):
            if state != "outside":
                raise EditParseError(f"a new block begins before the block of line {opened} is closed", number)
            state, opened, search, replace = "search", number, [], []
        elif state == "search" and _DIVIDER.match(line):
            state = "replace"
        elif _REPLACE.match(line):
            if state != "replace":
                raise EditParseError("end of a block without its '<<<<<<< SEARCH' and '=======' lines", number)
            blocks.append(SearchReplaceBlock("".join(search), "".join(replace)))
            state = "outside"
        elif state == "search":
            search.append(line + "\n")
        elif state == "replace":
            replace.append(line + "\n")
    if state != "outside":
        missing = "=======" if state == "search" else ">>>>>>> REPLACE"
        raise EditParseError(f"the block that begins here has no '{missing}' line", opened)
    if not blocks:
        raise EditParseError("no search/replace block; each begins with '<<<<<<< SEARCH'", 1)
    return SearchReplace(tuple(blocks))


def plan_search_replace(original_text: str, edit: SearchReplace) -> Plan:
    """Apply the blocks in order. When none of them can be placed, the plan keeps the original with confidence 0."""
    original = Lines.of(original_text)
    current = Lines.of(original_text)
    origins = list(range(len(original)))
    confidence = 1.0
    placed = last = 0
    for block in edit.blocks:
        outcome = _apply(current, block, last)
        if outcome is None:
            continue
        placed += 1
        low, high, lines, sure = outcome
        confidence = min(confidence, sure)
        taken = origins[low:high]
        new_origins = [taken[match - low] if match >= 0 else -1 for _, match in lines]
        contents = current.contents[:low] + tuple(line for line, _ in lines) + current.contents[high:]
        final_newline = current.final_newline if len(current) else block.replace.endswith("\n")
        current = Lines(contents, final_newline)
        origins[low:high] = new_origins
        last = low + len(lines)
    if not placed:
        return keep_all(original_text)
    if placed < len(edit.blocks):
        confidence = 0.1
    changes = _changes(original, current, origins, confidence)
    return build_plan(original, changes, confidence, final_newline=current.final_newline)


def _apply(
    current: Lines, block: SearchReplaceBlock, last: int
) -> tuple[int, int, list[tuple[str, int]], float] | None:
    """Lines [low, high) of the current text become the lines given: (text, line it still is or -1). None: no place."""
    search, replace = Lines.of(block.search), Lines.of(block.replace)
    if not any(search.stripped):
        if len(current):
            at = find_all(current, search.contents) if len(search) else []
            if len(at) != 1:
                return None
            return at[0], at[0] + len(search), [(line, -1) for line in replace.contents], 0.7
        return 0, 0, [(line, -1) for line in replace.contents], 1.0
    hunk = hunk_between(search.contents, replace.contents)
    old = old_lines(hunk)
    found = locate(current, old, after=last)
    if found is None or not found.exact:
        within = _apply_within_lines(current, block)
        if within is not None:
            return within
    if found is None:
        return None
    return found.start, found.end, apply_hunk(current, hunk, found), found.confidence


def _apply_within_lines(
    current: Lines, block: SearchReplaceBlock
) -> tuple[int, int, list[tuple[str, int]], float] | None:
    """A search text that begins or ends inside a line."""
    text = "\n".join(current.contents) + "\n"
    at = text.find(block.search)
    if at < 0:
        return None
    unique = text.find(block.search, at + 1) < 0
    begins = text.rfind("\n", 0, at) + 1
    ends = text.find("\n", max(at + len(block.search) - 1, at))
    touched = text[begins:at] + block.replace + text[at + len(block.search) : ends]
    low, high = text.count("\n", 0, begins), text.count("\n", 0, ends) + 1
    lines = touched.removesuffix("\n").split("\n") if touched else []
    return low, high, [(line, -1) for line in lines], 0.95 if unique else 0.5


def _changes(original: Lines, current: Lines, origins: list[int], confidence: float) -> list[Change]:
    changes: list[Change] = []
    position = 0
    pending: list[str] = []
    for line, origin in zip((*current.contents, ""), (*origins, len(original)), strict=True):
        if origin < 0:
            pending.append(line)
            continue
        if origin > position or pending:
            changes.append(Change(position, origin, tuple(pending), confidence))
        position, pending = origin + 1, []
    return changes
