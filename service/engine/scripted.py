"""An engine that emits what it is told: for the tests of everything above the engine, here or in other projects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from drafts.core.types import DraftReport
from service.engine.base import FinishReason, GenerateRequest, Output
from service.errors import EngineUnavailable


@dataclass(frozen=True, slots=True)
class Script:
    """What one request gets.

    chunks: token ids, one Output for each. They are cut at the request's max_tokens, with the reason LENGTH, and
    before the first of its stop tokens, with the reason STOP.
    delay: seconds before each chunk.
    fail_after: raise EngineUnavailable after this many chunks, or after the last one; None never fails.
    """

    chunks: Sequence[Sequence[int]] = ()
    finish_reason: FinishReason = FinishReason.STOP
    delay: float = 0.0
    fail_after: int | None = None


@dataclass(slots=True)
class ScriptedEngine:
    """An Engine without a model.

    script: the answer to every request, or a function that chooses it.
    requests, aborted: what was asked, and the ids of the requests that were closed before their end.
    healthy: set it to False to see the engine die: health checks, new and running requests fail from then on.
    """

    script: Script | Callable[[GenerateRequest], Script]
    max_model_len: int = 32_768
    healthy: bool = True
    requests: list[GenerateRequest] = field(default_factory=list)
    aborted: list[str] = field(default_factory=list)

    async def start(self) -> None:
        await self.check_health()

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Output]:
        await self.check_health()
        self.requests.append(request)
        script = self.script if isinstance(self.script, Script) else self.script(request)
        finished = False
        try:
            async for output in self._play(request, script):
                finished = output.finish_reason is not None
                yield output
        except EngineUnavailable:
            finished = True
            raise
        finally:
            if not finished:
                self.aborted.append(request.request_id)

    async def check_health(self) -> None:
        if not self.healthy:
            raise EngineUnavailable("the engine has stopped; retry once it has restarted")

    async def close(self) -> None:
        self.healthy = False

    async def _play(self, request: GenerateRequest, script: Script) -> AsyncIterator[Output]:
        report = DraftReport()
        stops = frozenset(request.stop_token_ids)
        chunks = script.chunks or ((),)
        for index, chunk in enumerate(chunks):
            if index == script.fail_after:
                break
            await asyncio.sleep(script.delay)
            await self.check_health()
            tokens: list[int] = []
            reason: FinishReason | None = None
            for token in chunk:
                report.output_tokens += 1
                if token in stops:
                    reason = FinishReason.STOP
                    break
                tokens.append(token)
                if report.output_tokens >= request.max_tokens:
                    reason = FinishReason.LENGTH
                    break
            report.target_passes += 1
            if reason is None and index == len(chunks) - 1 and script.fail_after is None:
                reason = script.finish_reason
            if reason is not None:
                # One chunk is one pass: what it holds beyond the target's own token counts as drafted and accepted.
                report.accepted = report.drafted = max(report.output_tokens - report.target_passes, 0)
                yield Output(tokens, reason, report)
                return
            yield Output(tokens)
        raise EngineUnavailable("the engine stopped while the request ran; retry")
