"""The real engine: vLLM's AsyncLLM, its core and workers in processes of their own."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import os
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

import structlog

from drafts.core.types import DraftReport
from drafts.payload import decode_report, encode
from service.config import DraftingConfig, EngineConfig, ModelConfig
from service.engine import cpu_process, vllm_logging
from service.engine.base import FinishReason, GenerateRequest, Output
from service.engine.drafter_checks import check_drafter
from service.engine.report_desk import ReportDesk, answer_or_give_up
from service.engine.speculative import at_least, draft_report, engine_arguments, speculative_config
from service.errors import EngineUnavailable

if TYPE_CHECKING:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.outputs import CompletionOutput, RequestOutput
    from vllm.v1.engine.async_llm import AsyncLLM

_log = structlog.get_logger("redraft")

_SHUTDOWN_SECONDS = 10.0
_MAX_CAUSE = 400


def environment(engine: EngineConfig) -> dict[str, str]:
    """Variables that vLLM reads when it is imported or started. Those already set by the operator win, but for the
    model runner: drafting by a class of ours exists on V1 only, and a fair baseline runs on the same one."""
    variables = {
        "VLLM_CPU_KVCACHE_SPACE": str(engine.kv_cache_gib),
        "VLLM_LOGGING_LEVEL": "WARNING",
        "VLLM_NO_USAGE_STATS": "1",
        # A forked engine would inherit the locks of this process's threads (gRPC's, the metrics') as they are, and its
        # open ports.
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    }
    if engine.cpu_threads is not None:
        variables["OMP_NUM_THREADS"] = str(engine.cpu_threads)
        variables["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"
    return {
        **{name: value for name, value in variables.items() if name not in os.environ},
        "VLLM_USE_V2_MODEL_RUNNER": "0",
    }


def use_cpus(engine: EngineConfig, tensor_parallel_size: int) -> dict[str, Any]:
    """vLLM's engine arguments for where a model on CPUs runs, and the environment set for it; nothing elsewhere.

    Before vLLM's processes are started: they inherit the environment. See cpu_process.
    """
    from vllm.platforms import current_platform
    from vllm.utils.cpu_resource_utils import get_allowed_cpu_list

    if not current_platform.is_cpu():
        return {}
    cores = len({cpu.physical_core for cpu in get_allowed_cpu_list()})
    arguments, variables = cpu_process.arguments_and_variables(
        engine, cores=cores, tensor_parallel_size=tensor_parallel_size, variables=os.environ
    )
    os.environ.update(variables)
    return arguments


class VllmEngine:
    """An Engine on vLLM. `start` loads the model; it takes seconds, and half a minute more when compiling.

    With drafting.drafter.kind "copy", each request says whether and from what it drafts. With any other, the whole
    engine does, and the requests' own drafts are ignored.
    """

    def __init__(self, model: ModelConfig, engine: EngineConfig, drafting: DraftingConfig) -> None:
        self._model = model
        self._engine = engine
        self._drafting = drafting
        # None decodes plainly, however that was asked for.
        self._speculation = speculative_config(drafting)
        self._method = "none" if self._speculation is None else drafting.method
        self._llm: AsyncLLM | None = None
        self._max_model_len = 0
        self._end_token: int | None = None
        self._serial = itertools.count()
        self._reports = ReportDesk(self.fetch_reports)

    @property
    def max_model_len(self) -> int:
        """Tokens of prompt and output together; 0 before `start`. With a drafter of its own, vLLM verifies no draft
        within k tokens of its limit and drafts zeros there instead, so then the last k tokens are not given out."""
        return self._max_model_len

    @property
    def end_token(self) -> int | None:
        """The token with which the model ends a text, once started; None when its tokenizer names none."""
        return self._end_token

    @property
    def llm(self) -> AsyncLLM:
        """vLLM's own engine, for what the service has no use for. Raises EngineUnavailable before `start`."""
        return self._running()

    async def start(self) -> None:
        """Raises DrafterError (a ConfigError) for a drafter that cannot be used, else EngineUnavailable, saying which
        settings to look at. Not bounded in time: the caller is, who can end the process; a thread in the middle of
        vLLM's start cannot be interrupted."""
        await asyncio.to_thread(check_drafter, self._model, self._drafting)
        os.environ.update(environment(self._engine))
        os.environ.update(vllm_logging.environment(os.environ))
        try:
            # Importing vLLM and starting its processes blocks for seconds: not on the event loop. The engine's own
            # tasks start on the loop with the first request.
            self._llm = await asyncio.to_thread(self._build)
        except Exception as error:
            # Weights, memory, data types, configuration: vLLM raises whatever the place at fault raises.
            raise start_failure(error, drafter=self._method) from error
        reserve = 0
        if self._speculation is not None and self._method != "copy":
            reserve = int(self._speculation["num_speculative_tokens"])
        self._max_model_len = int(self._llm.model_config.max_model_len) - reserve
        if self._max_model_len <= 0:
            limit = self._llm.model_config.max_model_len
            await self.close()
            raise EngineUnavailable(
                f"a draft takes {reserve} tokens, but the model {limit} in all: lower drafting.max_draft_tokens"
            )
        self._end_token = self._llm.get_tokenizer().eos_token_id
        self._tell_rounding(self._llm)

    def _tell_rounding(self, llm: AsyncLLM) -> None:
        """vLLM says it below the level that is logged, and it changes texts."""
        made, run = (
            str(dtype).removeprefix("torch.") for dtype in (llm.model_config.hf_config.dtype, llm.model_config.dtype)
        )
        if self._model.dtype == "auto" and made == "float32" and run != made:
            _log.warning("the model's float32 weights run rounded", dtype=run, advice="set model.dtype to float32")

    def _build(self) -> AsyncLLM:
        from vllm.v1.engine.async_llm import AsyncLLM

        return AsyncLLM.from_engine_args(self._arguments())

    def _arguments(self) -> AsyncEngineArgs:
        from vllm.engine.arg_utils import AsyncEngineArgs

        model, engine = self._model, self._engine
        arguments = engine_arguments(self._drafting) | use_cpus(engine, model.tensor_parallel_size)
        if model.max_model_len is not None:
            arguments["max_model_len"] = model.max_model_len
        return AsyncEngineArgs(
            model=str(model.path),
            served_model_name=model.name,
            dtype=model.dtype,
            tensor_parallel_size=model.tensor_parallel_size,
            max_num_seqs=engine.max_num_seqs,
            max_num_batched_tokens=engine.max_num_batched_tokens,
            enforce_eager=engine.enforce_eager,
            enable_prefix_caching=engine.prefix_caching,
            async_scheduling=False,
            scheduling_policy="priority",
            enable_log_requests=False,
            seed=0,
            **arguments,
        )

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Output]:
        """Raises ValueError for a request that cannot fit, EngineUnavailable when the engine fails."""
        from vllm.inputs import tokens_input
        from vllm.sampling_params import RequestOutputKind, SamplingParams
        from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError

        llm = self._running()
        if not request.prompt or request.max_tokens < 1:
            raise ValueError("a request needs a prompt and at least one token of output")
        if len(request.prompt) + request.max_tokens > self._max_model_len:
            raise ValueError(
                f"{len(request.prompt)} prompt tokens and max_tokens {request.max_tokens} exceed the engine's "
                f"max_model_len of {self._max_model_len}"
            )
        key = f"{request.request_id}#{next(self._serial)}"
        params = SamplingParams(
            temperature=request.temperature,
            seed=request.seed,
            max_tokens=request.max_tokens,
            stop_token_ids=list(request.stop_token_ids),
            detokenize=False,
            output_kind=RequestOutputKind.DELTA,
            extra_args=self._payload(request, key),
        )
        prompt = tokens_input(list(request.prompt))
        stream = llm.generate(prompt, params, request_id=key, priority=request.priority)
        emitted = pieces = 0
        try:
            # aclosing: when the caller closes this iterator, vLLM's is closed too, which aborts the request.
            async with contextlib.aclosing(stream):
                async for result in stream:
                    completion = result.outputs[0]
                    tokens = list(completion.token_ids)
                    emitted += len(tokens)
                    pieces += bool(tokens)
                    if not result.finished:
                        yield Output(tokens, queue_seconds=_queue_seconds(result))
                        continue
                    reason = _finish_reason(completion)
                    if reason is FinishReason.STOP:
                        tokens.pop()
                    report = await self._report(key, completion, emitted)
                    if self._method != "copy":
                        report = at_least(report, pieces)
                    yield Output(tokens, reason, report, _queue_seconds(result))
        except (EngineDeadError, EngineGenerateError) as error:
            raise EngineUnavailable("the engine stopped while the request ran; retry once it has restarted") from error

    async def check_health(self) -> None:
        from vllm.v1.engine.exceptions import EngineDeadError

        try:
            await self._running().check_health()
        except EngineDeadError as error:
            raise EngineUnavailable("the engine has stopped; retry once it has restarted") from error

    async def close(self) -> None:
        llm, self._llm = self._llm, None
        if llm is not None:
            await asyncio.to_thread(llm.shutdown, _SHUTDOWN_SECONDS)
            # vLLM's client sits in reference cycles and complains when it is collected at the interpreter's exit.
            del llm
            gc.collect()
        vllm_logging.remove(os.environ)

    async def draft_stats(self) -> Mapping[str, float]:
        """Requests and reports that the drafter holds, its failures and its cost ratio; empty without it."""
        if self._method != "copy":
            return {}
        workers = await self._call("draft_stats")
        stats: Mapping[str, float] = workers[0]
        return stats

    async def fetch_reports(self, keys: list[str]) -> dict[str, DraftReport]:
        """Reports of finished requests, each given out once."""
        workers = await self._call("take_draft_reports", (keys,))
        return {key: decode_report(report) for key, report in workers[0].items()}

    async def _call(self, method: str, arguments: tuple[object, ...] = ()) -> list[Any]:
        call = self._running().collective_rpc(method, args=arguments)
        results: list[Any] = await answer_or_give_up(call, self.check_health)
        return results

    def _running(self) -> AsyncLLM:
        if self._llm is None:
            raise EngineUnavailable("the engine is not running: start it first")
        return self._llm

    def _payload(self, request: GenerateRequest, key: str) -> dict[str, Any] | None:
        if self._method != "copy":
            return None
        return encode(request.draft, request.prompt, key)

    async def _report(self, key: str, completion: CompletionOutput, tokens: int) -> DraftReport:
        if self._method == "copy":
            return await self._reports.fetch(key)
        metrics = completion.spec_decode_metrics
        if metrics is None:
            return DraftReport(target_passes=tokens, output_tokens=tokens, draft_lengths={0: tokens})
        return draft_report(tokens, metrics.per_step_drafted, metrics.per_step_accepted)


