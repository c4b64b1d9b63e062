"""The service's own engine, which also keeps what it gave: token ids, passes, and log-probabilities when asked.

One of the few adapters that name vllm: the service has no use for log-probabilities, and a run that measures identity
must decode by the very engine that serves.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from drafts.core.types import DraftReport
from service.config import Settings
from service.engine.base import FinishReason, GenerateRequest, Output
from service.engine.vllm import VllmEngine

if TYPE_CHECKING:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.outputs import CompletionOutput


@dataclass(frozen=True, slots=True)
class Decoded:
    """See traces.Trace for all but `request`, which is what was asked of the engine."""

    request: GenerateRequest
    tokens: tuple[int, ...]
    emitted: tuple[int, ...]
    drafts: tuple[tuple[int, int], ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class Likeliest:
    """The two likeliest tokens of one position, the likelier first, and their natural log-probabilities."""

    tokens: tuple[int, int]
    logprobs: tuple[float, float]

    @property
    def margin(self) -> float:
        return self.logprobs[0] - self.logprobs[1]


class RecordingEngine(VllmEngine):
    """An Engine that keeps what it gave, by request_id. Whoever asks it must take it, or it is kept for ever."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.model, settings.engine, settings.drafting)
        self._decoded: dict[str, Decoded] = {}
        self._drafts: dict[str, tuple[tuple[int, int], ...]] = {}

    def take(self, request_id: str) -> Decoded | None:
        """What came of a request, once it is over; None when none of that id has reached the engine."""
        return self._decoded.pop(request_id, None)

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Output]:
        tokens: list[int] = []
        emitted: list[int] = []
        finished = False
        try:
            async with contextlib.aclosing(super().generate(request)) as outputs:
                async for output in outputs:
                    finished = output.finish_reason is not None
                    tokens += output.token_ids
                    ending = output.finish_reason is FinishReason.STOP  # the engine keeps that token to itself
                    if count := len(output.token_ids) + ending:
                        emitted.append(count)
                    yield output
        finally:
            drafts = self._drafts.pop(request.request_id, ())
            decoded = Decoded(request, tuple(tokens), tuple(emitted), drafts, whole=finished)
            self._decoded[request.request_id] = decoded

    async def likeliest(self, request: GenerateRequest, prefix: Sequence[int]) -> Likeliest | None:
        """Decodes a request again, up to the token after `prefix`, and gives the two likeliest tokens there.

        request: with a draft or without; the passes are as wide as its own were. None when the output is no longer
        that prefix, so that there is no such position. The end of the output is a token here.
        """
        from vllm.inputs import tokens_input
        from vllm.sampling_params import RequestOutputKind, SamplingParams

        position = len(prefix)
        key = f"{request.request_id}#likeliest-{position}"
        params = SamplingParams(
            temperature=request.temperature,
            seed=request.seed,
            max_tokens=min(request.max_tokens, position + 1),
            stop_token_ids=list(request.stop_token_ids),
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
            logprobs=2,
            extra_args=self._payload(request, key),
        )
        async for result in self.llm.generate(tokens_input(list(request.prompt)), params, request_id=key):
            if result.finished:
                completion = result.outputs[0]
                if self._method == "copy":
                    await self._reports.fetch(key)
                return _at(completion, prefix)
        return None

    def _arguments(self) -> AsyncEngineArgs:
        arguments = super()._arguments()
        arguments.per_request_spec_decode_metrics = "detailed"
        return arguments

    async def _report(self, key: str, completion: CompletionOutput, tokens: int) -> DraftReport:
        metrics = completion.spec_decode_metrics
        if metrics is not None:
            steps = zip(metrics.per_step_drafted, metrics.per_step_accepted, strict=True)
            self._drafts[key.rpartition("#")[0]] = tuple(steps)
        return await super()._report(key, completion, tokens)


def _at(completion: CompletionOutput, prefix: Sequence[int]) -> Likeliest | None:
    position = len(prefix)
    tokens, logprobs = list(completion.token_ids), completion.logprobs
    if logprobs is None or len(tokens) <= position or tokens[:position] != list(prefix):
        return None
    ranked: dict[int, Any] = dict(logprobs[position])
    best = sorted(ranked, key=lambda token: (-ranked[token].logprob, token))[:2]
    if len(best) < 2:
        return None
    return Likeliest((best[0], best[1]), (float(ranked[best[0]].logprob), float(ranked[best[1]].logprob)))
