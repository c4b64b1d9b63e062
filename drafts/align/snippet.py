"""Update snippets: text and elisions, told apart; and snippets made from a plan."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass

from drafts.align.comments import comment
from drafts.align.lines import Lines, byte_length
from drafts.align.markers import MarkerKind, block_comment_closer, read_marker
from drafts.align.plan import Plan, RegionKind, Span

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*[\w+.#-]*\s*$")


@dataclass(frozen=True, slots=True)
class SnippetText:
    """Lines that stand in the edited file, with their LF. span: their bytes in the snippet."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Elision:
    """A marker for lines that are left out.

    span: the bytes of the marker's whole line (or lines, for a block comment) with its LF.
    words: the marker's wording without comment signs and dots, "" for bare dots. indent: its leading blanks.
    """

    span: Span
    words: str = ""
    indent: str = ""


SnippetPart = SnippetText | Elision


def split_snippet(snippet: str, original: str) -> list[SnippetPart]:
    """Tell the text of a snippet from its elision markers.

    The parts tile the snippet, except that the fence lines of a snippet that is fenced as a whole belong to none.
    A line that stands in the original, blanks at its ends aside, is always text.
    """
    return split_lines(Lines.of(snippet), frozenset(Lines.of(original).stripped))


def split_lines(snippet: Lines, literal: Container[str]) -> list[SnippetPart]:
    """`split_snippet` on lines; literal: has the stripped lines of the original."""
    start, end = _inside_fence(snippet, literal)
    parts: list[SnippetPart] = []
    text_from = index = start
    while index < end:
        found = _elision_at(snippet, index, end, literal)
        if found is None:
            index += 1
            continue
        size, words = found
        _append_text(parts, snippet, text_from, index)
        line = snippet.contents[index]
        span = Span(snippet.offsets[index], snippet.offsets[index + size])
        parts.append(Elision(span, words, line[: len(line) - len(line.lstrip())]))
        index += size
        text_from = index
    _append_text(parts, snippet, text_from, end)
    return parts


def marker_line(language: str | None, words: str = "... existing code ...") -> str:
    """An elision marker in a language's comment style, without indentation and LF."""
    return comment(words, language)


def snippet_from_plan(
    original: str, plan: Plan, context_lines: int = 3, marker: str = "// ... existing code ..."
) -> list[SnippetPart]:
    """Render a plan as an update snippet: what it changes, `context_lines` around it, and elisions.

    The spans are those of the rendered snippet, which is the parts' texts with `marker` and LF, after the
    elision's indent, in place of each elision: see `render_snippet`. Of a plan that changes nothing it is the start.
    """
    predicted = plan.predicted.encode("utf-8", "surrogatepass")
    lines = Lines.of(plan.predicted)
    wanted = _wanted_lines(plan, predicted, lines, context_lines)
    found = read_marker(marker)
    words = marker if found is None else found.words
    parts: list[SnippetPart] = []
    position = index = 0
    while index < len(lines):
        until = index
        while until < len(lines) and (until in wanted) == (index in wanted):
            until += 1
        if index in wanted:
            text = predicted[lines.offsets[index] : lines.offsets[until]].decode("utf-8", "surrogatepass")
            parts.append(SnippetText(text, Span(position, position + byte_length(text))))
        else:
            near = lines.contents[until] if until < len(lines) else lines.contents[max(index - 1, 0)]
            indent = near[: len(near) - len(near.lstrip())] if near.strip() else ""
            size = byte_length(indent) + byte_length(marker) + 1
            parts.append(Elision(Span(position, position + size), words, indent))
        position = parts[-1].span.end
        index = until
    return parts


def render_snippet(parts: Sequence[SnippetPart], marker: str) -> str:
    """The snippet that parts stand for, each elision written as its indent, `marker` and LF."""
    return "".join(part.text if isinstance(part, SnippetText) else f"{part.indent}{marker}\n" for part in parts)


def _wanted_lines(plan: Plan, predicted: bytes, lines: Lines, context_lines: int) -> set[int]:
    """The predicted text's lines that a change touches, with their context."""
    wanted: set[int] = set()
    line = 0
    for region in plan.regions:
        begins = line
        count = predicted.count(b"\n", region.predicted.start, region.predicted.end)
        line += count
        if region.kind is RegionKind.KEPT:
            continue
        unfinished = len(region.predicted) and predicted[region.predicted.end - 1 : region.predicted.end] != b"\n"
        until = line + (1 if unfinished else 0)
        wanted.update(range(max(0, begins - context_lines), min(len(lines), until + context_lines)))
    return wanted or set(range(min(len(lines), 2 * context_lines + 1)))


def _append_text(parts: list[SnippetPart], snippet: Lines, start: int, end: int) -> None:
    if start < end:
        text = "\n".join(snippet.contents[start:end])
        if end < len(snippet) or snippet.final_newline:
            text += "\n"
        parts.append(SnippetText(text, Span(snippet.offsets[start], snippet.offsets[end])))


def _inside_fence(snippet: Lines, literal: Container[str]) -> tuple[int, int]:
    filled = [index for index, line in enumerate(snippet.stripped) if line]
    if len(filled) >= 2:
        first, last = filled[0], filled[-1]
        opening, closing = _FENCE.match(snippet.contents[first]), _FENCE.match(snippet.contents[last])
        if opening and closing and snippet.stripped[last] == opening[1] and snippet.stripped[first] not in literal:
            return first + 1, last
    return 0, len(snippet)


def _elision_at(snippet: Lines, index: int, end: int, literal: Container[str]) -> tuple[int, str] | None:
    """How many lines the marker at `index` takes, and its words; None when the line is text."""
    stripped = snippet.stripped[index]
    if not stripped or stripped in literal:
        return None
    closer = block_comment_closer(stripped)
    if closer and index + 2 < end and snippet.stripped[index + 2].lstrip("*") in (closer, closer.lstrip("*")):
        inner = read_marker("// " + snippet.stripped[index + 1].lstrip("* "))
        if inner is not None and inner.kind is MarkerKind.ELISION:
            return 3, inner.words
    marker = read_marker(stripped)
    if marker is None or marker.kind is not MarkerKind.ELISION:
        return None
    if not marker.commented and not marker.words and not _bare_dots_plausible(snippet, index, literal):
        return None
    return 1, marker.words


def _bare_dots_plausible(snippet: Lines, index: int, literal: Container[str]) -> bool:
    """Bare dots are a marker unless they are the whole body of what the line above opens (a Python stub).

    When the original has that opening line, it has another body for it, and the dots stand for that.
    """
    line = snippet.contents[index]
    if line.strip() not in ("...", "…"):
        return False
    before = next((k for k in range(index - 1, -1, -1) if snippet.stripped[k]), None)
    after = next((k for k in range(index + 1, len(snippet)) if snippet.stripped[k]), None)
    depth = snippet.indents[index] or 0
    opens = before is not None and snippet.stripped[before].endswith(":") and (snippet.indents[before] or 0) < depth
    closes = after is None or (snippet.indents[after] or 0) < depth
    return not (opens and closes) or (before is not None and snippet.stripped[before] in literal)
