"""The shipped example edits follow their format, and each edit determines its expected text."""

from __future__ import annotations

import ast
import difflib
import re
from pathlib import PurePosixPath

import pytest

from drafts.align.plan import SearchReplace, UnifiedDiff, UpdateSnippet
from evals.example_edits import (
    ExampleEdit,
    ExampleFileError,
    UnknownExampleError,
    example_names,
    load_example,
    load_examples,
    parse_example,
)

EXAMPLES = load_examples()
MARKER = re.compile(r"\s*(#|//|/\*).*(\.\.\.|…)")
EXTENSIONS = {
    ".py": "python",
    ".ts": "typescript",
    ".mjs": "javascript",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".c": "c",
    ".rb": "ruby",
}

every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
every_snippet = pytest.mark.parametrize(
    "example", [e for e in EXAMPLES if isinstance(e.edit, UpdateSnippet)], ids=lambda e: e.name
)

MINIMAL = (
    "path: a.py\nlanguage: python\nform: {form}\nnote: A case.\n"
    "==== original ====\nold\n==== edit ====\n{edit}==== expected ====\nnew\n"
)
BLOCK = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"


def edit_text(example: ExampleEdit) -> str:
    match example.edit:
        case UpdateSnippet(text) | UnifiedDiff(text):
            return text
        case SearchReplace(blocks):
            return "".join(block.search + block.replace for block in blocks)
    raise AssertionError(f"{example.name}: an example edit has one of three forms")


def find(part: list[str], whole: list[str], start: int = 0) -> list[int]:
    """Where the lines of `part` stand in `whole`, from line `start` on."""
    return [i for i in range(start, len(whole) - len(part) + 1) if whole[i : i + len(part)] == part]


def split_at_markers(snippet: str) -> list[list[str]]:
    """The runs of lines between markers; the first or last is empty where a marker begins or ends the snippet."""
    runs: list[list[str]] = [[]]
    for line in snippet.splitlines():
        if MARKER.match(line):
            runs.append([])
        else:
            runs[-1].append(line)
    return runs


def apply_diff(original: str, diff: str) -> str:
    """Apply a unified diff whose line numbers are right; anything that does not match is an error."""
    lines = original.splitlines(keepends=True)
    result: list[str] = []
    at = 0
    for line in diff.splitlines(keepends=True)[2:]:
        if header := re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@", line):
            begin = int(header[1]) - 1
            result += lines[at:begin]
            at = begin
            assert len(result) == int(header[2]) - 1
        elif line.startswith("+"):
            result.append(line[1:])
        else:
            assert lines[at] == line[1:]
            at += 1
            if line.startswith(" "):
                result.append(line[1:])
    return "".join(result + lines[at:])


def test_the_shipped_set_is_wide_enough() -> None:
    assert len(EXAMPLES) >= 12
    languages = [e.language for e in EXAMPLES]
    for language in ("python", "typescript", "go", "rust", "java", "c", "ruby"):
        assert languages.count(language) >= 2, language
    assert {type(e.edit) for e in EXAMPLES} == {UpdateSnippet, UnifiedDiff, SearchReplace}


def test_examples_are_sorted_and_found_by_name() -> None:
    assert [e.name for e in EXAMPLES] == sorted(example_names())
    for example in EXAMPLES:
        assert load_example(example.name) == example


def test_an_unknown_name_is_an_error_that_lists_the_names() -> None:
    with pytest.raises(UnknownExampleError) as caught:
        load_example("no_such_case")
    for name in example_names():
        assert name in str(caught.value)
    assert caught.value.names == example_names()


@every_example
def test_sections_and_sizes(example: ExampleEdit) -> None:
    for text in (example.original, edit_text(example), example.expected):
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
        assert "\r" not in text
        assert text.strip()
    assert 40 <= len(example.original.splitlines()) <= 300
    assert len(example.expected.splitlines()) <= 300
    assert example.original != example.expected
    assert EXTENSIONS[PurePosixPath(example.path).suffix] == example.language
    assert example.note.endswith(".")


@every_example
def test_every_added_line_is_in_the_edit(example: ExampleEdit) -> None:
    edit = edit_text(example)
    if isinstance(example.edit, UnifiedDiff):
        shown = {line[1:] for line in edit.splitlines() if line.startswith("+")}
    else:
        shown = set(edit.splitlines())
    difference = difflib.ndiff(example.original.splitlines(), example.expected.splitlines())
    for line in difference:
        if line.startswith("+ "):
            assert line[2:] in shown


