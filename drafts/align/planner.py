"""The entry point: any edit, any file, one plan."""

from __future__ import annotations

from typing import assert_never

from drafts.align.blocks import plan_search_replace
from drafts.align.build import keep_all
from drafts.align.paths import with_paths
from drafts.align.plan import Edit, Instruction, Plan, SearchReplace, UnifiedDiff, UpdateSnippet
from drafts.align.structure import Syntax
from drafts.align.unified import plan_diff
from drafts.align.update import plan_update


def plan_edit(original: str, edit: Edit, language: str | None = None) -> Plan:
    """Align an edit with a file: the text it predicts, in regions, and how sure that is.

    Never raises for odd input. confidence estimates the probability that the predicted text is the intended file,
    byte for byte. A plan of which one part found no place has at most 0.1; an instruction, a malformed edit, and one
    of which nothing can be placed keep the whole original with confidence 0.
    language: a canonical name such as "python" (`languages.canonical`), when known. Where it has a grammar, syntax
    settles what the lines leave open, and the regions have a syntax path.
    """
    syntax = Syntax.of(original, language)
    plan = _plan(original, edit, syntax)
    return plan if syntax is None else with_paths(plan, syntax)


def _plan(original: str, edit: Edit, syntax: Syntax | None) -> Plan:
    match edit:
        case UpdateSnippet(text):
            return plan_update(original, text, syntax)
        case UnifiedDiff(text):
            return plan_diff(original, text)
        case SearchReplace():
            return plan_search_replace(original, edit)
        case Instruction():
            return keep_all(original)
        case _:
            assert_never(edit)
