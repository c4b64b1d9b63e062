"""What the pipeline needs of an engine. `vllm.py` is the real one, `scripted.py` replays a given output."""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from drafts.core.types import DraftReport, DraftRequest


class FinishReason(enum.Enum):
    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """prompt: token ids. draft: None decodes plainly. priority: lower ones are scheduled first, equal ones in order."""

    request_id: str
    prompt: Sequence[int]
    max_tokens: int
    temperature: float = 0.0
    seed: int | None = None
    stop_token_ids: Sequence[int] = ()
    draft: DraftRequest | None = None
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Output:
    """Tokens of one or more target passes. The last Output has a finish reason; a stop token is not in `token_ids`.

    report: on the last Output only.
    queue_seconds: time between arrival and the first pass; the same on every Output.
    """

    token_ids: Sequence[int]
    finish_reason: FinishReason | None = None
    report: DraftReport | None = None
    queue_seconds: float = 0.0


class Engine(Protocol):
    """Closing the iterator early (cancel, deadline) aborts the engine's request."""

    @property
    def max_model_len(self) -> int: ...

    async def start(self) -> None: ...

    def generate(self, request: GenerateRequest) -> AsyncIterator[Output]: ...

    async def check_health(self) -> None:
        """Raises EngineUnavailable when the engine is dead."""

    async def close(self) -> None: ...
