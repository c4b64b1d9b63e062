"""Which draft tokens are kept, and the target's own token after them.

Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding"; Chen et al. 2023, "Accelerating
Large Language Model Decoding with Speculative Sampling".
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from drafts.reference.types import Uniform, check_tokens, draw

# How far a row of probabilities may be from summing to one: float32 rounding over a large vocabulary.
SUM_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Verdict:
    """Draft tokens kept (a count), and the one token of the target's own: a correction, or the bonus token."""

    accepted: int
    token: int

    def emitted(self, draft: Tensor) -> list[int]:
        """The accepted run of `draft` [m], then the target's own token."""
        return [*draft[: self.accepted].tolist(), self.token]


def check_rows(rows: Tensor, draft: Tensor) -> None:
    """Raises ValueError unless `rows` is [m + 1, V] for a draft of m ids below V; TypeError on another id dtype."""
    check_tokens(draft)
    m = draft.shape[0]
    if rows.dim() != 2 or rows.shape[0] != m + 1 or rows.shape[1] == 0:
        raise ValueError(f"{m} draft tokens need {m + 1} rows of predictions, not a shape of {tuple(rows.shape)}")
    if m and (int(draft.min()) < 0 or int(draft.max()) >= rows.shape[1]):
        raise ValueError(f"a draft token lies outside of the vocabulary of {rows.shape[1]}")


def check_distributions(name: str, rows: Tensor) -> None:
    """Raises ValueError unless every row of `rows` [n, V] is a probability distribution."""
    if rows.shape[0] and (bool((rows < 0).any()) or bool(((rows.sum(1) - 1).abs() > SUM_TOLERANCE).any())):
        raise ValueError(f"each row of {name} must be a probability distribution: not negative, with sum one")


class Verifier:
    """The rule of acceptance. Its steps are methods, so that a test can replace one of them."""

    def greedy(self, rows: Tensor, draft: Tensor) -> Verdict:
        """rows: the target's logits (or probabilities) [m + 1, V]; draft: int32 [m]. Draws no random number.

        Ties go to the lowest id. Raises ValueError on other shapes.
        """
        check_rows(rows, draft)
        accepted = 0
        while accepted < len(draft) and self.matches(rows[accepted], int(draft[accepted])):
            accepted += 1
        row = rows[self.own_row(accepted, len(draft))]
        return Verdict(accepted, greedy_token(row))

    def sampled(self, p: Tensor, draft: Tensor, q: Tensor | None, uniform: Uniform) -> Verdict:
        """p: the target's probabilities [m + 1, V]; draft: int32 [m]; q: the draft's [m, V], None for one-hots.

        Every position up to the first rejection draws two uniforms (accept, resample) whatever comes out; the bonus
        token draws one. The emitted tokens are distributed as the target's, exactly. Raises ValueError on other
        shapes, on rows that are not distributions, and on a draft token that its own q could not have drawn.
        """
        check_rows(p, draft)
        if q is None:
            q = self.one_hot(draft, p.shape[1])
        if q.shape != (len(draft), p.shape[1]):
            raise ValueError(f"draft distributions must be {len(draft)} x {p.shape[1]}, not {tuple(q.shape)}")
        check_distributions("p", p)
        check_distributions("q", q)
        for i, x in enumerate(draft.tolist()):
            if not float(q[i, x]) > 0:
                raise ValueError(f"draft token {i} has probability zero in its own draft distribution")
            u_accept, u_resample = self.pair(uniform)
            if not u_accept < self.acceptance(p[i], q[i], x):
                return Verdict(i, draw(self.residual(p[i], q[i]), u_resample))
        return Verdict(len(draft), draw(p[self.own_row(len(draft), len(draft))], uniform()))

    def matches(self, row: Tensor, x: int) -> bool:
        """Greedy: whether x is the argmax of `row` [V]."""
        return greedy_token(row) == x

    def own_row(self, accepted: int, drafted: int) -> int:
        """The index of the row that predicts the token after the accepted run."""
        return accepted

    def one_hot(self, draft: Tensor, vocab_size: int) -> Tensor:
        """The distributions [m, vocab_size] of a draft that was certain: float64, one at each draft token."""
        q = torch.zeros((len(draft), vocab_size), dtype=torch.float64)
        q[torch.arange(len(draft)), draft.long()] = 1.0  # an index, not a token: indexing wants 64 bits
        return q

    def pair(self, uniform: Uniform) -> tuple[float, float]:
        """The two uniforms of one position, in their fixed order: accept, resample."""
        u_accept = uniform()
        return u_accept, uniform()

    def acceptance(self, p: Tensor, q: Tensor, x: int) -> float:
        """min(1, p(x) / q(x)) for rows p and q [V]. Over x drawn from q its mean is sum min(p, q) = 1 - TV(p, q)."""
        return min(1.0, float(p[x]) / float(q[x]))

    def residual(self, p: Tensor, q: Tensor) -> Tensor:
        """max(0, p - q) [V], normalized: what a rejected position is drawn from."""
        rest = (p.double() - q.double()).clamp(min=0)
        total = rest.sum()
        # p and q equal but for rounding: a rejection then has no probability of its own, and p is as good
        return rest / total if float(total) > 0 else p.double()


def greedy_token(row: Tensor) -> int:
    """The id of the largest entry of `row` [V]; the lowest id among equals."""
    return int((row == row.max()).nonzero()[0])
