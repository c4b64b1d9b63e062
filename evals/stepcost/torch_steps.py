"""Passes of a randomly initialised model on torch alone, for machines on which vLLM does not run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache

from evals.stepcost.profile import Cell


def measure(
    config: Path, grid: Sequence[tuple[int, int, int]], *, repeats: int, dtype: str, device: str | None = None
) -> Iterator[Cell]:
    """grid: (draft tokens, context, batch). Yields cells in its order. device: None takes a GPU where there is one."""
    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    shape = AutoConfig.from_pretrained(str(config))
    torch.manual_seed(0)
    with place:
        model = AutoModelForCausalLM.from_config(shape, dtype=getattr(torch, dtype)).eval()
    for draft_tokens, context, batch in grid:
        seconds = tuple(_passes(model, draft_tokens, context, batch, repeats, place))
        yield Cell(draft_tokens, context, batch, seconds)


@torch.inference_mode()
def _passes(
    model: torch.nn.Module, draft_tokens: int, context: int, batch: int, repeats: int, place: torch.device
) -> Iterator[float]:
    cache = DynamicCache()
    chunk = 1024
    for start in range(0, context, chunk):
        ids = torch.ones((batch, min(chunk, context - start)), dtype=torch.long, device=place)
        model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
    ids = torch.ones((batch, 1 + draft_tokens), dtype=torch.long, device=place)
    for repeat in range(repeats + 1):
        _wait(place)
        begin = time.perf_counter()
        model(input_ids=ids, past_key_values=cache, use_cache=True)
        _wait(place)
        if repeat:  # the first is a warm-up
            yield time.perf_counter() - begin
        cache.crop(-(1 + draft_tokens))


def _wait(place: torch.device) -> None:
    if place.type == "cuda":
        torch.cuda.synchronize()
