"""Update snippets without elision markers: definitions that come whole, and whole files."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from drafts.align import RegionKind, UpdateSnippet, plan_edit

PYTHON = (Path(__file__).parent / "samples" / "store.py.txt").read_text(encoding="utf-8")
GO = dedent(
    """\
    package main

    import "fmt"

    func first() int {
    \ta := 1
    \treturn a
    }

    func second() int {
    \tb := 2
    \treturn b
    }

    func third() int {
    \tc := 3
    \treturn c
    }
    """
)


def applied(original: str, snippet: str, language: str | None = None) -> str:
    return plan_edit(original, UpdateSnippet(dedent(snippet)), language).predicted


def test_whole_function_without_markers_replaces_that_function() -> None:
    result = applied(
        PYTHON,
        """\
        def main(argv):
            store = Store(argv[1]).load()
            return 0 if store.get("name") else 1
        """,
    )
    before, rest = PYTHON.split("def main(argv):\n")
    after = rest[rest.index("\n\nif __name__") :]
    assert result == (
        before + "def main(argv):\n    store = Store(argv[1]).load()\n"
        '    return 0 if store.get("name") else 1\n' + after
    )


def test_several_functions_without_markers_keep_what_lies_between() -> None:
    result = applied(
        GO,
        """\
        func first() int {
        \treturn 10
        }

        func third() int {
        \treturn 30
        }
        """,
    )
    assert result == GO.replace("\ta := 1\n\treturn a\n", "\treturn 10\n").replace(
        "\tc := 3\n\treturn c\n", "\treturn 30\n"
    )


def test_new_function_after_a_known_one_without_markers() -> None:
    result = applied(
        GO,
        """\
        func first() int {
        \ta := 1
        \treturn a
        }

        func extra() int {
        \treturn 5
        }
        """,
    )
    assert result == GO.replace("\treturn a\n}\n", "\treturn a\n}\n\nfunc extra() int {\n\treturn 5\n}\n")


def test_method_without_markers_and_without_its_indentation() -> None:
    result = applied(
        PYTHON,
        """\
        def get(self, key):
            value = self.items.get(key)
            return value.strip()

        def clear(self):
            self.items.clear()
        """,
    )
    assert result == PYTHON.replace(
        "        return self.items.get(key)\n",
        "        value = self.items.get(key)\n        return value.strip()\n",
    )


def test_whole_file_without_markers() -> None:
    expected = PYTHON.replace("import os\n", "").replace("return 0\n", "return 1\n")
    plan = plan_edit(PYTHON, UpdateSnippet(expected))
    assert plan.predicted == expected
    assert plan.confidence > 0.9
    assert {region.kind for region in plan.regions} == {RegionKind.KEPT, RegionKind.DELETED, RegionKind.REPLACED}


def test_a_changed_signature_without_markers() -> None:
    result = applied(
        GO,
        """\
        func second(n int) int {
        \treturn n
        }
        """,
    )
    assert result == GO.replace("func second() int {\n\tb := 2\n\treturn b\n", "func second(n int) int {\n\treturn n\n")
