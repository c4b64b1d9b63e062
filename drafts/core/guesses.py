"""Places that are only guessed: how likely they are to be right, and how much to draft there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

# The weight of the belief in a guess as its tokens come: the smaller it is, the more does each acceptance promise.
GUESS_WEIGHT = 1.0


@dataclass(slots=True)
class Beta:
    """A Beta(accepted, rejected) belief about the chance that a draft token is accepted."""

    accepted: float
    rejected: float

    @property
    def mean(self) -> float:
        return self.accepted / (self.accepted + self.rejected)

    def update(self, accepted: float, rejected: float, memory: float) -> None:
        """Count an outcome; only about `memory` outcomes are remembered, so that the belief can follow a change."""
        accepted += self.accepted
        rejected += self.rejected
        total = accepted + rejected
        if total > memory:
            accepted *= memory / total
            rejected *= memory / total
        self.accepted = accepted
        self.rejected = rejected


def pays(right: float, tokens: int, price: float) -> bool:
    """Whether to draft `tokens` more behind a place at which all is right with this chance.

    If it is, the pass is saved that would draft them next; if not, they are in vain.
    """
    return right >= price * tokens * (1.0 - right)


def rounded_guess_length(chance: float, price: float, limit: int) -> int:
    """`guess_length` of a chance that is rounded, so that it is computed once for many passes."""
    return guess_length(round(chance * 64) / 64, price, limit)


@lru_cache(maxsize=4096)
def guess_length(chance: float, price: float, limit: int) -> int:
    """The k for a place that is only guessed, `chance` being the chance that its first token is accepted.

    The target's next token proves a guess whether or not it was drafted, and the pass after that can draft the rest.
    So a draft on a guess saves a pass only if it covers all of what agrees; of a longer agreement it saves k / limit
    of a pass. With S(k) the chance that k tokens are accepted, the gain in passes is

        S(1) - S(k + 1) * (1 - k / limit) - price * (k - (S(1) + ... + S(k)))

    and k is where it is largest, 0 where it is nowhere above 0.
    """
    best, length = 0.0, 0
    reached, accepted = 1.0, 0.0
    following = chance
    for k in range(1, limit + 1):
        reached *= following
        accepted += reached
        following = (chance + k / GUESS_WEIGHT) / (1.0 + k / GUESS_WEIGHT)
        gain = chance - reached * following * (1.0 - k / limit) - price * (k - accepted)
        if gain > best:
            best, length = gain, k
        if price * (k - accepted) > chance:  # more than any length can gain
            break
    return length
