"""The same weights twice: served by vLLM with our proposer, and in the reference's own loop, the oracle."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest
import torch

from drafts.align import plan_edit
from drafts.align.plan import UpdateSnippet
from drafts.core.copy_drafter import CopyDrafter
from drafts.core.step_cost import StepCost
from drafts.core.types import DraftRegion, DraftReport, DraftRequest, SourceKind
from drafts.payload import encode
from drafts.reference.adapter import CoreDrafter
from drafts.reference.engine import TorchEngine
from drafts.reference.loop import Output, Params, SpeculativeLoop
from drafts.reference.penalties import Penalizer
from drafts.reference.stops import Stopper
from drafts.text_tokens import TextTokens
from service.config import EMBEDDED_MODEL_PATH, PromptFormatName
from service.engine.vllm import VllmEngine
from service.prompts import load_prompt_format
from service.prompts.tokenization import TextTokenizer
from service.types import ApplyRequest, SourceFile

K = 64  # of the session's engine


@dataclass(frozen=True)
class Drawn:
    """One request's answer from vLLM. top: for each position the likeliest ids and their log-probabilities."""

    tokens: list[int]
    text: str
    reason: str
    stop: str | int | None
    logprobs: list[float]
    top: list[dict[int, float]]
    report: DraftReport


@dataclass
class Served:
    """vLLM with our proposer. draft: None decodes plainly; sampling: of vLLM's SamplingParams."""

    engine: VllmEngine
    serial: Any = field(default_factory=itertools.count)

    async def run(
        self, prompt: Sequence[int], draft: DraftRequest | None, *, max_tokens: int, **sampling: Any
    ) -> Drawn:
        (drawn,) = await self.run_all([(prompt, draft)], max_tokens=max_tokens, **sampling)
        return drawn

    async def run_all(
        self,
        requests: Sequence[tuple[Sequence[int], DraftRequest | None]],
        *,
        max_tokens: int,
        seeds: Sequence[int] | None = None,
        **sampling: Any,
    ) -> list[Drawn]:
        keys = [f"oracle-{next(self.serial)}" for _ in requests]
        finals = await asyncio.gather(
            *(
                self._final(key, prompt, draft, seed, {"max_tokens": max_tokens, **sampling})
                for key, (prompt, draft), seed in zip(keys, requests, seeds or [0] * len(keys), strict=True)
            )
        )
        reports = await self.engine.fetch_reports(keys)
        return [_drawn(final, reports[key]) for key, final in zip(keys, finals, strict=True)]

    async def _final(
        self, key: str, prompt: Sequence[int], draft: DraftRequest | None, seed: int, sampling: dict[str, Any]
    ) -> Any:
        from vllm.inputs import tokens_input
        from vllm.sampling_params import RequestOutputKind, SamplingParams

        params = SamplingParams(
            # The reference ends nowhere unless it is told to, so neither does this.
            **{"temperature": 0.0, "seed": seed, "ignore_eos": True, **sampling},
            output_kind=RequestOutputKind.FINAL_ONLY,
            extra_args=encode(draft, prompt, key),
        )
        stream = self.engine.llm.generate(tokens_input(list(prompt)), params, request_id=key)
        (final,) = [output async for output in stream]
        return final


def _drawn(final: Any, report: DraftReport) -> Drawn:
    (completion,) = final.outputs
    tokens = list(completion.token_ids)
    rows = completion.logprobs or []
    return Drawn(
        tokens=tokens,
        text=completion.text,
        reason=completion.finish_reason,
        stop=completion.stop_reason,
        logprobs=[row[token].logprob for row, token in zip(rows, tokens, strict=False)],
        top=[{token: entry.logprob for token, entry in row.items()} for row in rows],
        report=report,
    )


@pytest.fixture
def served(engine: VllmEngine) -> Served:
    return Served(engine)


Oracle = Callable[..., Output]
Cell = TypeVar("Cell", bound=Hashable)


