"""Alignment: where an edit lies in a file, and what the edited file should be. Pure:
standard library, numpy and tree-sitter."""

from __future__ import annotations

from drafts.align.blocks import parse_search_replace
from drafts.align.errors import EditParseError
from drafts.align.plan import (
    Edit,
    Instruction,
    Plan,
    Region,
    RegionKind,
    SearchReplace,
    SearchReplaceBlock,
    Span,
    UnifiedDiff,
    UpdateSnippet,
)
from drafts.align.planner import plan_edit
from drafts.align.snippet import (
    Elision,
    SnippetPart,
    SnippetText,
    marker_line,
    render_snippet,
    snippet_from_plan,
    split_snippet,
)
from drafts.align.unified import DiffHunk, parse_unified_diff

__all__ = [
    "DiffHunk",
    "Edit",
    "EditParseError",
    "Elision",
    "Instruction",
    "Plan",
    "Region",
    "RegionKind",
    "SearchReplace",
    "SearchReplaceBlock",
    "SnippetPart",
    "SnippetText",
    "Span",
    "UnifiedDiff",
    "UpdateSnippet",
    "marker_line",
    "parse_search_replace",
    "parse_unified_diff",
    "plan_edit",
    "render_snippet",
    "snippet_from_plan",
    "split_snippet",
]
