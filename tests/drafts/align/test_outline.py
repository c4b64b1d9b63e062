"""Definitions and the syntax path of a plan's regions."""

from __future__ import annotations

import pytest

from drafts.align import RegionKind, UpdateSnippet, plan_edit
from drafts.align.structure import Syntax

PYTHON = """\
import os

# What A is for.
@decorated
class A(Base):
    x = 1

    @property
    def f(self):
        return 1

    def g(self):
        def inner():
            pass
        return inner


def last():
    return 3
"""

PATHS = {
    "bash": ("f() {\n  echo one\n}\n", 1, ("function f",)),
    "c": ("static int *f(int a) {\n  return 0;\n}\n", 1, ("function f",)),
    "cpp": (
        "namespace n {\nclass A {\n  void f() {\n    g();\n  }\n};\n}\n",
        3,
        ("namespace n", "class A", "function f"),
    ),
    "csharp": ("class A {\n  [Fact]\n  void F() {\n    G();\n  }\n}\n", 1, ("class A", "method F")),
    "css": ("@media print {\n  .a {\n    color: red;\n  }\n}\n", 2, ("rule @media print", "rule .a")),
    "go": ("func (a *A) F() {\n\tg()\n}\n", 1, ("method (a *A) F",)),
    "html": ('<ul id="a">\n  <li>x</li>\n</ul>\n', 1, ('element <ul id="a">', "element <li>")),
    "java": ("class A {\n  @Override\n  int f() {\n    return 1;\n  }\n}\n", 1, ("class A", "method f")),
    "javascript": ('describe("a", () => {\n  it("b", () => {\n    c()\n  })\n})\n', 2, ("describe a", "it b")),
    "json": ('{\n  "a": {\n    "b": [\n      1\n    ]\n  }\n}\n', 3, ("key a", "key b")),
    "kotlin": ("class A {\n  fun f(): Int {\n    return 1\n  }\n}\n", 2, ("class A", "fun f")),
    "markdown": ("# One\n\n## Two\n\ntext\n", 4, ("section One", "section Two")),
    "php": ("<?php\nclass A {\n  function f() {\n    g();\n  }\n}\n", 3, ("class A", "method f")),
    "python": (PYTHON, 7, ("class A", "def f")),
    "ruby": ("module M\n  class A\n    def f\n      1\n    end\n  end\nend\n", 3, ("module M", "class A", "def f")),
    "rust": ("impl T for A {\n  /// Doc.\n  #[inline]\n  fn f() {\n  }\n}\n", 1, ("impl T for A", "fn f")),
    "scala": ("object A {\n  def f(): Int = {\n    1\n  }\n}\n", 2, ("object A", "def f")),
    "sql": ("CREATE TABLE a.t (\n  x INT\n);\n", 1, ("table a.t",)),
    "swift": ("class A {\n  func f() {\n    g()\n  }\n}\n", 2, ("class A", "func f")),
    "toml": ("[a.b]\nx = 1\n", 1, ("table a.b",)),
    "tsx": ("export const A = () => {\n  return <b/>\n}\n", 1, ("function A",)),
    "typescript": ("export interface A {\n  x: number\n}\n", 1, ("interface A",)),
    "yaml": ("a:\n  b:\n    c: 1\n", 2, ("key a", "key b", "key c")),
}


@pytest.mark.parametrize("language", sorted(PATHS))
def test_the_path_of_a_line(language: str) -> None:
    text, line, path = PATHS[language]
    syntax = Syntax.of(text, language)
    assert syntax is not None
    assert tuple(found.label for found in syntax.definitions_around(line, line + 1)) == path


def test_what_belongs_to_a_definition_is_part_of_it() -> None:
    syntax = Syntax.of(PYTHON, "python")
    assert syntax is not None
    found = {
        definition.name: (definition.start, definition.head, definition.end)
        for row in range(19)
        for definition in syntax.definitions_around(row, row + 1)
    }
    assert found == {"A": (2, 4, 15), "f": (7, 8, 10), "g": (11, 11, 15), "inner": (12, 12, 14), "last": (17, 17, 19)}
    assert [syntax.lead_of(row) for row in (4, 5, 8, 11)] == [2, 5, 7, 11]
    assert [found.name for found in syntax.definitions_around(2, 4)] == ["A"]


def test_a_comment_beside_an_attribute_does_not_part_it_from_its_definition() -> None:
    syntax = Syntax.of("struct A;\n\n/// Doc.\n#[test] // always\nfn f() {\n}\n", "rust")
    assert syntax is not None
    assert syntax.lead_of(4) == 2


def test_definitions_are_found_from_the_blank_lines_before_them() -> None:
    syntax = Syntax.of("package p\n\ntype A string\n\nfunc f() {\n\tg()\n}\n\nfunc h() {\n}\n", "go")
    assert syntax is not None
    assert sorted(syntax.names_from(3, 10)) == [("f", True), ("h", True)]
    assert syntax.names_from(5, 10) == [("h", True)]
    assert syntax.names_from(4, 6) == [("f", False)]


def paths(original: str, snippet: str, language: str) -> list[tuple[RegionKind, tuple[str, ...]]]:
    plan = plan_edit(original, UpdateSnippet(snippet), language)
    return [(region.kind, region.syntax_path) for region in plan.regions if region.kind is not RegionKind.KEPT]


def test_a_replaced_line_is_in_its_definition() -> None:
    snippet = "# ... existing code ...\n    def f(self):\n        return 2\n\n# ... existing code ...\n"
    assert paths(PYTHON, snippet, "python") == [(RegionKind.REPLACED, ("class A", "def f"))]


def test_new_lines_at_the_end_of_a_body_are_in_its_definition() -> None:
    snippet = (
        "# ... existing code ...\n        return inner\n        # Not reached.\n\n\ndef last():\n"
        "# ... existing code ...\n"
    )
    assert paths(PYTHON, snippet, "python") == [(RegionKind.INSERTED, ("class A", "def g"))]


def test_a_new_method_is_in_its_class_and_a_new_function_in_none() -> None:
    snippet = (
        "# ... existing code ...\n        return 1\n\n    def new(self):\n        return 5\n\n    def g(self):\n"
        "# ... existing code ...\n        return inner\n\n\ndef another():\n    return 6\n\n\ndef last():\n"
        "# ... existing code ...\n"
    )
    assert paths(PYTHON, snippet, "python") == [(RegionKind.INSERTED, ("class A",)), (RegionKind.INSERTED, ())]


def test_syntax_errors_leave_the_rest_its_paths() -> None:
    broken = "def f(:\n    return (\n\n\n" + PYTHON
    snippet = "# ... existing code ...\n    def f(self):\n        return 2\n\n# ... existing code ...\n"
    assert paths(broken, snippet, "python") == [(RegionKind.REPLACED, ("class A", "def f"))]


def test_a_kept_region_has_the_path_of_all_of_it() -> None:
    plan = plan_edit(
        PYTHON,
        UpdateSnippet("# ... existing code ...\n        return inner\n\n\ndef last():\n    return 4\n"),
        "python",
    )
    assert [(region.kind, region.syntax_path) for region in plan.regions] == [
        (RegionKind.KEPT, ()),
        (RegionKind.REPLACED, ("def last",)),
    ]
    assert (
        plan_edit(PYTHON, UpdateSnippet("# ...\n    def g(self):\n        return 1\n"), None).regions[0].syntax_path
        == ()
    )