def _finish_reason(completion: CompletionOutput) -> FinishReason:
    if completion.finish_reason == "stop":
        return FinishReason.STOP
    if completion.finish_reason == "length":
        return FinishReason.LENGTH
    raise EngineUnavailable(f"the engine ended the request early ({completion.finish_reason}); retry")


def _queue_seconds(result: RequestOutput) -> float:
    metrics = result.metrics
    if metrics is None or not metrics.scheduled_ts:
        return 0.0
    return max(float(metrics.scheduled_ts - metrics.queued_ts), 0.0)


_MEMORY = "lower model.max_model_len or engine.max_num_seqs, or set engine.kv_cache_gib to what there is"
_MODEL = (
    "check that model.path is a folder with config.json, whole *.safetensors weights and the tokenizer, and that "
    "model.dtype suits the model and the machine"
)


_DRAFTER = "check that vLLM can draft for this model by drafting.drafter (here {kind}): copy drafts for any"


def start_failure(error: Exception, *, drafter: str = "copy") -> EngineUnavailable:
    """What an operator is told. No request has been let in yet, so vLLM's message holds no caller's text.

    drafter: its kind; one that has a model of its own may be at fault.
    """
    text = " ".join(str(error).split())[:_MAX_CAUSE]
    cause = f"{type(error).__name__}: {text}" if text else type(error).__name__
    # A failure in the core's own process reaches this one without its cause: then it may be either.
    advice = _MEMORY if "memory" in cause.lower() else f"{_MODEL}; if memory ran out, {_MEMORY}"
    if drafter in ("draft_model", "eagle", "mtp"):
        advice = f"{advice}; {_DRAFTER.format(kind=drafter)}"
    return EngineUnavailable(f"the engine did not start: {advice}; what vLLM logged above says more ({cause})")