@pytest.fixture(scope="session")
def target() -> TorchEngine:
    return TorchEngine.load(EMBEDDED_MODEL_PATH, paged=True)


@pytest.fixture(scope="session")
def oracle(target: TorchEngine) -> Oracle:
    """Decodes by the reference loop, with the drafter that serves; draft: None decodes plainly."""
    worker = TextTokens((EMBEDDED_MODEL_PATH / "tokenizer.json").read_text())

    def run(
        prompt: Sequence[int],
        draft: DraftRequest | None,
        params: Params,
        stopper: Stopper | None = None,
        penalizer: Penalizer | None = None,
    ) -> Output:
        drafter = None
        if draft is not None:
            known = replace(draft, token_bytes=worker.bytes_of, newline_tokens=worker.newlines)  # as in the worker
            drafter = CoreDrafter(CopyDrafter(StepCost(0.05)), known)
        return SpeculativeLoop(target, drafter, params, stopper=stopper, penalizer=penalizer).run(prompt)

    return run


@pytest.fixture(scope="session")
def tokenizer() -> TextTokenizer:
    return TextTokenizer.load(EMBEDDED_MODEL_PATH)


FILE = """import math


def area(width, height):
    \"\"\"Square metres.\"\"\"
    return width * height


def volume(width, height, depth):
    return area(width, height) * depth


def perimeter(width, height):
    return 2 * (width + height)
"""
SNIPPET = """# ... existing code ...


def area(width, height):
    \"\"\"Square metres.\"\"\"
    check(width, height)
    return width * height


# ... existing code ...
"""


@pytest.fixture(scope="session")
def prompt() -> list[int]:
    """A small file and edit as the service asks the embedded model: it answers with more tokens than any test draws."""
    file = SourceFile(path="area.py", data=FILE.encode(), text=FILE, language="python")
    edit = UpdateSnippet(SNIPPET)
    plan = plan_edit(FILE, edit, file.language)
    prompt_format = load_prompt_format(PromptFormatName.EMBEDDED, EMBEDDED_MODEL_PATH)
    return list(prompt_format.render(ApplyRequest("oracle", file, edit), plan).token_ids)


def short_prompts(tokenizer: TextTokenizer, count: int = 60) -> Iterator[list[int]]:
    """A few words over and over: the model is of several minds about what comes next. Deterministic."""
    words = [tokenizer.encode_text(word)[0] for word in (" os", " le", " event", " source")]
    start = [tokenizer.control_id("<eos>"), *[tokenizer.control_id("<file>")] * 4]
    for seed in range(count):
        rng = random.Random(seed)
        yield [*start, *(rng.choice(words[: rng.choice([2, 3])]) for _ in range(rng.choice([12, 16, 20, 24])))]


@pytest.fixture(scope="session")
def eos(tokenizer: TextTokenizer) -> int:
    return tokenizer.control_id("<eos>")


def follow(predicted: Sequence[int], k: int = K) -> DraftRequest:
    """Draft from a predicted text."""
    regions = (DraftRegion(len(predicted), SourceKind.KEPT),) if predicted else ()
    return DraftRequest(predicted=tuple(predicted), regions=regions, max_draft_tokens=k)


def goodness_of_fit(counts: Counter[Cell], expected: Mapping[Cell, float]) -> float:
    """The p-value of a chi-square test of counts against probabilities; cells expected below 5 are pooled."""
    total = sum(counts.values())
    cells: list[tuple[float, float]] = []
    pooled = [0.0, 0.0]
    for key, probability in expected.items():
        if total * probability < 5:
            pooled[0] += counts[key]
            pooled[1] += total * probability
        else:
            cells.append((counts[key], total * probability))
    if pooled[1] > 1:
        cells.append((pooled[0], pooled[1]))
    return tail(sum((seen - e) ** 2 / e for seen, e in cells), len(cells) - 1)


def tail(statistic: float, freedom: int) -> float:
    half = torch.tensor([freedom / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))
