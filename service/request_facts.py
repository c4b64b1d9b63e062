"""What is known of one request so far: its class, when what happened, what came of it. For metrics and traces.

Pure. Filled where things happen (interceptor, servicer, pipeline), read once by each observer when the request has
ended, however it ended. Sizes, counts, names and times only: never the caller's text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from drafts.core.types import DraftReport
from service.agreement import Agreement
from service.request_class import LabelledClass


class PhaseName(StrEnum):
    """A request's phases, in this order. Queue, prefill and decode overlap with nothing; gaps are the service's own."""

    ALIGN = "align"
    QUEUE = "queue"
    PREFILL = "prefill"
    DECODE = "decode"
    GUARD = "guard"


class Placement(StrEnum):
    """What alignment made of the edit."""

    PLACED = "placed"
    UNPLACED = "unplaced"
    INSTRUCTION = "instruction"
    """An edit that has no place: free text."""
    FAILED = "failed"
    """It raised, or was cancelled."""


@dataclass(frozen=True, slots=True)
class Phase:
    """[start_ns, end_ns) on the clock of RequestFacts. failed: the request ended here."""

    name: PhaseName
    start_ns: int
    end_ns: int
    failed: bool = False

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9


@dataclass(slots=True)
class RequestFacts:
    """Times are nanoseconds of `clock`. A time of None: it has not happened. Counts are of tokens.

    item: one of many requests of one call, which has a span of its own beside theirs.
    language: one of service/languages.py, empty until the request is validated.
    code: the gRPC status's name. reason: OK, the reason of the error, CANCELLED or DEADLINE_EXCEEDED. Both are empty
    while the request runs.
    queue_seconds: from the engine's own clock, None before its first output.
    """

    request_id: str = ""
    method: str = ""
    item: bool = False
    clock: Callable[[], int] = time.monotonic_ns
    labels: LabelledClass = field(default_factory=LabelledClass)
    language: str = ""
    temperature: float = 0.0
    max_tokens: int = 0
    admitted: bool = False
    started_ns: int = 0
    ended_ns: int | None = None
    code: str = ""
    reason: str = ""
    placement: Placement | None = None
    prompt_tokens: int = 0
    generate_ns: int | None = None
    first_output_ns: int | None = None
    first_output_tokens: int = 0
    last_output_ns: int | None = None
    generated_ns: int | None = None
    first_text_ns: int | None = None
    output_tokens: int = 0
    queue_seconds: float | None = None
    report: DraftReport | None = None
    agreement: Agreement | None = None
    _phases: list[Phase] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.started_ns = self.clock()

    # -- what happens ----------------------------------------------------------------------------------------------

    @contextmanager
    def phase(self, name: PhaseName) -> Iterator[None]:
        start = self.clock()
        failed = True
        try:
            yield
            failed = False
        finally:
            self._phases.append(Phase(name, start, self.clock(), failed))

    @contextmanager
    def generating(self, prompt_tokens: int, max_tokens: int) -> Iterator[None]:
        """Spans the engine's work on the request."""
        self.prompt_tokens, self.max_tokens = prompt_tokens, max_tokens
        self.generate_ns = self.clock()
        try:
            yield
        finally:
            self.generated_ns = self.clock()

    def output(self, tokens: int, queue_seconds: float) -> None:
        """The engine gave an output of so many tokens."""
        self.last_output_ns = self.clock()
        if self.first_output_ns is None:
            self.first_output_ns = self.last_output_ns
            self.first_output_tokens = tokens
        self.queue_seconds = max(queue_seconds, self.queue_seconds or 0.0)
        self.output_tokens += tokens

    def text(self) -> None:
        """Text of the result is on its way to the caller."""
        if self.first_text_ns is None:
            self.first_text_ns = self.clock()

    def end(self, code: str, reason: str) -> None:
        self.code, self.reason = code, reason
        self.ended_ns = self.clock()

    # -- what follows from it --------------------------------------------------------------------------------------

    @property
    def waits_for_engine(self) -> bool:
        """Handed to the engine, which has not answered yet: queued, or in its prefill."""
        return self.generate_ns is not None and self.first_output_ns is None and self.generated_ns is None

    @property
    def seconds(self) -> float:
        return ((self.clock() if self.ended_ns is None else self.ended_ns) - self.started_ns) / 1e9

    @property
    def first_text_seconds(self) -> float | None:
        return None if self.first_text_ns is None else (self.first_text_ns - self.started_ns) / 1e9

    @property
    def seconds_per_output_token(self) -> float | None:
        """After the first output: the mean over the request, since one pass may bring many tokens."""
        tokens = self.output_tokens - self.first_output_tokens
        if self.first_output_ns is None or self.last_output_ns is None or tokens <= 0:
            return None
        return (self.last_output_ns - self.first_output_ns) / 1e9 / tokens

    def phases(self) -> list[Phase]:
        """In the order of time. A request that failed before the engine's first output has spent it all in the queue,
        as far as anybody knows."""
        return sorted(self._phases + self._engine_phases(), key=lambda phase: phase.start_ns)

    def _engine_phases(self) -> list[Phase]:
        start, end = self.generate_ns, self.generated_ns
        if start is None or end is None:
            return []
        if self.first_output_ns is None:
            return [Phase(PhaseName.QUEUE, start, end, failed=True)]
        scheduled = min(start + round((self.queue_seconds or 0.0) * 1e9), self.first_output_ns)
        return [
            Phase(PhaseName.QUEUE, start, scheduled),
            Phase(PhaseName.PREFILL, scheduled, self.first_output_ns),
            Phase(PhaseName.DECODE, self.first_output_ns, end, failed=self.report is None),
        ]


class Observer(Protocol):
    """Sees every request once at its start and once at its end, in the task that serves it."""

    def request_started(self, facts: RequestFacts) -> None: ...

    def request_ended(self, facts: RequestFacts) -> None: ...


_CURRENT: Final[ContextVar[RequestFacts]] = ContextVar("request_facts")


def begin(facts: RequestFacts) -> None:
    """Makes `facts` those of the request that the running task serves."""
    _CURRENT.set(facts)


def current() -> RequestFacts:
    """The facts of the request that the running task serves; where none is served, facts that nobody reads."""
    return _CURRENT.get(None) or RequestFacts()
