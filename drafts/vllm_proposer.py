"""The drafter inside vLLM: a proposer for `speculative_config` method "custom_class", and the worker that binds it.

    --speculative-config '{"method": "custom_class", "model": "drafts.vllm_proposer.CopyProposer",
                           "num_speculative_tokens": 512}'
    --worker-cls drafts.vllm_proposer.Worker
    --additional-config '{"redraft": {"max_batch_draft_tokens": 1024, "cost_ratio": 0.05, "fit_cost": false}}'

vLLM calls `propose` with rows, not with requests. The worker, a subclass of the platform's own, hands the model
runner to the proposer once the model is loaded, so that rows have names and plans (drafts/payload.py). Without that
worker the proposer still drafts, from the token ids alone.

Drafting never breaks serving: what a drafter raises is logged and counted, and that request decodes plainly.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from vllm.config import VllmConfig
from vllm.platforms import current_platform
from vllm.tokenizers.registry import cached_tokenizer_from_config

from drafts.core.copy_drafter import CopyDrafter
from drafts.core.none_drafter import NoneDrafter
from drafts.core.step_budget import share
from drafts.core.step_cost import StepCost
from drafts.core.types import Drafter, DraftReport, DraftRequest
from drafts.payload import decode, encode_report
from drafts.text_tokens import TextTokens
from drafts.vllm_sampler import allow_draft_length, ensure_expansion

if TYPE_CHECKING:
    from vllm.sampling_params import SamplingParams
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner

if TYPE_CHECKING or not current_platform.is_cpu():
    from vllm.v1.worker.gpu_worker import Worker as PlatformWorker
else:
    from vllm.v1.worker.cpu_worker import CPUWorker as PlatformWorker

logger = logging.getLogger(__name__)

_MAX_REPORTS = 4096


@dataclass(slots=True, eq=False)
class _Row:
    """A request's drafting state. seen: output tokens that the drafter has observed."""

    name: str
    key: str | None
    prompt_length: int
    drafter: Drafter
    max_tokens: int
    stop_tokens: frozenset[int] = frozenset()
    seen: int = 0
    ended: bool = False
    reported: bool = False
    draft: list[int] = field(default_factory=list)
    # Only for rows that are known by their tokens (no runner): everything up to the last observed token.
    tokens: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))


