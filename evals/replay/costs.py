"""The model of time: a target pass costs 1 and g for each of its draft tokens; plain decoding costs 1 a token.

g is the cost of a draft token in passes: about 0.006 on a large GPU at batch 1, 0.05 on a few CPU cores. The prefill is
one pass of its own, the first token comes out of it, and it counts 1 for every drafter and for the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

COSTS: Final = (0.002, 0.006, 0.02, 0.05)


def cost(passes: int, drafted: int, g: float) -> float:
    """In passes."""
    return passes + g * drafted


def speedup(tokens: int, passes: int, drafted: int, g: float) -> float:
    """Over plain decoding."""
    return tokens / cost(passes, drafted, g)


def bound_passes(tokens: int, k: int) -> int:
    """The fewest passes for an output of that many tokens: the prefill's, then a perfect draft of k in each.

    A pass over k draft tokens emits k + 1.
    """
    return 1 + -(-(tokens - 1) // (k + 1))


def bound(lengths: Sequence[int], k: int) -> tuple[int, int]:
    """Passes and draft tokens of perfect drafting over outputs of these lengths: no draft token is wasted."""
    passes = sum(bound_passes(tokens, k) for tokens in lengths)
    return passes, sum(lengths) - passes
