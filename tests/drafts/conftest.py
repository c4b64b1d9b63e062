"""The proposer on vLLM's arrays, under a target that emits recorded outputs: no engine runs."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from drafts.core.types import DraftRegion, DraftReport, DraftRequest, SourceKind
from drafts.payload import encode
from service.config import EngineConfig, ModelConfig
from service.engine.vllm import environment

K = 16
BUDGET = 40
MAX_MODEL_LEN = 512

Make = Callable[..., Any]


def make_tokens(count: int, seed: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(8, 200) for _ in range(count)]


def kept(predicted: list[int], k: int = K) -> DraftRequest:
    return DraftRequest(
        predicted=predicted, regions=(DraftRegion(len(predicted), SourceKind.KEPT),), max_draft_tokens=k
    )


@pytest.fixture(scope="session")
def make_proposer(engine_model: ModelConfig) -> Make:
    """Proposers on a real configuration of vLLM's, with no engine."""
    import os

    os.environ.update(environment(EngineConfig(kv_cache_gib=1)))
    from vllm.engine.arg_utils import EngineArgs

    from drafts.vllm_proposer import CopyProposer

    def make(k: int = K, **options: object) -> Any:
        arguments = EngineArgs(
            model=str(engine_model.path),
            max_model_len=MAX_MODEL_LEN,
            max_num_seqs=4,
            enforce_eager=True,
            speculative_config={
                "method": "custom_class",
                "model": "drafts.vllm_proposer.CopyProposer",
                "num_speculative_tokens": k,
            },
            additional_config={"redraft": {"max_batch_draft_tokens": BUDGET, **options}},
        )
        return CopyProposer(arguments.create_engine_config())

    return make


class Target:
    """A target that emits recorded outputs, over arrays laid out as vLLM's model runner lays them out."""

    def __init__(self, proposer: Any, *, bound: bool = True) -> None:
        self.proposer = proposer
        self.names: list[str] = []
        self.outputs: dict[str, list[int]] = {}
        self.emitted: dict[str, int] = {}
        self.drafts: dict[str, list[int]] = {}
        self.requests: dict[str, Any] = {}
        self.tokens = np.zeros((8, MAX_MODEL_LEN), dtype=np.int32)
        self.passes = 0
        if bound:
            proposer.bind(SimpleNamespace(requests=self.requests, input_batch=SimpleNamespace(req_ids=self.names)))

    def add(
        self,
        name: str,
        prompt: list[int],
        output: list[int],
        draft: DraftRequest | None = None,
        *,
        payload: dict[str, Any] | None = None,
        max_tokens: int = 400,
        stop: list[int] | None = None,
    ) -> None:
        from vllm import SamplingParams

        extra_args = payload if payload is not None else encode(draft, prompt, name)
        self.requests[name] = SimpleNamespace(
            prompt_token_ids=prompt,
            num_prompt_tokens=len(prompt),
            sampling_params=SamplingParams(
                max_tokens=max_tokens, stop_token_ids=stop, detokenize=False, extra_args=extra_args
            ),
        )
        self.names.append(name)
        self.outputs[name] = output
        self.emitted[name] = 0
        self.drafts[name] = []

    def drop(self, name: str) -> None:
        self.names.remove(name)
        del self.requests[name]

    def step(self, *, propose: bool = True, prefilling: tuple[str, ...] = ()) -> None:
        """One pass over the batch; with propose=False, vLLM leaves the proposer out, as near the model's length."""
        self.passes += 1
        sampled: list[list[int]] = []
        lengths = np.zeros(8, dtype=np.int32)
        for row, name in enumerate(self.names):
            rest = self.outputs[name][self.emitted[name] :]
            draft = self.drafts.get(name, [])
            count = 0
            while count < min(len(draft), len(rest) - 1) and draft[count] == rest[count]:
                count += 1
            new = [] if name in prefilling else rest[: count + 1]
            sampled.append(new)
            self.emitted[name] += len(new)
            known = [*self.requests[name].prompt_token_ids, *self.outputs[name][: self.emitted[name]]]
            self.tokens[row, : len(known)] = known
            lengths[row] = len(known)
        if propose:
            drafts = self.proposer.propose(sampled, lengths, self.tokens)
            assert len(drafts) == len(self.names)
            assert all(len(draft) <= K for draft in drafts)
            assert sum(map(len, drafts)) <= BUDGET
            assert all(type(token) is int for draft in drafts for token in draft)
            self.drafts = dict(zip(self.names, drafts, strict=True))
        else:
            self.drafts = {name: [] for name in self.names}

    def run(self, name: str) -> DraftReport:
        while self.emitted[name] < len(self.outputs[name]):
            self.step()
        report: DraftReport = self.proposer.take_reports([name])[name]
        assert report.output_tokens == report.target_passes + report.accepted
        return report
