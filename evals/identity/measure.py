"""The run: in chunks of a few edits, each decoded in every way before the next chunk begins.

So a run that is cut off has whole edits, and the ways that are compared meet the same state of the machine. Within a
chunk and a concurrency the order is: without drafting, with, and without again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from evals.corpus.cases import Case
from evals.corpus.records import digest
from evals.identity.decode import Decoder, Recorder, Refused, Run
from evals.identity.samples import Difference, IdentitySample, Side
from evals.identity.traces import first_difference, token_at


@dataclass(frozen=True, slots=True)
class Plan:
    """concurrency: requests in flight; each value is a configuration of its own.

    repeats: the first so many edits are decoded a second time without drafting; None repeats them all.
    """

    concurrency: tuple[int, ...]
    repeats: int | None = None

    @property
    def control(self) -> dict[int, int]:
        """For each concurrency another one, at which the control decodes."""
        return {own: next((c for c in self.concurrency if c != own), 8 if own == 1 else 1) for own in self.concurrency}

    @property
    def chunk(self) -> int:
        return 2 * max(*self.concurrency, *self.control.values())


@dataclass(frozen=True, slots=True)
class Chunk:
    """What some edits showed. refused: case id -> reason, of those that no engine was asked for."""

    samples: tuple[IdentitySample, ...]
    refused: dict[str, str]


async def measure(
    cases: Sequence[Case],
    decoder: Decoder,
    engine: Recorder,
    plan: Plan,
    *,
    text: Callable[[int], bytes],
    advance: Callable[[int], None] = lambda decodings: None,
) -> AsyncGenerator[Chunk]:
    """Yields chunk after chunk. text: the bytes of a token. advance: told of every decoding that is done.

    Raises EngineUnavailable when the engine fails.
    """
    for start in range(0, len(cases), plan.chunk):
        part = cases[start : start + plan.chunk]
        left = len(part) if plan.repeats is None else min(len(part), max(0, plan.repeats - start))
        yield await _Chunk(part, left, decoder, engine, plan, text, advance).run()


def decodings(cases: int, plan: Plan) -> int:
    """How often `advance` will be told of one, for a progress bar."""
    repeats = cases if plan.repeats is None else min(cases, plan.repeats)
    plain = len({*plan.concurrency, *plan.control.values()})
    return cases * (plain + len(plan.concurrency)) + repeats * len(plan.concurrency)


class _Chunk:
    def __init__(
        self,
        cases: Sequence[Case],
        repeats: int,
        decoder: Decoder,
        engine: Recorder,
        plan: Plan,
        text: Callable[[int], bytes],
        advance: Callable[[int], None],
    ) -> None:
        self._cases = cases
        self._repeats = repeats
        self._decoder = decoder
        self._engine = engine
        self._plan = plan
        self._text = text
        self._advance = advance
        self._refused: dict[str, str] = {}

    async def run(self) -> Chunk:
        plan = self._plan
        plain: dict[int, list[Run | None]] = {}
        drafted: dict[int, list[Run | None]] = {}
        again: dict[int, list[Run | None]] = {}
        for concurrency in (*plan.concurrency, *sorted(set(plan.control.values()) - set(plan.concurrency))):
            plain[concurrency] = await self._decode(self._cases, concurrency, drafted=False)
            if concurrency in plan.concurrency:
                drafted[concurrency] = await self._decode(self._cases, concurrency, drafted=True)
                again[concurrency] = await self._decode(self._cases[: self._repeats], concurrency, drafted=False)
        samples: list[IdentitySample] = []
        for own, other in plan.control.items():
            for index, case in enumerate(self._cases):
                one, two, elsewhere = plain[own][index], drafted[own][index], plain[other][index]
                if one is None or two is None or elsewhere is None:
                    continue
                repeat = again[own][index] if index < self._repeats else None
                samples.append(await self._sample(case, own, one, two, repeat, elsewhere))
        return Chunk(tuple(samples), self._refused)

    async def _decode(self, cases: Sequence[Case], concurrency: int, *, drafted: bool) -> list[Run | None]:
        gate = asyncio.Semaphore(concurrency)

        async def one(case: Case) -> Run | None:
            async with gate:
                try:
                    return await self._decoder.decode(case, drafted=drafted)
                except Refused as refused:
                    self._refused[case.id] = refused.reason
                    return None
                finally:
                    self._advance(1)

        tasks = [asyncio.create_task(one(case)) for case in cases]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:  # after a failure, and when the run is cut off
                task.cancel()

    async def _sample(
        self, case: Case, concurrency: int, plain: Run, drafted: Run, repeat: Run | None, elsewhere: Run
    ) -> IdentitySample:
        record = case.record
        position = first_difference(plain.trace, drafted.trace)
        return IdentitySample(
            id=record.id,
            form=case.form,
            language=record.language,
            digest=digest(record.before, record.after),
            concurrency=concurrency,
            status=plain.trace.status,
            output_tokens=len(drafted.trace.tokens),
            target_passes=len(drafted.trace.emitted),
            drafted_tokens=sum(count for count, _ in drafted.trace.drafts),
            difference=None if position is None else await self._difference(position, plain, drafted),
            repeated=None if repeat is None else first_difference(plain.trace, repeat.trace) is None,
            elsewhere=first_difference(plain.trace, elsewhere.trace) is None,
        )

    async def _difference(self, position: int, plain: Run, drafted: Run) -> Difference:
        return Difference(
            position=position,
            plain=await self._side(plain, position),
            drafted=await self._side(drafted, position),
            pass_width=drafted.trace.pass_width(position),
            plain_status=plain.trace.status,
            drafted_status=drafted.trace.status,
        )

    async def _side(self, run: Run, position: int) -> Side:
        token = token_at(run.trace, position)
        found = await self._engine.likeliest(run.request, run.trace.tokens[:position])
        return Side(
            token=token,
            text="" if token is None else self._text(token).decode("utf-8", errors="replace"),
            margin=None if found is None else found.margin,
            likeliest=None if found is None else found.tokens,
        )
