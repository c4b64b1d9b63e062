"""Replay: a recorded output fed through a drafter as a target would emit it. Deterministic, no model."""

from __future__ import annotations

from collections.abc import Sequence

from drafts.core.types import Drafter, DraftReport, DraftRequest


def replay(drafter: Drafter, request: DraftRequest, output: Sequence[int], limit: int) -> tuple[list[int], DraftReport]:
    """The tokens emitted (always those of `output`) and the report.

    output: the recorded tokens, the end token included if there was one.
    limit: draft tokens that the driver allows in one pass. The last token is always the target's own, as in serving.
    """
    drafter.start(request)
    emitted: list[int] = []
    proposal: list[int] = []  # the first pass is the prefill's: it drafts nothing
    while len(emitted) < len(output):
        accepted = 0
        left = len(output) - len(emitted)
        while accepted < min(len(proposal), left - 1) and proposal[accepted] == output[len(emitted) + accepted]:
            accepted += 1
        tokens = [*proposal[:accepted], output[len(emitted) + accepted]]
        drafter.observe(tokens)
        emitted.extend(tokens)
        proposal = drafter.propose(min(limit, max(len(output) - len(emitted) - 1, 0)))
    return emitted, drafter.finish()
