"""Sampled decoding on vLLM: with drafts, without them, and by the oracle's probabilities, one distribution.

Each request decodes a few tokens at a temperature after a prompt whose next tokens are uncertain. The cell of an output
is how many tokens it follows the likeliest path for, and which third of the vocabulary it leaves it by: the drafts are
that path, so cells differ in how many drafts were accepted and in what the rejected were replaced by.
"""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from drafts.reference.engine import TorchEngine
from drafts.reference.penalties import Penalizer, Penalties
from drafts.reference.types import token_tensor
from service.prompts.tokenization import TextTokenizer
from tests.drafts.oracle.conftest import Served, follow, goodness_of_fit, short_prompts, tail

pytestmark = pytest.mark.engine

PATH = 4
REQUESTS = 700
THIRDS = 3
ENOUGH = 30
SIGNIFICANT = 1e-3

Cell = tuple[int, ...]


@dataclass(frozen=True)
class Uncertain:
    """path: the likeliest next tokens; rows [PATH, V]: the target's distributions along it."""

    prompt: list[int]
    path: list[int]
    rows: Tensor

    @property
    def likelihoods(self) -> list[float]:
        return [float(row[token]) for row, token in zip(self.rows, self.path, strict=True)]

    def cell(self, tokens: list[int]) -> Cell:
        for i, (token, expected) in enumerate(zip(tokens, self.path, strict=False)):
            if token != expected:
                return i, token % THIRDS
        return PATH, 0

    def expected(self) -> dict[Cell, float]:
        """The probability of each cell."""
        cells: dict[Cell, float] = {}
        reached = 1.0
        thirds = torch.arange(self.rows.shape[1]) % THIRDS
        for i, (row, token) in enumerate(zip(self.rows, self.path, strict=True)):
            rest = row.clone()
            rest[token] = 0
            for third in range(THIRDS):
                cells[i, third] = reached * float(rest[thirds == third].sum())
            reached *= float(row[token])
        cells[PATH, 0] = reached
        return cells


def look_ahead(target: TorchEngine, prompt: list[int], penalties: Penalties, temperature: float) -> Uncertain:
    path: list[int] = []
    rows: list[Tensor] = []
    target.rewind(target.offset)
    fed = prompt
    for _ in range(PATH):
        logits = target.forward(token_tensor(fed), 1)
        row = torch.softmax(Penalizer().rows(logits, penalties, prompt, path, [])[0].double() / temperature, 0)
        rows.append(row)
        path.append(int(row.argmax()))
        fed = path[-1:]
    return Uncertain(prompt, path, torch.stack(rows))


@functools.cache
def find_uncertain(
    target: TorchEngine, tokenizer: TextTokenizer, penalties: Penalties, temperature: float
) -> Uncertain:
    """Of some short prompts the one whose drafted positions are the least certain. Deterministic."""
    found = [look_ahead(target, prompt, penalties, temperature) for prompt in short_prompts(tokenizer)]
    return max(found, key=lambda one: sum(p * (1 - p) for p in one.likelihoods[1:]) * one.likelihoods[0])


def homogeneity(one: Counter[Cell], other: Counter[Cell]) -> float:
    """The p-value of a chi-square test of two equally large samples; cells with fewer than 10 together are pooled."""
    pairs: list[tuple[int, int]] = []
    pooled = (0, 0)
    for key in one.keys() | other.keys():
        pair = (one[key], other[key])
        if sum(pair) < 10:
            pooled = (pooled[0] + pair[0], pooled[1] + pair[1])
        else:
            pairs.append(pair)
    if sum(pooled) > 0:
        pairs.append(pooled)
    return tail(sum((a - b) ** 2 / (a + b) for a, b in pairs), len(pairs) - 1)


# At these temperatures a token is followed by its likeliest more often than not, and by others often enough.
@pytest.mark.parametrize(
    ("penalties", "temperature"),
    [(Penalties(), 0.7), (Penalties(repetition=1.1, presence=0.3, frequency=0.2), 0.5)],
    ids=["alone", "with penalties"],
)
async def test_drafts_leave_the_distribution_as_it_is(
    served: Served, target: TorchEngine, tokenizer: TextTokenizer, penalties: Penalties, temperature: float
) -> None:
    case = find_uncertain(target, tokenizer, penalties, temperature)
    assert sum(0.1 < p < 0.9 for p in case.likelihoods[1:]) >= 2, f"too certain to tell: {case.likelihoods}"
    sampling = {
        "repetition_penalty": penalties.repetition,
        "presence_penalty": penalties.presence,
        "frequency_penalty": penalties.frequency,
    }
    counts: list[Counter[Cell]] = []
    drafted = accepted = 0
    for first_seed, draft in ((0, follow(case.path)), (REQUESTS, None)):
        drawn = await served.run_all(
            [(case.prompt, draft)] * REQUESTS,
            max_tokens=PATH + 1,
            seeds=range(first_seed, first_seed + REQUESTS),
            temperature=temperature,
            **sampling,
        )
        counts.append(Counter(case.cell(one.tokens) for one in drawn))
        drafted += sum(one.report.drafted for one in drawn)
        accepted += sum(one.report.accepted for one in drawn)
    # Drafts were made, and enough of them were kept, and not kept, to tell by.
    assert drafted > REQUESTS / 2
    assert min(accepted, drafted - accepted) >= ENOUGH
    with_drafts, without = counts
    expected = case.expected()
    assert goodness_of_fit(without, expected) > SIGNIFICANT
    assert goodness_of_fit(with_drafts, expected) > SIGNIFICANT, (with_drafts, expected)
    assert homogeneity(with_drafts, without) > SIGNIFICANT


async def test_a_certain_draft_is_accepted_as_often_as_it_is_likely(
    served: Served, target: TorchEngine, tokenizer: TextTokenizer
) -> None:
    """Acceptance probability p(x), and never the draft again where it was rejected: the residual has none of it."""
    temperature = 0.7
    case = find_uncertain(target, tokenizer, Penalties(), temperature)
    certain = case.path[1]
    drawn = await served.run_all(
        [(case.prompt, follow([case.path[0], certain, certain]))] * REQUESTS,
        max_tokens=3,
        seeds=range(10_000, 10_000 + REQUESTS),
        temperature=temperature,
    )
    drafted = [one for one in drawn if one.tokens[0] == case.path[0] and one.report.drafted]
    assert len(drafted) > REQUESTS / 4
    kept = sum(one.tokens[1] == certain for one in drafted)
    assert kept == sum(one.report.accepted > 0 for one in drafted), "a rejected draft token came out all the same"
    p = float(case.rows[1][certain])
    assert min(p, 1 - p) * len(drafted) > ENOUGH
    cells = Counter({(1, 0): kept, (1, 1): len(drafted) - kept})
    assert goodness_of_fit(cells, {(1, 0): p, (1, 1): 1 - p}) > SIGNIFICANT
