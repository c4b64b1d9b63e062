"""Passes of vLLM's own engine, weights made up at random: the adapter."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from evals.stepcost.profile import Cell, StepCostError
from evals.stepcost.proposer import LOG_VARIABLE, WIDTH_VARIABLE
from service.config import EngineConfig
from service.engine.vllm import environment, use_cpus

_PROPOSER = "evals.stepcost.proposer.FixedWidthProposer"


def measure(
    config: Path,
    grid: Sequence[tuple[int, int, int]],
    *,
    repeats: int,
    dtype: str,
    tensor_parallel: int = 1,
    kv_cache_gib: int = 2,
    eager: bool = True,
) -> Iterator[Cell]:
    """grid: (draft tokens, context, batch); at most 512 draft tokens.

    config: a config.json of Hugging Face's, or its folder. No weights are read. Raises StepCostError, before the engine
    starts for contexts that the shape has no room for.
    """
    # vLLM asks for no drafts where a pass's drafts and as many again would not fit below max_model_len.
    widest = max(1, *(draft_tokens for draft_tokens, _, _ in grid))
    room = _generated(repeats) + 2 * (widest + 1)
    longest = max(context for _, context, _ in grid) + room
    file = config / "config.json" if config.is_dir() else config
    limit = json.loads(file.read_bytes()).get("max_position_embeddings")
    if limit is not None and longest > limit:
        raise StepCostError(f"the shape's {limit} positions leave room for a context of {limit - room} at most")
    with tempfile.TemporaryDirectory() as work:
        folder, log, width = (Path(work) / name for name in ("model", "steps", "width"))
        folder.mkdir()
        shutil.copy(file, folder / "config.json")
        settings = EngineConfig(kv_cache_gib=kv_cache_gib)
        os.environ.update(environment(settings))
        os.environ.update({LOG_VARIABLE: str(log), WIDTH_VARIABLE: str(width)})
        from vllm import LLM

        engine = LLM(
            model=str(folder),
            skip_tokenizer_init=True,
            load_format="dummy",
            dtype=cast(Any, dtype),
            tensor_parallel_size=tensor_parallel,
            max_model_len=longest,
            max_num_seqs=max(batch for _, _, batch in grid),
            max_num_batched_tokens=max(8192, max(batch for _, _, batch in grid) * (widest + 1)),
            enforce_eager=eager,
            enable_prefix_caching=True,  # the widths of a context have one prompt: it is read once
            speculative_config={
                "method": "custom_class",
                "model": _PROPOSER,
                "num_speculative_tokens": widest,
            },
            **use_cpus(settings, tensor_parallel),
        )
        try:
            for draft_tokens, context, batch in grid:
                log.write_bytes(b"")
                width.write_text(str(draft_tokens), encoding="ascii")
                yield Cell(draft_tokens, context, batch, _cell(engine, log, draft_tokens, context, batch, repeats))
        finally:
            # Left to the collector, the engine's process may outlive this one's last line, which then waits for it.
            engine.llm_engine.engine_core.shutdown()


def _generated(repeats: int) -> int:
    return repeats + 3  # one of the prefill, one that warms up, one for the end


def _cell(engine: Any, log: Path, draft_tokens: int, context: int, batch: int, repeats: int) -> tuple[float, ...]:
    from vllm import SamplingParams
    from vllm.inputs import TokensPrompt

    tokens = _generated(repeats)
    sampling = SamplingParams(max_tokens=tokens, min_tokens=tokens, ignore_eos=True, temperature=0, detokenize=False)
    prompts = [TokensPrompt(prompt_token_ids=[2 + row] * context) for row in range(batch)]
    engine.generate(prompts, sampling, use_tqdm=False)
    calls = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    full = [batch, draft_tokens, draft_tokens]
    # A pass lies between two calls; it carried the drafts of the first. The first full one warms up.
    spans = [after[0] - before[0] for before, after in itertools.pairwise(calls) if before[1:] == full]
    if len(spans) < 3:
        raise StepCostError(f"only {len(spans)} passes had {draft_tokens} draft tokens at a context of {context}")
    return tuple(spans[1 : repeats + 1])
