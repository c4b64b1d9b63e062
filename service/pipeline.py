"""One request from the plan to the result: align, prompt, generate, cut, guard, finish."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final, TypeVar, cast

from drafts.align import plan_edit
from drafts.align.plan import Instruction, Plan, SearchReplace
from drafts.core.types import DraftReport
from service import request_facts
from service.config import Settings
from service.engine.base import Engine, FinishReason, GenerateRequest, Output
from service.errors import EngineUnavailable, FieldViolation, InvalidRequest, ResultRejected
from service.finish import hunks
from service.merge import is_placed, merge
from service.prompts.base import PromptFormat, RenderedPrompt
from service.request_facts import PhaseName, Placement
from service.types import ApplyRequest, ApplyResult, Event, RequestClass, TextChunk, Timing

# Below this a thread costs more than the work it takes off the event loop. Bytes of file and edit.
_INLINE_BYTES = 16_384
# Tokens to spare over the expected answer before a request is taken on: a result a little longer must fit.
_CONTEXT_MARGIN = 64
# The budget of an answer whose caller sets none: room for a result that the plan underestimates.
_BUDGET_FACTOR, _BUDGET_EXTRA = 1.5, 256
_PRIORITIES: Final = {RequestClass.INTERACTIVE: 0, RequestClass.BATCH: 1}

_T = TypeVar("_T")


class Pipeline:
    """Applies requests on one engine. Stateless between requests; any number may run at once."""

    def __init__(self, engine: Engine, prompt_format: PromptFormat, settings: Settings) -> None:
        self._engine = engine
        self._format = prompt_format
        self._settings = settings

    async def apply(self, request: ApplyRequest) -> AsyncGenerator[Event, None]:
        """TextChunks whose bytes are the result, then one ApplyResult. Closing it early aborts the engine's request.

        Raises InvalidRequest (reason OVER_CONTEXT), EditNotApplicable, ResultRejected, and what the engine raises.
        A failure may come after chunks: the text is a result only once the ApplyResult has come.
        """
        started = time.monotonic()
        facts = request_facts.current()
        size = len(request.file.data) + _edit_bytes(request)
        facts.placement = Placement.FAILED
        with facts.phase(PhaseName.ALIGN):
            plan = await _off_loop(size, lambda: plan_edit(request.file.text, request.edit, request.file.language))
        facts.placement = _placement(request, plan)
        align_seconds = time.monotonic() - started
        prompt = await _off_loop(size, lambda: self._format.render(request, plan))
        budget = self._budget(request, prompt)

        merged = await _off_loop(size, lambda: merge(request, plan, prompt.new_answer(), self._settings.agreement))
        written: list[bytes] = []
        last: Output | None = None
        output_tokens = 0
        first_text = 0.0
        generate = self._generate_request(request, prompt, budget)
        outputs = cast(AsyncGenerator[Output, None], self._engine.generate(generate))
        with facts.generating(len(prompt.token_ids), budget):
            async with aclosing(outputs):
                async for output in outputs:
                    last = output
                    output_tokens += len(output.token_ids)
                    facts.output(len(output.token_ids), output.queue_seconds)
                    data = merged.feed(output.token_ids)
                    if data:
                        first_text = first_text or time.monotonic() - started
                        facts.text()
                        written.append(data)
                        yield TextChunk(data)
        if last is None or last.finish_reason is None:
            raise EngineUnavailable("the engine ended the answer without a reason; try again")
        report = facts.report = last.report or _plain_report(output_tokens)
        cut = _over_budget(request, budget) if last.finish_reason is FinishReason.LENGTH else None
        with facts.phase(PhaseName.GUARD):
            rest, agreement = await _off_loop(size, lambda: merged.finish(cut))
        facts.agreement = agreement
        if rest:
            first_text = first_text or time.monotonic() - started
            facts.text()
            written.append(rest)
            yield TextChunk(rest)
        data = b"".join(written)
        changed = await _off_loop(size, lambda: hunks(request.file.data, data))
        yield ApplyResult(
            data=data,
            hunks=changed,
            stop_reason=merged.stop_reason,
            plan=plan,
            agreement=agreement,
            prompt_tokens=len(prompt.token_ids),
            output_tokens=output_tokens,
            report=report,
            timing=Timing(
                align=align_seconds,
                queue=last.queue_seconds,
                first_text=first_text,
                total=time.monotonic() - started,
            ),
            model=self._settings.model.name,
        )

    def _budget(self, request: ApplyRequest, prompt: RenderedPrompt) -> int:
        """Output tokens to allow. Raises InvalidRequest when prompt and expected answer do not fit the context."""
        limit = self._engine.max_model_len
        expected = len(prompt.expected.token_ids) + 1  # and the token that ends it
        needed = len(prompt.token_ids) + expected + _CONTEXT_MARGIN
        if needed > limit:
            raise InvalidRequest(
                [
                    FieldViolation(
                        field="file.content",
                        reason="OVER_CONTEXT",
                        description=(
                            f"needs {needed} tokens ({len(prompt.token_ids)} of prompt, {expected} of expected answer, "
                            f"{_CONTEXT_MARGIN} to spare) and the model's context is {limit}; send a smaller file, or "
                            "a part of it"
                        ),
                    )
                ]
            )
        asked = request.sampling.max_output_tokens
        budget = asked if asked is not None else int(expected * _BUDGET_FACTOR) + _BUDGET_EXTRA
        return min(budget, limit - len(prompt.token_ids))

    def _generate_request(self, request: ApplyRequest, prompt: RenderedPrompt, budget: int) -> GenerateRequest:
        drafting = self._settings.drafting
        asked = request.draft.max_draft_tokens
        k = drafting.max_draft_tokens if asked is None else min(asked, drafting.max_draft_tokens)
        drafts = drafting.enabled and request.draft.enabled and k > 0
        return GenerateRequest(
            request_id=request.request_id,
            prompt=prompt.token_ids,
            max_tokens=budget,
            temperature=request.sampling.temperature,
            seed=request.sampling.seed,
            stop_token_ids=prompt.stop_token_ids,
            draft=prompt.draft_request(k) if drafts else None,
            priority=_PRIORITIES[request.request_class],
        )


async def _off_loop(size: int, work: Callable[[], _T]) -> _T:
    """Runs blocking work, in a thread when there is much of it, so that other requests keep streaming."""
    return await asyncio.to_thread(work) if size > _INLINE_BYTES else work()


def _placement(request: ApplyRequest, plan: Plan) -> Placement:
    if isinstance(request.edit, Instruction):
        return Placement.INSTRUCTION
    return Placement.PLACED if is_placed(request, plan) else Placement.UNPLACED


def _edit_bytes(request: ApplyRequest) -> int:
    edit = request.edit
    if isinstance(edit, SearchReplace):
        return sum(len(block.search) + len(block.replace) for block in edit.blocks)
    return len(edit.text)


def _over_budget(request: ApplyRequest, budget: int) -> ResultRejected:
    callers_own = request.sampling.max_output_tokens == budget
    advice = "raise max_output_tokens, or leave it unset" if callers_own else "apply the edit in smaller parts"
    return ResultRejected(
        f"the result was cut after {budget} output tokens, so it is not the whole file; {advice}",
        reason="RESULT_TRUNCATED",
    )


def _plain_report(output_tokens: int) -> DraftReport:
    """Plain decoding takes one pass a token, the one that ends the output included."""
    passes = output_tokens + 1
    return DraftReport(target_passes=passes, output_tokens=passes, draft_lengths={0: passes})
