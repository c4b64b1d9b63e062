"""What tells code that is rewritten from code that only makes way for other code."""

from __future__ import annotations

import math

from drafts.align.incoming import Incoming
from drafts.align.lines import Lines, indent_width, matching_blocks


def rewritten(original: Lines, low: int, high: int, coming: Incoming) -> dict[str, float]:
    """Features of new lines that come in the place of the original's lines [low, high).

    shape: at how many ends new and deleted lines are indented otherwise. kept_blocks: runs of lines that both
    have, as a logarithm. fresh: the new lines have others besides. lopsided: how many times more lines come than
    go, or go than come, as a logarithm. Of blank lines alone nothing is said.
    """
    come = coming.filled
    gone = [index for index in range(low, high) if original.stripped[index]]
    if not gone or not come:
        return {}
    blocks = matching_blocks(original.stripped[low:high], coming.stripped)
    filled = [sum(map(bool, original.stripped[low + at : low + at + size])) for at, _, size in blocks]
    kept = sum(filled)
    ends = ((gone[0], come[0]), (gone[-1], come[-1]))
    return {
        "shape": float(sum(indent_width(original.contents[at]) != indent_width(line) for at, line in ends)),
        "fresh": float(len(come) > kept),
        "kept_blocks": math.log2(1 + sum(map(bool, filled))),
        "lopsided": abs(math.log2((1 + len(gone) - kept) / (1 + len(come) - kept))),
    }
