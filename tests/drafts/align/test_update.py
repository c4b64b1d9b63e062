"""Update snippets, one golden case for each way in which people and models write them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from drafts.align import UpdateSnippet, plan_edit

PYTHON = (Path(__file__).parent / "samples" / "store.py.txt").read_text(encoding="utf-8")


def applied(original: str, snippet: str, language: str | None = None) -> str:
    return plan_edit(original, UpdateSnippet(dedent(snippet)), language).predicted


def test_replaces_a_line_between_context() -> None:
    result = applied(
        PYTHON,
        """\
        # ... existing code ...
            def get(self, key):
                return self.items.get(key, "")

            def clear(self):
        # ... existing code ...
        """,
    )
    assert result == PYTHON.replace("self.items.get(key)", 'self.items.get(key, "")')


def test_inserts_between_context() -> None:
    result = applied(
        PYTHON,
        """\
        # ... existing code ...
            store.load()
            store.check()
            print(store.get("name"))
        # ... existing code ...
        """,
    )
    assert result == PYTHON.replace("    store.load()\n", "    store.load()\n    store.check()\n")


def test_deletes_what_context_leaves_out() -> None:
    result = applied(
        PYTHON,
        """\
        # ... existing code ...
            return self

            def clear(self):
                self.items.clear()
        # ... existing code ...
        """.replace("    return self\n", "        return self\n"),
    )
    assert result == PYTHON.replace("    def get(self, key):\n        return self.items.get(key)\n\n", "")


def test_several_hunks_in_order_with_different_wordings() -> None:
    result = applied(
        PYTHON,
        """\
        # rest of the imports unchanged
        import sys
        import time
        # ...
                self.items = {}
                self.loaded = time.time()
            # ... rest of the class ...
            store.load()
            return 0
        # the rest of the file stays the same
        """,
    )
    expected = PYTHON.replace("import sys\n", "import sys\nimport time\n", 1)
    expected = expected.replace(
        "        self.items = {}\n", "        self.items = {}\n        self.loaded = time.time()\n"
    )
    assert result == expected.replace('    print(store.get("name"))\n', "")


def test_class_head_only_shows_the_place() -> None:
    result = applied(
        PYTHON,
        """\
        # ... existing code ...

        class Store:
            # ... existing methods ...

            def clear(self):
                self.items = {}

        # ... existing code ...
        """,
    )
    assert result == PYTHON.replace("self.items.clear()", "self.items = {}")


def test_repeated_context_is_settled_by_the_lines_after_the_change() -> None:
    blocks = "".join(f"begin\n  step\n  value {n}\nend\n" for n in range(6))
    result = applied(blocks, "# ...\nbegin\n  step\n  extra\n  value 4\nend\n# ...\n")
    assert result == blocks.replace("  value 4\n", "  extra\n  value 4\n")


def test_repeated_context_is_settled_by_the_neighbouring_segments() -> None:
    original = "".join(f"def f{n}():\n    a = 1\n    return a\n\n" for n in range(6))
    snippet = "# ...\ndef f3():\n    # ...\n    a = 1\n    b = 2\n    return a\n\ndef f4():\n# ...\n"
    expected = original.replace("def f3():\n    a = 1\n", "def f3():\n    a = 1\n    b = 2\n")
    assert applied(original, snippet) == expected


def test_body_rewritten_up_to_a_marker_at_the_head_s_level() -> None:
    result = applied(
        PYTHON,
        """\
        # ... existing code ...
        def main(argv):
            return run(argv)

        # ... existing code ...
        """,
    )
    start, end = PYTHON.index("    store = Store("), PYTHON.index("\n\nif __name__")
    assert result == PYTHON[:start] + "    return run(argv)\n" + PYTHON[end:]


def test_text_after_the_only_marker_is_appended() -> None:
    result = applied(PYTHON, "# ... existing code ...\n\n\ndef extra():\n    pass\n")
    assert result == PYTHON + "\n\ndef extra():\n    pass\n"


def test_text_before_the_only_marker_is_put_first() -> None:
    assert applied(PYTHON, "# Copyright\n# ... existing code ...\n") == "# Copyright\n" + PYTHON


@pytest.mark.parametrize("comment", ["# removed: get()", "# get() was removed", "# delete get", "# Removed method get"])
def test_named_removal_between_elisions(comment: str) -> None:
    snippet = f"# ... existing code ...\n    {comment}\n    # ... existing code ...\n"
    expected = PYTHON.replace("    def get(self, key):\n        return self.items.get(key)\n\n", "")
    assert applied(PYTHON, snippet) == expected


def test_removal_above_a_definition() -> None:
    result = applied(
        PYTHON,
        """\
        # ... existing code ...
            # delete this method
            def get(self, key):
                return self.items.get(key)

            def clear(self):
        # ... existing code ...
        """,
    )
    assert result == PYTHON.replace("    def get(self, key):\n        return self.items.get(key)\n\n", "")


def test_removal_at_the_end_of_a_line() -> None:
    snippet = "# ...\nimport os  # removed\nimport sys\n# ...\n"
    assert applied(PYTHON, snippet) == PYTHON.replace("import os\n", "")


def test_removal_in_place_of_deleted_lines() -> None:
    snippet = "# ...\n    store.load()\n    # removed\n    return 0\n# ...\n"
    assert applied(PYTHON, snippet) == PYTHON.replace('    print(store.get("name"))\n', "")


def test_fenced_snippet() -> None:
    snippet = "```python\n# ...\nimport os\nimport re\nimport sys\n# ...\n```\n"
    assert applied(PYTHON, snippet) == PYTHON.replace("import os\n", "import os\nimport re\n")


def test_missing_final_newline_stays_missing() -> None:
    assert applied("a\nb\nc", "# ...\nb\nx\nc\n") == "a\nb\nx\nc"
    assert applied("a\nb\nc", "# ...\nb\nc\nd\n") == "a\nb\nc\nd"


def test_missing_final_newline_of_the_snippet_adds_none_to_the_file() -> None:
    assert applied("a\nb\nc\n", "# ...\nb\nx\nc") == "a\nb\nx\nc\n"


def test_blank_lines_at_the_ends_of_the_file_are_kept() -> None:
    original = "\n\na\nb\nc\n\n\n"
    assert applied(original, "# ...\na\nB\nc\n# ...\n") == "\n\na\nB\nc\n\n\n"


def test_empty_original_takes_the_snippet() -> None:
    assert applied("", "x = 1\n") == "x = 1\n"


@pytest.mark.parametrize("snippet", ["", "\n\n", "# ... existing code ...\n", "```\n```\n"])
def test_nothing_to_place_keeps_the_original(snippet: str) -> None:
    plan = plan_edit(PYTHON, UpdateSnippet(snippet))
    assert plan.predicted == PYTHON
    assert plan.confidence == 0.0


def test_text_unlike_anything_keeps_the_original() -> None:
    plan = plan_edit(PYTHON, UpdateSnippet("zzz qqq\nwww vvv\n"))
    assert (plan.predicted, plan.confidence) == (PYTHON, 0.0)


def test_confidence_tells_unique_context_from_repeated_context() -> None:
    repeated = "begin\n\nend\n\n" * 8
    sure = plan_edit(PYTHON, UpdateSnippet("# ...\nimport os\nimport re\nimport sys\n# ...\n"))
    unsure = plan_edit(repeated, UpdateSnippet("# ...\n\nend\nnew\n\n# ...\n"))
    assert sure.confidence > 0.95
    assert unsure.confidence < 0.8
    assert min(region.confidence for region in unsure.regions) < min(region.confidence for region in sure.regions)


def test_a_class_with_an_elision_inside_leaves_the_rest_of_the_file() -> None:
    result = applied(
        PYTHON,
        """\
        class Store:
            # ... existing methods ...

            def size(self):
                return len(self.items)
        """,
    )
    assert result == PYTHON.replace(
        "        self.items.clear()\n",
        "        self.items.clear()\n\n    def size(self):\n        return len(self.items)\n",
    )


def test_a_missing_last_marker_does_not_delete_what_follows_the_block() -> None:
    result = applied(
        PYTHON,
        """\
        # ... existing code ...
            def get(self, key):
                return self.items[key]
        """,
    )
    assert result == PYTHON.replace("self.items.get(key)", "self.items[key]")


def test_repeated_context_is_settled_by_both_ends_together() -> None:
    def body(n: int, arguments: str = "a, b") -> str:
        head, tail = f"    a = {n % 3}\n    b = {n % 4}\n", f"    c = {n % 5}\n    d = {n % 7}\n    return d\n"
        return f"def f():\n{head}    use({arguments})\n{tail}"

    original = "\n".join(body(n) for n in range(120))
    plan = plan_edit(original, UpdateSnippet(f"# ...\n{body(17, 'a, b, key')}# ...\n"), "python")
    assert plan.predicted == "\n".join(body(n, "a, b, key" if n == 17 else "a, b") for n in range(120))
    assert plan.confidence > 0.9
