"""The calls that come before anything is timed, on files that are no example. Pure."""

from __future__ import annotations

from drafts.align.plan import UpdateSnippet
from evals.example_edits import ExampleEdit

_SIZES = (3, 8, 16)


def warm_up_edits() -> tuple[ExampleEdit, ...]:
    """A small, a medium and a large file, each with one changed function; no two share their beginning, so that none
    is answered from the prefix cache."""
    return tuple(_edit(size) for size in _SIZES)


def _edit(functions: int) -> ExampleEdit:
    changed = functions // 2
    original = "\n\n".join(_function(functions, i, i) for i in range(functions))
    expected = "\n\n".join(_function(functions, i, i * 7 if i == changed else i) for i in range(functions))
    marker = "# ... existing code ...\n"
    return ExampleEdit(
        name=f"warm-up-{functions}",
        path=f"warm_up_{functions}.py",
        language="python",
        note="Not measured.",
        original=original,
        edit=UpdateSnippet(marker + _function(functions, changed, changed * 7) + marker),
        expected=expected,
    )


def _function(module: int, number: int, constant: int) -> str:
    return (
        f"def scale_{module}_{number}(values, limit):\n"
        f"    total = {constant}\n"
        "    for value in values:\n"
        f"        if value > limit + {number}:\n"
        "            total += value\n"
        "    return total\n"
    )
