"""Update snippets, one golden case for each way in which people and models write them."""

from __future__ import annotations

from textwrap import dedent

import pytest

from drafts.align import RegionKind, UpdateSnippet, plan_edit

PYTHON = dedent(
    '''\
    """Module."""
    import os
    import sys


    class Store:
        """Keeps things."""

        def __init__(self, path):
            self.path = path
            self.items = {}

        def load(self):
            with open(self.path) as handle:
                for line in handle:
                    key, value = line.split("=")
                    self.items[key] = value
            return self

        def get(self, key):
            return self.items.get(key)

        def clear(self):
            self.items.clear()


    def main(argv):
        store = Store(argv[1])
        store.load()
        print(store.get("name"))
        return 0


    if __name__ == "__main__":
        sys.exit(main(sys.argv))
    '''
)
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