class CopyProposer:
    """vLLM's custom proposer. One drafter per request, at most `num_speculative_tokens` a request and a pass."""

    def __init__(self, vllm_config: VllmConfig) -> None:
        speculative = vllm_config.speculative_config
        if speculative is None:
            raise ValueError("CopyProposer needs a speculative_config with method custom_class")
        self._max_draft_tokens = int(speculative.num_speculative_tokens)
        allow_draft_length(self._max_draft_tokens)
        self._max_model_len = int(vllm_config.model_config.max_model_len)
        self._max_rows = int(vllm_config.scheduler_config.max_num_seqs)
        additional = vllm_config.additional_config
        options = dict(additional.get("redraft", {})) if isinstance(additional, dict) else {}
        self._batch_draft_tokens = int(options.pop("max_batch_draft_tokens", 1024))
        self._cost = StepCost(float(options.pop("cost_ratio", 0.05)), fit=bool(options.pop("fit_cost", False)))
        if options:
            raise ValueError(f"unknown keys in additional_config['redraft']: {sorted(options)}")
        self._model_config = vllm_config.model_config
        self._vocabulary = int(vllm_config.model_config.get_vocab_size())
        self._text_tokens: TextTokens | None = None
        self._runner: GPUModelRunner | None = None
        self._rows: OrderedDict[str, _Row] = OrderedDict()
        self._reports: OrderedDict[str, DraftReport] = OrderedDict()
        self._failures = 0
        self._unnamed = 0
        self._step_ended = 0.0
        self._step_rows: frozenset[str] = frozenset()

    def load_model(self, *args: object) -> None:
        """vLLM's hook. There is no draft model to load, but the tokenizer: for predicted texts, and to follow a text by
        its bytes."""
        backend = getattr(cached_tokenizer_from_config(self._model_config), "backend_tokenizer", None)
        if backend is None:
            logger.info("the model has no fast tokenizer: predicted texts are refused, and followed by tokens only")
            return
        self._text_tokens = TextTokens(backend.to_str())

    def bind(self, runner: GPUModelRunner) -> None:
        self._runner = runner
        # vLLM leaves a drafter out, as a draft model must be, where k tokens more than are scheduled may not fit the
        # model's length. A copied draft is cut to the room that there is.
        runner.effective_drafter_max_model_len = self._max_model_len + 2 * (self._max_draft_tokens + 1)

    # -- vLLM's hook -----------------------------------------------------------------------------------------------

    def propose(
        self,
        sampled_token_ids: list[list[int]],
        num_tokens_no_spec: NDArray[np.int32],
        token_ids_cpu: NDArray[np.int32],
        slot_mappings: object = None,
    ) -> list[list[int]]:
        """Draft tokens for every row: at most `num_speculative_tokens` each, none for a prefill chunk.

        sampled_token_ids: the tokens this pass emitted, by row; empty for a prefill chunk.
        num_tokens_no_spec: [rows], length of prompt and output so far, this pass's tokens included.
        token_ids_cpu: [rows, max_model_len].
        """
        began = time.perf_counter()
        self._purge()
        rows: list[_Row | None] = []
        taken: set[str] = set()
        for index, sampled in enumerate(sampled_token_ids):
            total = int(num_tokens_no_spec[index])
            row = self._find_row(index, token_ids_cpu[index], total, len(sampled), taken) if sampled else None
            rows.append(row)
            if row is not None:
                taken.add(row.name)
        self._record_step(rows, began)
        for index, row in enumerate(rows):
            if row is not None:
                self._observe(row, token_ids_cpu[index], int(num_tokens_no_spec[index]), sampled_token_ids[index])
        drafts = self._draft(rows, num_tokens_no_spec)
        self._step_rows = frozenset(taken) if all(row is not None for row in rows) else frozenset()
        self._step_ended = time.perf_counter()
        return drafts

    def _draft(self, rows: Sequence[_Row | None], num_tokens_no_spec: NDArray[np.int32]) -> list[list[int]]:
        active = [(i, row) for i, row in enumerate(rows) if row is not None and not row.ended]
        self._cost.batch_size = max(len(active), 1)
        drafts: list[list[int]] = [[] for _ in rows]
        probing = self._cost.probe_due  # one request is enough, the first that has something to draft
        for i, row in active:
            # The last token of the output, and of the model's length, is always the target's own.
            left = min(row.max_tokens - row.seen, self._max_model_len - int(num_tokens_no_spec[i])) - 1
            limit = max(min(self._max_draft_tokens, left), 0)
            if probing:
                drafts[i] = self._probe(row, limit)
                probing = not drafts[i]
            else:
                drafts[i] = self._propose(row, limit)
        if sum(map(len, drafts)) > self._batch_draft_tokens:
            shares = share([len(draft) for draft in drafts], self._batch_draft_tokens)
            for i, row in active:
                if shares[i] < len(drafts[i]):
                    drafts[i] = self._propose(row, shares[i])
        for i, row in active:
            row.draft = drafts[i]
        return drafts

    # -- drafters, guarded -----------------------------------------------------------------------------------------

    def _observe(self, row: _Row, tokens: NDArray[np.int32], total: int, sampled: list[int]) -> None:
        if row.ended:
            return
        start = row.prompt_length + row.seen
        emitted = sampled
        if not row.stop_tokens.isdisjoint(sampled):
            at = next(i for i, token in enumerate(sampled) if token in row.stop_tokens)
            emitted = sampled[: at + 1]
            row.ended = True
        unseen = tokens[start : total - len(sampled)].tolist() if start < total - len(sampled) else []
        try:
            for missed in _passes(unseen, row.draft):
                row.drafter.observe(missed)
            row.drafter.observe(emitted)
        except Exception as error:  # noqa: BLE001  # logged and counted: drafting never breaks serving
            self._fail(row, error)
        row.seen = total - row.prompt_length
        if self._runner is None:
            row.tokens = tokens[:total].copy()
        if row.ended or row.seen >= row.max_tokens:
            row.ended = True
            self._finish(row)

    def _propose(self, row: _Row, limit: int) -> list[int]:
        try:
            return row.drafter.propose(limit)
        except Exception as error:  # noqa: BLE001  # logged and counted: drafting never breaks serving
            self._fail(row, error)
            return []

    def _probe(self, row: _Row, limit: int) -> list[int]:
        """A narrow draft that is made at any price, to learn the price."""
        with self._cost.probing():
            draft = self._propose(row, min(limit, self._cost.PROBE))
        if draft:
            self._cost.probed(len(draft))
        return draft

    def _fail(self, row: _Row, error: Exception) -> None:
        """A bug in a drafter costs its request the speed-up and nothing else."""
        # Type and place only: an exception's message may hold tokens, which are the caller's text.
        logger.error(
            "drafting failed for request %s: it goes on without draft tokens: %s at %s",
            row.name,
            type(error).__name__,
            " < ".join(f"{f.filename}:{f.lineno}" for f in reversed(traceback.extract_tb(error.__traceback__))),
        )
        self._failures += 1
        row.drafter = NoneDrafter()

    # -- rows ------------------------------------------------------------------------------------------------------

    def _find_row(self, index: int, tokens: NDArray[np.int32], total: int, sampled: int, taken: set[str]) -> _Row:
        if self._runner is None:
            return self._find_unnamed(tokens, total, sampled, taken)
        name = self._runner.input_batch.req_ids[index]
        row = self._rows.get(name)
        if row is None:
            request = self._runner.requests[name]
            length = request.num_prompt_tokens
            prompt = request.prompt_token_ids
            row = self._open(name, tokens[:length].tolist() if prompt is None else prompt, request.sampling_params)
            self._rows[name] = row
        return row

    def _find_unnamed(self, tokens: NDArray[np.int32], total: int, sampled: int, taken: set[str]) -> _Row:
        """Without a runner, a request is whatever continues the tokens of a row seen before."""
        for name, row in reversed(self._rows.items()):
            size = len(row.tokens)
            if name not in taken and size <= total - sampled and np.array_equal(row.tokens, tokens[:size]):
                self._rows.move_to_end(name)
                return row
        self._unnamed += 1
        name = f"unnamed-{self._unnamed}"
        row = self._rows[name] = self._open(name, tokens[: total - sampled].tolist(), None)
        while len(self._rows) > 2 * self._max_rows:
            self._rows.popitem(last=False)
        return row

    def _open(self, name: str, prompt: Sequence[int], params: SamplingParams | None) -> _Row:
        row = _Row(name, None, len(prompt), NoneDrafter(), self._max_model_len)
        if params is not None:
            row.max_tokens = params.max_tokens if params.max_tokens is not None else self._max_model_len
            row.stop_tokens = frozenset(
                (params.stop_token_ids or ()) if params.ignore_eos else params.all_stop_token_ids
            )
            key = (params.extra_args or {}).get("redraft_key")
            row.key = key if isinstance(key, str) else None
        try:
            extra_args, tokenizer = params.extra_args if params is not None else None, self._text_tokens
            payload = decode(extra_args, prompt, self._max_draft_tokens, tokenizer, self._vocabulary)
            request = payload.request or DraftRequest()
            if payload.request is not None and request.max_draft_tokens > 0:
                row.drafter = CopyDrafter(self._cost)
                if tokenizer is not None and tokenizer.known:
                    newlines = request.newline_tokens or tokenizer.newlines
                    request = replace(request, token_bytes=tokenizer.bytes_of, newline_tokens=newlines)
            row.drafter.start(request)
        except Exception as error:  # noqa: BLE001  # logged and counted: drafting never breaks serving
            self._fail(row, error)
        return row

    def _purge(self) -> None:
        """Forget requests that the engine has forgotten: finished, aborted. A preempted one is still the engine's."""
        if self._runner is None:
            return
        known = self._runner.requests
        for name in [name for name in self._rows if name not in known]:
            self._finish(self._rows.pop(name))

    def _finish(self, row: _Row) -> None:
        if row.key is None or row.reported:
            return
        row.reported = True
        self._reports[row.key] = row.drafter.finish()
        while len(self._reports) > _MAX_REPORTS:
            self._reports.popitem(last=False)

    def _record_step(self, rows: Sequence[_Row | None], began: float) -> None:
        """Learn the price of a step from one that only decoded: same requests as before, no prefill."""
        same = all(row is not None and row.name in self._step_rows for row in rows)
        if self._step_rows and same and len(rows) == len(self._step_rows):
            tokens = sum(len(row.draft) for row in rows if row is not None)
            self._cost.record(tokens, began - self._step_ended, self._step_rows)

    # -- for the service -------------------------------------------------------------------------------------------

    def take_reports(self, keys: Sequence[str]) -> dict[str, DraftReport]:
        """Reports of finished requests, each handed out once. Keys that never drafted here are left out."""
        self._purge()
        for row in self._rows.values():
            if row.key in keys:  # finished for the caller; the engine has not told the runner yet
                row.ended = True
                self._finish(row)
        return {key: self._reports.pop(key) for key in keys if key in self._reports}

    def stats(self) -> dict[str, float]:
        """rows and reports held, drafters that failed, and the cost ratio in use."""
        self._purge()
        return {
            "rows": len(self._rows),
            "reports": len(self._reports),
            "failures": self._failures,
            "cost_ratio": self._cost.ratio,
        }


