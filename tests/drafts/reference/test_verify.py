from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import lcm

import pytest
import torch
from torch import Tensor

from drafts.reference.parts import Parts
from drafts.reference.types import TOKEN_DTYPE, draw, seeded_uniform, token_tensor
from drafts.reference.verify import Verdict

ROWS = torch.tensor([[0.0, 1, 3], [2, 1, 0], [0, 5, 1]])
P = torch.tensor([[0.5, 0.25, 0.25]], dtype=torch.float64)
Q = torch.tensor([[0.25, 0.5, 0.25]], dtype=torch.float64)
EMPTY = token_tensor([])

# Numerators over 12, V = 5. x1 = 4 has p = 0 in the second target row.
P1, P2 = (1, 2, 3, 4, 2), (3, 6, 1, 2, 0)
Q1, Q2 = (3, 1, 2, 2, 4), (2, 2, 4, 1, 3)
V = 5


class Scripted:
    """Uniforms from a list; knows how many were drawn."""

    def __init__(self, values: Iterable[float]) -> None:
        self.values = list(values)
        self.drawn = 0

    def __call__(self) -> float:
        self.drawn += 1
        return self.values[self.drawn - 1]


def rows(*numerators: tuple[int, ...]) -> Tensor:
    return torch.tensor(numerators, dtype=torch.float64) / 12


def fractions(numerators: tuple[int, ...]) -> list[Fraction]:
    return [Fraction(n, 12) for n in numerators]


def cells(n: int) -> Iterator[float]:
    """The middles of n equal cells of [0, 1): exact when every threshold is a multiple of 1 / n."""
    return ((i + 0.5) / n for i in range(n))


def one_hot(x: int) -> tuple[int, ...]:
    return tuple(12 if i == x else 0 for i in range(V))


def grid(p: tuple[int, ...], q: tuple[int, ...]) -> tuple[int, int]:
    """How finely the uniforms (accept, resample) must be cut: every threshold is then a multiple."""
    rest = [max(0, a - b) for a, b in zip(p, q, strict=True)]
    return lcm(*(n for n in q if n)), lcm(sum(rest) or 1, 12)


@pytest.mark.parametrize(
    ("draft", "emitted", "accepted"), [([2, 1], [2, 0], 1), ([2, 0], [2, 0, 1], 2), ([], [2], 0), ([1, 0], [2], 0)]
)
def test_greedy(parts: Parts, draft: list[int], emitted: list[int], accepted: int) -> None:
    tokens = token_tensor(draft)
    verdict = parts.verifier().greedy(ROWS[: len(draft) + 1], tokens)
    assert verdict.accepted == accepted
    assert verdict.emitted(tokens) == emitted


def test_greedy_ties_go_to_the_lowest_id(parts: Parts) -> None:
    tied = torch.tensor([[1.0, 3, 3], [2, 2, 0]])
    assert parts.verifier().greedy(tied, token_tensor([1])) == Verdict(1, 0)
    assert parts.verifier().greedy(tied, token_tensor([2])) == Verdict(0, 1)


@pytest.mark.parametrize(("u_accept", "expected"), [(0.7, Verdict(0, 0)), (0.3, Verdict(1, 2))])
def test_sampled_worked_example(parts: Parts, u_accept: float, expected: Verdict) -> None:
    verifier = parts.verifier()
    assert verifier.acceptance(P[0], Q[0], 1) == 0.5
    assert verifier.residual(P[0], Q[0]).tolist() == [1.0, 0.0, 0.0]
    bonus = torch.tensor([[0.0, 0.0, 1.0]], dtype=torch.float64)
    uniform = Scripted([u_accept, 0.9, 0.5])
    assert verifier.sampled(torch.cat([P, bonus]), token_tensor([1]), Q, uniform) == expected
    # accept and resample, whatever comes out; one more for the bonus
    assert uniform.drawn == 2 + expected.accepted


def test_the_order_of_the_uniforms(parts: Parts) -> None:
    # rejected by the first (0.7 >= 1/2), not by the second (0.3); the residual [0, 1/4, 3/4] then needs the second
    p = torch.tensor([[0.25, 0.25, 0.5], [1, 0, 0]], dtype=torch.float64)
    q = torch.tensor([[0.75, 0.125, 0.125]], dtype=torch.float64)
    residual = [0, 0.25, 0.75]
    for u_resample in (0.1, 0.3):
        expected = Verdict(0, draw(torch.tensor(residual), u_resample))
        assert parts.verifier().sampled(p, token_tensor([0]), q, Scripted([0.7, u_resample])) == expected
    # two positions: accept, resample, accept, resample, bonus
    both = torch.cat([P, P, P])
    uniform = Scripted([0.1, 0.99, 0.2, 0.99, 0.6])
    assert parts.verifier().sampled(both, token_tensor([1, 1]), torch.cat([Q, Q]), uniform) == Verdict(2, 1)
    assert uniform.drawn == 5


