"""Decodes edits on one engine, by the service's own validation and pipeline, with and without drafting."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from evals.corpus.cases import Case
from evals.identity.engine import Decoded, Likeliest
from evals.identity.traces import Trace
from service.client import DraftOptions
from service.client_codec import unary_request
from service.config import Settings
from service.engine.base import Engine, GenerateRequest
from service.errors import EditNotApplicable, InvalidRequest, RedraftError, ResultRejected
from service.pipeline import Pipeline
from service.prompts.base import PromptFormat
from service.validate import Limits, validate


class Recorder(Engine, Protocol):
    """What is needed of an engine here; see engine.RecordingEngine, the real one."""

    def take(self, request_id: str) -> Decoded | None: ...

    async def likeliest(self, request: GenerateRequest, prefix: Sequence[int]) -> Likeliest | None: ...


@dataclass(frozen=True, slots=True)
class Run:
    """One decoding. request: what the engine was asked, for asking again. drafted_tokens: proposed by the drafter."""

    trace: Trace
    request: GenerateRequest


class Refused(Exception):
    """The edit does not get as far as the model, whatever drafts. reason: ErrorInfo.reason of the service."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Decoder:
    """Runs cases; any number may be in flight."""

    def __init__(self, engine: Recorder, prompt_format: PromptFormat, settings: Settings) -> None:
        self._engine = engine
        self._pipeline = Pipeline(engine, prompt_format, settings)
        self._limits = Limits.of(settings)
        self._serial = itertools.count()

    async def decode(self, case: Case, *, drafted: bool) -> Run:
        """Raises Refused, and EngineUnavailable when the engine fails."""
        request_id = f"identity-{next(self._serial)}"
        call = replace(case.call(), draft=DraftOptions(enabled=drafted))
        status = "OK"
        try:
            request = validate(unary_request(call), request_id=request_id, limits=self._limits)
            async with aclosing(self._pipeline.apply(request)) as events:
                async for _ in events:
                    pass
        except (EditNotApplicable, InvalidRequest, ResultRejected) as error:
            status = _reason(error)
        decoded = self._engine.take(request_id)
        if decoded is None:
            raise Refused(status)
        trace = Trace(decoded.tokens, status, decoded.emitted, decoded.drafts, decoded.whole)
        return Run(trace, decoded.request)


def _reason(error: RedraftError) -> str:
    if isinstance(error, InvalidRequest) and len({violation.reason for violation in error.violations}) == 1:
        return error.violations[0].reason
    return error.reason
