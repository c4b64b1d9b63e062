"""The nodes that stand on lines of their own, in every language with a grammar, and what cuts through them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drafts.align.grammars import LANGUAGES, parse
from drafts.align.structure import Syntax, node_spans
from service.languages import KNOWN

ENTRIES = {
    "bash": ("f() {\n", "  echo one\n", "  echo two\n", "}\n"),
    "c": ("int f(void) {\n", "  one();\n", "  two();\n", "}\n"),
    "cpp": ("namespace n {\n", "int one();\n", "int two();\n", "}\n"),
    "csharp": ("class A {\n", "  int one;\n", "  int Two() { return 2; }\n", "}\n"),
    "css": ("a {\n", "  color: red;\n", "  margin: 0;\n", "}\n"),
    "go": ("func f() {\n", "\tone()\n", "\ttwo() // second\n", "}\n"),
    "html": ("<ul>\n", "  <li>one</li>\n", "  <li>two</li>\n", "</ul>\n"),
    "java": ("class A {\n", "  int one;\n", "  int two() { return 2; }\n", "}\n"),
    "javascript": ("const a = [\n", "  one,\n", "  two, // second\n", "]\n"),
    "json": ("{\n", '  "one": 1,\n', '  "two": 2\n', "}\n"),
    "kotlin": ("class A {\n", "  val one = 1\n", "  fun two() = 2\n", "}\n"),
    "markdown": ("# Title\n\n", "- one\n", "- two\n", ""),
    "php": ("<?php\nfunction f() {\n", "  one();\n", "  two();\n", "}\n"),
    "python": ("class A:\n", "    one = 1  # first\n", "    def two(self): ...\n", ""),
    "ruby": ("def f\n", "  one\n", "  two\n", "end\n"),
    "rust": ("impl A {\n", "  fn one() {}\n", "  fn two() {}\n", "}\n"),
    "scala": ("object A {\n", "  val one = 1\n", "  def two = 2\n", "}\n"),
    "sql": ("CREATE TABLE t (\n", "  one INT,\n", "  two INT\n", ");\n"),
    "swift": ("class A {\n", "  var one = 1\n", "  func two() {}\n", "}\n"),
    "toml": ("[table]\n", "one = 1\n", "two = 2\n", ""),
    "tsx": ("const a = (\n  <ul>\n", "    <li>one</li>\n", "    <li>two</li>\n", "  </ul>\n)\n"),
    "typescript": ("interface A {\n", "  one: number;\n", "  two(): void;\n", "}\n"),
    "yaml": ("list:\n", "  - one\n", "  - two: 2\n", ""),
}


def parsed(text: str, language: str) -> Syntax:
    syntax = Syntax.of(text, language)
    assert syntax is not None
    return syntax


def test_every_language_with_a_grammar_has_a_case() -> None:
    assert set(ENTRIES) == LANGUAGES


@pytest.mark.parametrize("language", sorted(ENTRIES))
def test_a_change_of_whole_entries_cuts_through_nothing(language: str) -> None:
    text = "".join(ENTRIES[language])
    tree = parse(text.encode(), language)
    assert tree is not None
    assert not tree.root_node.has_error
    found = {text[span.start : span.end] for span in node_spans(text, language)}
    assert {ENTRIES[language][1], ENTRIES[language][2]} <= found
    rows = [part.count("\n") for part in ENTRIES[language]]
    syntax, first, last = parsed(text + text, language), rows[0], sum(rows)
    assert syntax.cuts(0, last) == 0
    assert [syntax.cuts(first, first + 1), syntax.cuts(first + 1, first + 2)] == [0, 0]
    assert syntax.across(first + 1), "both entries lie in one node"
    assert syntax.cuts(first + 1, last + 1) > 0


def test_grammars_go_by_the_names_that_requests_use() -> None:
    assert LANGUAGES <= KNOWN


def test_no_syntax_without_a_grammar() -> None:
    assert Syntax.of("a = 1\n", "text") is None
    assert Syntax.of("a = 1\n", "no such language") is None
    assert Syntax.of("a = 1\n", None) is None
    assert node_spans("a = 1\n", "text") == ()


def test_offsets_are_bytes() -> None:
    text = 'a = "é"\nb = 2\n'
    assert [(span.start, span.end) for span in node_spans(text, "python")] == [(0, 9), (9, 15)]


def test_a_node_that_shares_its_lines_is_none() -> None:
    assert node_spans("f(a, b); g(\n  c\n)\n", "javascript")[0].start == len("f(a, b); g(\n")


def test_the_last_line_needs_no_newline() -> None:
    assert [(span.start, span.end) for span in node_spans("a = 1\nb = 2", "python")] == [(0, 6), (6, 11)]


def test_rows_are_lines() -> None:
    assert parsed('a = "é"\nb = 2\n', "python").starts == [0, 9, 15]
    assert parsed("a = 1\nb = 2", "python").starts == [0, 6, 11]


def test_nothing_cuts_through_a_node_that_shares_its_lines() -> None:
    text = "f(a, b); g(\n  c\n)\n"
    assert parsed(text, "javascript").across(1) == frozenset()
    assert parsed(text.removeprefix("f(a, b); "), "javascript").across(1) == {(0, 3)}


@pytest.mark.parametrize("after", [";", " ;", "  // done", "; /* done */"])
def test_separators_and_comments_share_a_line(after: str) -> None:
    assert parsed(f"g(\n  c\n){after}\nh()\n", "javascript").across(1) == {(0, 3)}


@settings(max_examples=150, deadline=None)
@given(
    language=st.sampled_from(sorted(LANGUAGES)),
    cut=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    noise=st.text(st.sampled_from("\n {}()[]<>:;,.\"'`#/*-=aé\x00\ud800"), max_size=20),
)
def test_spans_are_ordered_nested_whole_lines(language: str, cut: tuple[int, int], noise: str) -> None:
    whole = "".join(ENTRIES[language])
    text = whole[cut[0] :] + noise + whole[: cut[1]]
    data = text.encode("utf-8", "surrogatepass")
    spans = node_spans(text, language)
    assert list(spans) == sorted(set(spans), key=lambda span: (span.start, -span.end))
    around: list[int] = []
    for span in spans:
        assert 0 <= span.start < span.end <= len(data)
        assert span.start == 0 or data[span.start - 1 : span.start] == b"\n"
        assert span.end == len(data) or data[span.end - 1 : span.end] == b"\n"
        while around and around[-1] <= span.start:
            around.pop()
        assert not around or span.end <= around[-1]
        around.append(span.end)


@settings(max_examples=150, deadline=None)
@given(
    language=st.sampled_from(sorted(LANGUAGES)),
    cut=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    noise=st.text(st.sampled_from("\n {}()[]<>:;,.\"'`#/*-=aé\x00\ud800"), max_size=20),
)
def test_nodes_are_nested_whatever_the_text(language: str, cut: tuple[int, int], noise: str) -> None:
    whole = "".join(ENTRIES[language])
    syntax = parsed(whole[cut[0] :] + noise + whole[: cut[1]], language)
    rows = len(syntax.starts) - 1
    for row in range(rows + 1):
        around = sorted(syntax.across(row), key=lambda lines: lines[0] - lines[1])
        assert all(0 <= start < row < end <= rows for start, end in around)
        assert all(one[0] <= two[0] and two[1] <= one[1] for one, two in pairwise(around))
        names = syntax.definitions_around(row, min(row + 1, rows))
        assert all(one.start <= two.start and two.end <= one.end for one, two in pairwise(names))
    assert syntax.cuts(0, rows) == 0


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("yaml", "".join(" " * depth + "a:\n" for depth in range(600))),
        ("yaml", "- " * 1500 + "a\n"),
        ("swift", "/*" * 3000),
        ("kotlin", "/*" * 3000),
        ("python", "x" * (4 << 20) + "x"),
    ],
)
def test_text_that_a_grammar_does_not_survive_is_left_to_the_lines(language: str, text: str) -> None:
    assert parse(text.encode(), language) is None
    assert node_spans(text, language) == ()


def test_deep_but_ordinary_yaml_is_parsed() -> None:
    text = (
        "".join("  " * depth + f"key_{depth}:\n" for depth in range(25)) + "  " * 25 + "- value # " + "-" * 200 + "\n"
    )
    assert len(parsed(text, "yaml").definitions_around(24, 25)) == 25
