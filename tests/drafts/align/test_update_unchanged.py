"""Update snippets of which a part only shows where it is, or changes nothing at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from drafts.align import UpdateSnippet, plan_edit

PYTHON = (Path(__file__).parent / "samples" / "store.py.txt").read_text(encoding="utf-8")
MARKER = "# ... existing code ...\n"
SHOWN = "    def get(self, key):\n        return self.items.get(key)\n\n    def clear(self):\n"


@pytest.mark.parametrize("snippet", [MARKER + SHOWN + MARKER, SHOWN + MARKER, MARKER + SHOWN])
def test_lines_shown_as_they_are_change_nothing(snippet: str) -> None:
    plan = plan_edit(PYTHON, UpdateSnippet(snippet), "python")
    if snippet.startswith(MARKER) and snippet.endswith(MARKER):
        assert plan.predicted == PYTHON
        assert plan.confidence > 0.9
    else:  # without the marker the file would begin or end with it
        assert plan.confidence < 0.9 or plan.predicted == PYTHON


def test_a_part_shown_as_it_is_leaves_the_other_its_change() -> None:
    change = "def main(argv):\n    store = Store(argv[2])\n"
    plan = plan_edit(PYTHON, UpdateSnippet(MARKER + SHOWN + MARKER + change + "    " + MARKER), "python")
    assert plan.predicted == PYTHON.replace("argv[1]", "argv[2]")


def test_repeated_lines_shown_as_they_are_change_nothing() -> None:
    block = "    a()\n    b()\n    c()\n\n"
    original = "".join(f"def f{i}():\n{block}" for i in range(5))
    plan = plan_edit(original, UpdateSnippet(MARKER + block.rstrip("\n") + "\n" + MARKER), "python")
    assert plan.predicted == original


def test_lines_that_stand_together_once_change_nothing_though_each_is_repeated() -> None:
    original = "".join(f"def f{n}():\n    a = {n % 3}\n    b = {n % 4}\n    c = {n % 5}\n\n" for n in range(60))
    plan = plan_edit(original, UpdateSnippet(MARKER + "    a = 1\n    b = 2\n    c = 3\n" + MARKER), "python")
    assert plan.predicted == original
    assert plan.confidence > 0.9


@pytest.mark.parametrize(
    "shown",
    [
        "        return self\n\n    def get(self, key):\n",
        "\n    def clear(self):\n        self.items.clear()\n",
        "        self.items = {}\n\n    def load(self):\n",
    ],
)
def test_three_lines_shown_as_they_are_change_nothing_blank_ones_too(shown: str) -> None:
    plan = plan_edit(PYTHON, UpdateSnippet(MARKER + shown + MARKER), "python")
    assert plan.predicted == PYTHON
    assert plan.confidence > 0.9


def test_the_two_lines_around_a_deletion_delete() -> None:
    before = '    store.load()\n    print(store.get("name"))\n    return 0\n'
    plan = plan_edit(PYTHON, UpdateSnippet(MARKER + "    store.load()\n    return 0\n" + MARKER), "python")
    assert plan.predicted == PYTHON.replace(before, "    store.load()\n    return 0\n")


def test_lines_that_may_as_well_be_around_a_deletion_change_nothing_but_are_not_sure() -> None:
    methods = "".join(
        f"\n    def set_{name}(self, {kind}):\n        self.{name} = {kind}\n        self.draw()\n        return self\n"
        for name in ("left", "top")
        for kind in ("text", "number")
    )
    original = f"class Box:\n    shown = True\n{methods}\n    def draw(self):\n        pass\n"
    shown = (
        "        self.draw()\n        return self\n\n    def set_top(self, text):\n        self.top = text\n"
        "        self.draw()\n"
    )
    plan = plan_edit(original, UpdateSnippet(MARKER + shown + MARKER), "python")
    assert plan.predicted == original
    assert 0.3 < plan.confidence < 0.9
