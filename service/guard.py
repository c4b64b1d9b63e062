"""Refuses results that are surely not what was asked for. Pure: texts and a plan in, a typed failure out.

All checks compare with the original and the plan, so that what stood in the file before, or in the edit, is never held
against the result.
"""

from __future__ import annotations

from collections import Counter

from drafts.align.plan import Instruction, Plan, RegionKind
from drafts.align.snippet import Elision, split_snippet
from service.errors import ResultRejected
from service.types import ApplyRequest

# A kept region less sure than this may be misplaced itself, so its loss proves nothing.
_SURE = 0.5
# Lines lost beyond those that the result has in their place. Few lines, or a small share of the file, may be the
# model's better judgement; more is a hole.
_MAX_LOST_LINES = 4
_MAX_LOST_SHARE = 0.2
_MAX_LOST_LINES_EVER = 50


def check(request: ApplyRequest, plan: Plan, result: str) -> None:
    """result: the model's whole text, LF line ends. Raises ResultRejected with a reason of its own per check."""
    check_not_empty(request, plan, result)
    check_markers(request, plan, result)
    if not isinstance(request.edit, Instruction):
        check_deletions(plan, result)


def check_not_empty(request: ApplyRequest, plan: Plan, result: str) -> None:
    """RESULT_EMPTY: nothing is left of a file that had text, and the plan does not empty it."""
    if request.file.text.strip() and plan.predicted.strip() and not result.strip():
        raise ResultRejected(
            "the model wrote an empty file; try again, or send the edit as a diff or as search/replace blocks",
            reason="RESULT_EMPTY",
        )


def check_markers(request: ApplyRequest, plan: Plan, result: str) -> None:
    """RESULT_HAS_ELISION: an elision marker that neither the original nor the predicted text holds."""
    found = [part for part in split_snippet(result, request.file.text) if isinstance(part, Elision)]
    if not found:
        return
    data = result.encode()
    predicted = {line.strip() for line in plan.predicted.split("\n")}
    for elision in found:
        lines = data[elision.span.start : elision.span.end].decode().strip().split("\n")
        if any(line.strip() not in predicted for line in lines):
            raise ResultRejected(
                "the result still holds an elision marker in place of code; try again, or send more of the code around "
                "the change",
                reason="RESULT_HAS_ELISION",
            )


def check_deletions(plan: Plan, result: str) -> None:
    """RESULT_LOST_LINES: many lines that the plan keeps are gone, with nothing in their place."""
    predicted = plan.predicted.encode()
    kept: Counter[str] = Counter()
    for region in plan.regions:
        if region.kind is RegionKind.KEPT and region.confidence >= _SURE:
            kept.update(_filled(predicted[region.predicted.start : region.predicted.end].decode()))
    written = Counter(_filled(result))
    lost = (kept - written).total()
    added = (written - Counter(_filled(plan.predicted))).total()
    hole = lost - added
    if hole > _MAX_LOST_LINES_EVER or (hole > _MAX_LOST_LINES and hole > _MAX_LOST_SHARE * kept.total()):
        raise ResultRejected(
            f"the result lacks {hole} lines that the edit does not touch; try again, or apply the edit in parts",
            reason="RESULT_LOST_LINES",
        )


def _filled(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]
