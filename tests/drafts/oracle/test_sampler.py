"""vLLM's own rejection sampler, called directly, against the reference's verifier: known figures and random rows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from drafts.reference.penalties import Penalizer, Penalties
from drafts.reference.types import token_tensor
from drafts.reference.verify import Verifier
from tests.drafts.oracle.conftest import goodness_of_fit

REQUESTS = 8_000
SIGNIFICANT = 1e-3

P = [[0.5, 0.25, 0.25], [0.2, 0.3, 0.5], [0.1, 0.6, 0.3]]


@pytest.fixture(scope="module")
def sampler() -> Any:
    from vllm.platforms import current_platform
    from vllm.v1.sample.rejection_sampler import RejectionSampler
    from vllm.v1.sample.sampler import Sampler

    from drafts.vllm_sampler import ensure_expansion

    current_platform.register_triton_kernel_overrides()  # as every worker of vLLM's begins
    ensure_expansion()
    return RejectionSampler(Sampler())


def emit(
    sampler: Any,
    logits: Sequence[Tensor],
    drafts: Sequence[Sequence[int]],
    *,
    temperature: float = 0.0,
    q: Tensor | None = None,
    penalties: Penalties | None = None,
    prompts: Sequence[Sequence[int]] = (),
    outputs: Sequence[Sequence[int]] = (),
) -> list[list[int]]:
    """One pass over a batch: request i has rows logits[i] [m + 1, V] and the draft drafts[i] of m tokens."""
    from vllm.v1.sample.logits_processor import LogitsProcessors
    from vllm.v1.sample.metadata import SamplingMetadata
    from vllm.v1.spec_decode.metadata import SpecDecodeMetadata

    size = len(drafts)
    metadata = SpecDecodeMetadata.make_dummy([list(draft) for draft in drafts], torch.device("cpu"))
    rows = torch.cat([row.float() for row in logits])
    ends = torch.tensor([len(draft) + 1 for draft in drafts]).cumsum(0)
    metadata.bonus_logits_indices = (ends - 1).int()
    own = set(metadata.bonus_logits_indices.tolist())
    metadata.target_logits_indices = torch.tensor([i for i in range(len(rows)) if i not in own], dtype=torch.int32)
    padded = torch.full((size, max(map(len, prompts), default=1)), rows.shape[1])  # V is no token: padding
    for i, prompt in enumerate(prompts):
        padded[i, : len(prompt)] = torch.tensor(list(prompt))
    told = penalties or Penalties()
    sampling = SamplingMetadata(
        temperature=torch.full((size,), temperature),
        all_greedy=temperature == 0,
        all_random=temperature > 0,
        top_p=None,
        top_k=None,
        generators={},
        max_num_logprobs=None,
        no_penalties=penalties is None,
        prompt_token_ids=padded,
        frequency_penalties=torch.full((size,), told.frequency),
        presence_penalties=torch.full((size,), told.presence),
        repetition_penalties=torch.full((size,), told.repetition),
        output_token_ids=[list(output) for output in outputs] or [[] for _ in drafts],
        allowed_token_ids_mask=None,
        bad_words_token_ids={},
        logitsprocs=LogitsProcessors(),
        spec_token_ids=[list(draft) for draft in drafts],
    )
    emitted: list[list[int]] = sampler(metadata, q, rows, sampling).sampled_token_ids.tolist()
    return [[token for token in row if token >= 0] for row in emitted]


def random_cases(count: int, vocabulary: int) -> list[tuple[Tensor, list[int]]]:
    rng, generator = random.Random(5), torch.Generator().manual_seed(5)
    cases: list[tuple[Tensor, list[int]]] = []
    for _ in range(count):
        m = rng.randrange(1, 6)
        # Whole numbers tie often.
        rows = torch.randint(-3, 4, (m + 1, vocabulary), generator=generator).float()
        # Right more often than not, so that runs of every length are accepted.
        draft = [int(row.argmax()) if rng.random() < 0.7 else rng.randrange(vocabulary) for row in rows[:m]]
        cases.append((rows, draft))
    return cases


def test_greedy_rows(sampler: Any) -> None:
    rows = torch.tensor([[0.0, 1, 3], [2, 1, 0], [0, 5, 1]])
    assert emit(sampler, [rows, rows], [[2, 1], [2, 0]]) == [[2, 0], [2, 0, 1]]
    tied = torch.tensor([[1.0, 1, 0], [0, 2, 2]])
    assert emit(sampler, [tied, tied], [[0], [1]]) == [[0, 1], [0]]


def test_greedy_acceptance_is_the_oracle_s(sampler: Any) -> None:
    cases = random_cases(400, 6)
    expected = [Verifier().greedy(rows, token_tensor(draft)).emitted(token_tensor(draft)) for rows, draft in cases]
    assert emit(sampler, [rows for rows, _ in cases], [draft for _, draft in cases]) == expected
    assert {len(tokens) for tokens in expected} == {1, 2, 3, 4, 5, 6}


def test_penalties_are_the_oracle_s(sampler: Any) -> None:
    """Greedy under penalties: the history of each row holds the drafts before it."""
    penalties, rng = Penalties(1.5, 0.7, 0.9), random.Random(6)
    cases = random_cases(400, 6)
    prompts = [[rng.randrange(6) for _ in range(rng.randrange(1, 5))] for _ in cases]
    outputs = [[rng.randrange(6) for _ in range(rng.randrange(4))] for _ in cases]

    def expected(penalizer: Penalizer) -> list[list[int]]:
        emitted = []
        for (rows, draft), prompt, output in zip(cases, prompts, outputs, strict=True):
            penalized = penalizer.rows(rows, penalties, prompt, output, draft)
            emitted.append(Verifier().greedy(penalized, token_tensor(draft)).emitted(token_tensor(draft)))
        return emitted

    class Forgetful(Penalizer):
        def history(self, output: Sequence[int], kept: Sequence[int]) -> list[int]:
            return list(output)

    emitted = emit(
        sampler,
        [rows for rows, _ in cases],
        [draft for _, draft in cases],
        penalties=penalties,
        prompts=prompts,
        outputs=outputs,
    )
    assert emitted == expected(Penalizer()) != expected(Forgetful())


@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("draft", [[1], [0, 1], [2, 2]])
def test_certain_drafts_leave_the_distribution_as_it_is(sampler: Any, draft: list[int], temperature: float) -> None:
    """Every path of a pass against its exact probability, a draft's token of each rank included."""
    torch.manual_seed(7)
    rows = torch.tensor(P[: len(draft) + 1]).log()
    p = torch.softmax(rows.double() / temperature, 1)
    emitted = emit(sampler, [rows] * REQUESTS, [draft] * REQUESTS, temperature=temperature)
    expected: dict[tuple[int, ...], float] = {}
    reached = 1.0
    for i, token in enumerate(draft):
        for other in range(3):
            if other != token:
                expected[*draft[:i], other] = reached * float(p[i, other])
        reached *= float(p[i, token])
    for own in range(3):
        expected[*draft, own] = reached * float(p[len(draft), own])
    counts = Counter(map(tuple, emitted))
    assert counts.keys() <= expected.keys()
    assert goodness_of_fit(counts, expected) > SIGNIFICANT