def _passes(tokens: list[int], draft: list[int]) -> Iterator[list[int]]:
    """The passes that emitted `tokens` unseen: vLLM leaves the proposer out near the model's length. The first of
    them verified the last draft, the others had none of ours."""
    accepted = 0
    while accepted < min(len(draft), len(tokens) - 1) and draft[accepted] == tokens[accepted]:
        accepted += 1
    if tokens:
        yield tokens[: accepted + 1]
    for token in tokens[accepted + 1 :]:
        yield [token]


class Worker(PlatformWorker):
    """The platform's own worker, which also binds the proposer to its model runner and answers for it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        ensure_expansion()

    def load_model(self, *args: Any, **kwargs: Any) -> None:
        super().load_model(*args, **kwargs)
        proposer = self._copy_proposer()
        if proposer is not None:
            proposer.bind(self.model_runner)

    def take_draft_reports(self, keys: list[str]) -> dict[str, dict[str, Any]]:
        """For collective_rpc: the reports of these requests (see CopyProposer.take_reports), encoded."""
        proposer = self._copy_proposer()
        if proposer is None:
            return {}
        return {key: encode_report(report) for key, report in proposer.take_reports(keys).items()}

    def draft_stats(self) -> dict[str, float]:
        """For collective_rpc: CopyProposer.stats, empty without the proposer."""
        proposer = self._copy_proposer()
        return {} if proposer is None else proposer.stats()

    def _copy_proposer(self) -> CopyProposer | None:
        drafter = getattr(self.model_runner, "drafter", None)
        return drafter if isinstance(drafter, CopyProposer) else None