@every_snippet
def test_a_snippet_and_the_kept_lines_make_up_the_expected_text(example: ExampleEdit) -> None:
    """expected = gap, run, gap, ..., where each gap is the one place in the original that a marker stands for."""
    original, expected = example.original.splitlines(), example.expected.splitlines()
    assert not any(MARKER.match(line) for line in original + expected)
    runs = split_at_markers(edit_text(example))
    assert len(runs) > 1, "no marker"
    assert all(runs[1:-1]), "two markers in a row"
    position = source = 0
    for index, run in enumerate(runs):
        if not run:
            continue
        places = find(run, expected, position)
        assert len(places) == 1
        gap = expected[position : places[0]]
        if index == 0:
            assert not gap
        else:
            assert gap, "a marker stands for nothing"
            sources = find(gap, original, source)
            assert len(sources) == 1
            assert sources[0] == 0 or index > 1 or runs[0], "the text before the first run is not the file's beginning"
            source = sources[0] + len(gap)
        position = places[0] + len(run)
    tail = expected[position:]
    assert bool(tail) == (not runs[-1])
    assert not tail or original[-len(tail) :] == tail


def check_context(candidates: list[list[str]], original: list[str]) -> None:
    """The longest of the candidates that is in the original has two lines with text and one place only."""
    context = max((lines for lines in candidates if find(lines, original)), key=len)
    assert sum(bool(line.strip()) for line in context) >= 2
    assert len(find(context, original)) == 1


@every_snippet
def test_context_determines_the_place_of_each_run(example: ExampleEdit) -> None:
    original = example.original.splitlines()
    runs = split_at_markers(edit_text(example))
    for index, run in enumerate(runs):
        if run and index > 0:
            check_context([run[:n] for n in range(len(run) + 1)], original)
        if run and index < len(runs) - 1:
            check_context([run[n:] for n in range(len(run) + 1)], original)


@pytest.mark.parametrize("example", [e for e in EXAMPLES if isinstance(e.edit, UnifiedDiff)], ids=lambda e: e.name)
def test_a_unified_diff_applies(example: ExampleEdit) -> None:
    assert apply_diff(example.original, edit_text(example)) == example.expected


@pytest.mark.parametrize("example", [e for e in EXAMPLES if isinstance(e.edit, SearchReplace)], ids=lambda e: e.name)
def test_search_replace_blocks_apply(example: ExampleEdit) -> None:
    assert isinstance(example.edit, SearchReplace)
    text = example.original
    for block in example.edit.blocks:
        assert text.count(block.search) == 1
        text = text.replace(block.search, block.replace)
    assert text == example.expected


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.language == "python"], ids=lambda e: e.name)
def test_python_cases_parse(example: ExampleEdit) -> None:
    ast.parse(example.original)
    ast.parse(example.expected)


def test_blocks_are_read_in_order_and_may_be_empty() -> None:
    empty = "<<<<<<< SEARCH\nx\n\ny\n=======\n>>>>>>> REPLACE\n"
    case = parse_example("a", MINIMAL.format(form="search_replace", edit=f"{BLOCK}\n{empty}"))
    assert isinstance(case.edit, SearchReplace)
    assert [(b.search, b.replace) for b in case.edit.blocks] == [("old\n", "new\n"), ("x\n\ny\n", "")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MINIMAL.format(form="telepathy", edit="new\n"), "form must be"),
        (MINIMAL.format(form="update_snippet", edit="new\n\n"), "one newline"),
        (MINIMAL.format(form="update_snippet", edit="new\n").replace("==== edit", "=== edit"), "'==== edit ===='"),
        (MINIMAL.format(form="update_snippet", edit="new\n").replace("note: A case.\n", ""), "header must give"),
        (MINIMAL.format(form="update_snippet", edit="new\n").replace("note: ", "note "), "key: value"),
        (MINIMAL.format(form="search_replace", edit="new\n"), "no search/replace block"),
        (MINIMAL.format(form="search_replace", edit=BLOCK.replace("=======\n", "")), "======="),
        (MINIMAL.format(form="search_replace", edit=BLOCK.removesuffix(">>>>>>> REPLACE\n")), ">>>>>>> REPLACE"),
    ],
)
def test_a_malformed_file_is_a_clear_error(text: str, message: str) -> None:
    with pytest.raises(ExampleFileError, match=re.escape(message)) as caught:
        parse_example("broken", text)
    assert "'broken'" in str(caught.value)