@pytest.mark.parametrize("deterministic", [False, True])
def test_the_first_token_is_distributed_as_the_target(parts: Parts, deterministic: bool) -> None:
    """Exact: every outcome enumerated, its weight a fraction. Deterministic: for every drafted x, certain of itself."""
    verifier = parts.verifier()
    for p in (P1, P2):
        for certain in range(V) if deterministic else [None]:
            q = Q1 if certain is None else one_hot(certain)
            accepts, resamples = grid(p, q)
            emitted = [Fraction(0)] * V
            accepted = Fraction(0)
            for x in (x for x in range(V) if q[x]):
                for u_accept in cells(accepts):
                    for u_resample in cells(resamples):
                        weight = Fraction(q[x], 12) / accepts / resamples
                        verdict = verifier.sampled(
                            rows(p, P2),
                            token_tensor([x]),
                            None if deterministic else rows(q),
                            Scripted([u_accept, u_resample, 0.5]),
                        )
                        emitted[verdict.emitted(token_tensor([x]))[0]] += weight
                        accepted += weight * verdict.accepted
            assert emitted == fractions(p)
            overlap = sum((Fraction(min(a, b), 12) for a, b in zip(p, q, strict=True)), Fraction(0))
            variation = sum((Fraction(abs(a - b), 24) for a, b in zip(p, q, strict=True)), Fraction(0))
            assert accepted == overlap == 1 - variation


def test_given_a_kept_first_token_the_second_is_distributed_as_the_target(parts: Parts) -> None:
    """k = 2 and x1 kept: the second token, drafted from q(.|x1), comes out as p(.|x1), exactly."""
    verifier = parts.verifier()
    accepts, resamples = grid(P2, Q2)
    emitted = [Fraction(0)] * V
    for x2 in range(V):
        for u_accept in cells(accepts):
            for u_resample in cells(resamples):
                weight = Fraction(Q2[x2], 12) / accepts / resamples
                draft = token_tensor([1, x2])  # p(1) >= q(1): kept whatever is drawn
                verdict = verifier.sampled(
                    rows(P1, P2, P1), draft, rows(Q1, Q2), Scripted([0.999, 0.5, u_accept, u_resample, 0.5])
                )
                assert verdict.accepted >= 1
                emitted[verdict.emitted(draft)[1]] += weight
    assert emitted == fractions(P2)


def test_the_bonus_is_distributed_as_the_last_row(parts: Parts) -> None:
    drawn = [Fraction(0)] * V
    for u in cells(12):
        verdict = parts.verifier().sampled(rows(P1, P2), token_tensor([1]), rows(Q1), Scripted([0.0, 0.0, u]))
        drawn[verdict.token] += Fraction(1, 12)
    assert drawn == fractions(P2)


def test_equal_distributions_accept_everything(parts: Parts) -> None:
    uniform = seeded_uniform(0)
    for x in range(V):
        assert parts.verifier().sampled(rows(P1, P2), token_tensor([x]), rows(P1), uniform).accepted == 1


def test_a_token_of_probability_zero_is_never_drawn() -> None:
    assert [draw(torch.tensor([0.0, 1, 0, 1, 0]), u) for u in (0.0, 0.49, 0.5, 0.999999)] == [1, 1, 3, 3]
    with pytest.raises(ValueError, match="all weights are zero"):
        draw(torch.zeros(3), 0.5)


@pytest.mark.parametrize(
    ("p", "draft", "q", "says"),
    [
        (rows(P1), [1], None, "need 2 rows"),
        (rows(P1, P2, P1), [1], None, "need 2 rows"),
        (rows(P1, P2), [5], None, "outside of the vocabulary of 5"),
        (rows(P1, P2), [1], rows(Q1, Q2), "must be 1 x 5"),
        (rows(P1, P2), [1], torch.ones((1, 4)) / 4, "must be 1 x 5"),
        (rows(P1, P2), [1], torch.ones((1, 5)), "each row of q"),
        (rows(P1, P2) * 2, [1], rows(Q1), "each row of p"),
        (rows(P1, P2), [4], rows(P2), "probability zero"),
    ],
)
def test_bad_arguments(parts: Parts, p: Tensor, draft: list[int], q: Tensor | None, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parts.verifier().sampled(p, token_tensor(draft), q, seeded_uniform(0))


def test_greedy_needs_one_row_more_than_tokens(parts: Parts) -> None:
    with pytest.raises(ValueError, match="need 3 rows"):
        parts.verifier().greedy(ROWS[:2], token_tensor([2, 1]))


def test_ids_stay_in_32_bits(parts: Parts) -> None:
    assert token_tensor([1]).dtype == TOKEN_DTYPE == torch.int32
    with pytest.raises(TypeError, match="int32"):
        parts.verifier().greedy(ROWS[:2], torch.tensor([2]))
