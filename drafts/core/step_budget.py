"""The cap on draft tokens of one target pass over the whole batch."""

from __future__ import annotations

from collections.abc import Sequence


def share(wanted: Sequence[int], budget: int) -> list[int]:
    """Max-min fair shares: nobody gets more than wanted, the sum stays within `budget`, and the small are served whole.

    Logits are computed for every draft token, so the budget bounds memory as well as time.
    """
    shares = [0] * len(wanted)
    left = max(budget, 0)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    for done, i in enumerate(order):
        shares[i] = min(wanted[i], left // (len(order) - done))
        left -= shares[i]
    return shares