def test_drawn_drafts_leave_the_distribution_as_it_is(sampler: Any) -> None:
    """p = 1/2 1/4 1/4 and q = 1/4 1/2 1/4: three quarters are accepted, 1 - TV(p, q)."""
    torch.manual_seed(8)
    rows = torch.tensor(P[:2]).log()
    q = torch.tensor([0.25, 0.5, 0.25])
    drawn = torch.multinomial(q, REQUESTS, replacement=True).tolist()
    emitted = emit(
        sampler,
        [rows] * REQUESTS,
        [[token] for token in drawn],
        temperature=1.0,
        q=q.expand(REQUESTS, 3).contiguous(),
    )
    first = Counter((tokens[0],) for tokens in emitted)
    assert goodness_of_fit(first, {(x,): P[0][x] for x in range(3)}) > SIGNIFICANT
    accepted = Counter((int(len(tokens) == 2),) for tokens in emitted)
    assert goodness_of_fit(accepted, {(0,): 0.25, (1,): 0.75}) > SIGNIFICANT
    # The residual max(0, p - q) is certain: what replaces a rejected draft is token 0.
    assert {tokens[0] for tokens in emitted if len(tokens) == 1} == {0}
    second = Counter((tokens[1],) for tokens in emitted if len(tokens) == 2)
    assert goodness_of_fit(second, {(x,): P[1][x] for x in range(3)}) > SIGNIFICANT
