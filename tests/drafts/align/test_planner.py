"""What holds for every plan, whatever the file and the edit."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drafts.align import (
    Edit,
    Instruction,
    Plan,
    RegionKind,
    SearchReplace,
    SearchReplaceBlock,
    UnifiedDiff,
    UpdateSnippet,
    plan_edit,
    split_snippet,
)
from evals.example_edits import ExampleEdit, load_examples
from evals.forms import search_replace, unified_diff, update_snippet

LINE = st.sampled_from(
    ["", "", "a", "b", "  a", "  b", "}", "{", "def f():", "  return 1", "é = '…'", "x  ", "\t", "\r", "...", "# ..."]
)
FILE = st.builds(
    lambda lines, newline: "\n".join(lines) + ("\n" if newline else ""), st.lists(LINE, max_size=25), st.booleans()
)
SNIPPET_LINE = LINE | st.sampled_from(
    [
        "# ... existing code ...",
        "// rest unchanged",
        "# removed",
        "# delete f()",
        "def g():",
        "new",
        "```",
        "@@ -1 +1 @@",
    ]
)
SNIPPET = st.lists(SNIPPET_LINE, max_size=20).map("\n".join)
DIFF = st.lists(st.builds(lambda op, line: op + line, st.sampled_from([" ", "+", "-"]), LINE), min_size=1).map(
    lambda lines: "@@ -2,3 +2,3 @@\n" + "\n".join(lines) + "\n"
)
BLOCKS = st.lists(st.builds(SearchReplaceBlock, SNIPPET, SNIPPET), max_size=3).map(lambda b: SearchReplace(tuple(b)))
EDIT = st.one_of(
    st.builds(UpdateSnippet, SNIPPET | st.text()),
    st.builds(UnifiedDiff, DIFF | SNIPPET | st.text()),
    BLOCKS,
    st.builds(Instruction, st.text()),
)


def check_plan(original: str, plan: Plan) -> None:
    """The regions tile both texts, and what they say about the bytes is true."""
    old, new = original.encode(), plan.predicted.encode()
    assert 0.0 <= plan.confidence <= 1.0
    at_old = at_new = 0
    for region in plan.regions:
        assert (region.original.start, region.predicted.start) == (at_old, at_new)
        at_old, at_new = region.original.end, region.predicted.end
        assert 0.0 <= region.confidence <= 1.0
        before = old[region.original.start : region.original.end]
        after = new[region.predicted.start : region.predicted.end]
        assert before or after
        if region.kind is RegionKind.KEPT:
            assert before == after
        elif region.kind is RegionKind.INSERTED:
            assert not before
        elif region.kind is RegionKind.DELETED:
            assert not after
        else:
            assert before
    assert (at_old, at_new) == (len(old), len(new))


@given(FILE | st.text(), EDIT)
@example("a\nb", UpdateSnippet("# ...\nb\n"))
@example("\n", UpdateSnippet("\n"))
@settings(max_examples=400, deadline=None)
def test_any_plan_tiles_and_nothing_raises(original: str, edit: Edit) -> None:
    check_plan(original, plan_edit(original, edit))


@given(SNIPPET | st.text(), FILE | st.text())
@settings(max_examples=200, deadline=None)
def test_snippet_parts_are_ordered_and_byte_exact(snippet: str, original: str) -> None:
    data = snippet.encode()
    at = 0
    for part in split_snippet(snippet, original):
        assert part.span.start >= at
        at = part.span.end
        text = data[part.span.start : part.span.end].decode()
        if hasattr(part, "text"):
            assert text == part.text
        else:
            assert text.strip()
    assert at <= len(data)


@given(FILE, FILE)
@settings(max_examples=200, deadline=None)
def test_a_diff_made_from_two_files_turns_one_into_the_other(before: str, after: str) -> None:
    diff = unified_diff(before, after)
    if diff is not None:
        assert plan_edit(before, UnifiedDiff(diff)).predicted == after


@given(FILE, FILE)
@settings(max_examples=200, deadline=None)
def test_blocks_made_from_two_files_turn_one_into_the_other(before: str, after: str) -> None:
    edit = search_replace(before, after)
    # The form cannot say that the final newline changes: a plan keeps the original's.
    if edit is not None and before.endswith("\n") == after.endswith("\n") and after:
        assert plan_edit(before, edit).predicted == after


@given(st.lists(st.integers(0, 9999), min_size=12, max_size=60, unique=True), st.data())
@settings(max_examples=200, deadline=None)
def test_a_snippet_with_unique_context_is_placed_exactly(numbers: list[int], data: st.DataObject) -> None:
    lines = [f"statement number {n}" for n in numbers]
    at = data.draw(st.integers(0, len(lines)))
    removed = data.draw(st.integers(0, min(4, len(lines) - at)))
    added = data.draw(st.lists(st.integers(10_000, 99_999), min_size=0 if removed else 1, max_size=4, unique=True))
    changed = lines[:at] + [f"statement number {n}" for n in added] + lines[at + removed :]
    before, after = "\n".join(lines) + "\n", "\n".join(changed) + "\n"
    snippet = update_snippet(before, after, "python", 3, data.draw(st.integers(0, 20)))
    assert snippet is not None
    plan = plan_edit(before, UpdateSnippet(snippet))
    assert plan.predicted == after
    check_plan(before, plan)


@pytest.mark.parametrize("size", [12, 27, 60, 400])
@pytest.mark.parametrize("end", ["start", "end"])
def test_lines_go_at_an_end_of_the_file_that_no_elision_stands_before(size: int, end: str) -> None:
    lines = [f"statement number {n}\n" for n in range(size)]
    gone = lines[:4] if end == "start" else lines[-4:]
    new = "statement number 10000\n"
    before = "".join(lines)
    after = before.replace("".join(gone), new)
    snippet = update_snippet(before, after, "python", 3, 0)
    assert snippet is not None
    assert plan_edit(before, UpdateSnippet(snippet)).predicted == after


@pytest.mark.parametrize("case", load_examples(), ids=lambda case: case.name)
def test_example_edits(case: ExampleEdit) -> None:
    plan = plan_edit(case.original, case.edit, case.language)
    assert plan.predicted == case.expected
    assert plan.confidence > 0.8
    check_plan(case.original, plan)


@pytest.mark.parametrize("case", load_examples(), ids=lambda case: case.name)
def test_every_form_of_the_example_edits(case: ExampleEdit) -> None:
    diff = unified_diff(case.original, case.expected, case.path)
    blocks = search_replace(case.original, case.expected)
    snippet = update_snippet(case.original, case.expected, case.language, 3, 0)
    assert diff is not None
    assert blocks is not None
    assert snippet is not None
    for edit in (UnifiedDiff(diff), blocks, UpdateSnippet(snippet), UpdateSnippet(case.expected)):
        assert plan_edit(case.original, edit, case.language).predicted == case.expected


def test_instruction_keeps_the_original_without_confidence() -> None:
    plan = plan_edit("a\n", Instruction("rename a to b"))
    assert (plan.predicted, plan.confidence) == ("a\n", 0.0)
    assert [region.kind for region in plan.regions] == [RegionKind.KEPT]


CODE = {
    "python": "class A:\n    @p\n    def f(self):\n        return 1\n\n    def g(self):\n        return (2,\n)\n",
    "typescript": "/** A. */\nexport class A {\n  f(): number {\n    return 1\n  }\n\n  g = () => {\n  }\n}\n",
    "rust": "//! S.\n#[derive(A)]\nstruct S {\n    a: u8,\n}\n\nimpl S {\n    fn f(&self) -> u8 {\n        1\n    }\n}",
    "yaml": "a:\n  b: 1\n  c:\n    - d\n    - e: 2\n",
    "markdown": "# A\n\ntext\n\n## B\n\n- c\n- d\n",
}


@given(language=st.sampled_from(sorted(CODE)), data=st.data())
@settings(max_examples=250, deadline=None)
def test_plans_by_syntax_tile_truncated_and_damaged_files(language: str, data: st.DataObject) -> None:
    code = CODE[language] * data.draw(st.integers(1, 3))
    cut = data.draw(st.integers(0, len(code)))
    noise = data.draw(st.text(st.sampled_from("\n {}()[]<>:;,.\"'`#/*=aé\x00"), max_size=8))
    original = code[cut:] + noise + code[: data.draw(st.integers(0, len(code)))]
    lines = original.split("\n")
    start = data.draw(st.integers(0, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    new = data.draw(st.lists(LINE, max_size=4))
    snippet = "\n".join(
        ["// ... existing code ...", *lines[max(0, start - 2) : start], *new, *lines[end : end + 2], "# ..."]
    )
    plan = plan_edit(original, UpdateSnippet(snippet), language)
    check_plan(original, plan)
    assert all(isinstance(name, str) and name for region in plan.regions for name in region.syntax_path)


@given(st.binary(max_size=200), st.binary(max_size=120), st.sampled_from(["python", "html", "sql", None]))
@settings(max_examples=200, deadline=None)
def test_arbitrary_bytes_never_raise(original: bytes, snippet: bytes, language: str | None) -> None:
    # Lone surrogates included, which stand for bytes that are no UTF-8.
    text = original.decode("utf-8", "surrogateescape")
    plan = plan_edit(text, UpdateSnippet(snippet.decode("utf-8", "surrogateescape")), language)
    assert sum(len(region.original) for region in plan.regions) == len(text.encode("utf-8", "surrogatepass"))
