"""A proposer for vLLM's custom_class hook that drafts a given number of tokens and logs when it was called.

It decodes nothing sensible: what is measured is the time between two calls, a whole step of the engine. The number of
draft tokens stands in a file, so that one engine measures every width, with prompts that it has in its cache already.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Final

from drafts.vllm_sampler import allow_draft_length

WIDTH_VARIABLE: Final = "REDRAFT_STEPCOST_WIDTH"
"""The file that holds the number of draft tokens of a row, in decimal digits."""
LOG_VARIABLE: Final = "REDRAFT_STEPCOST_LOG"
"""The file that gets a JSON line for each call: seconds, rows that decode, most and fewest draft tokens of a row."""


class FixedWidthProposer:
    def __init__(self, vllm_config: Any) -> None:
        self._max_draft_tokens = int(vllm_config.speculative_config.num_speculative_tokens)
        allow_draft_length(self._max_draft_tokens)
        self._max_model_len = int(vllm_config.model_config.max_model_len)
        self._vocabulary = int(vllm_config.model_config.get_vocab_size())
        self._width = Path(os.environ[WIDTH_VARIABLE])
        self._log = os.open(os.environ[LOG_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def load_model(self, *args: Any, **kwargs: Any) -> None:
        del args, kwargs

    def propose(
        self, sampled_token_ids: list[list[int]], num_tokens_no_spec: Any, token_ids_cpu: Any, slot_mappings: Any = None
    ) -> list[list[int]]:
        """Each row that decodes drafts as many tokens as the file says; prefill chunks draft none."""
        del token_ids_cpu, slot_mappings
        width = min(int(self._width.read_text(encoding="ascii")), self._max_draft_tokens)
        drafts: list[list[int]] = []
        for row, sampled in enumerate(sampled_token_ids):
            if not sampled:
                drafts.append([])
                continue
            left = self._max_model_len - int(num_tokens_no_spec[row]) - 1
            k = max(min(width, left), 0)
            # A model with made-up weights repeats itself: another token than the last one is hardly ever right.
            drafts.append([(sampled[-1] + 1) % self._vocabulary] * k)
        rows = [len(draft) for draft, sampled in zip(drafts, sampled_token_ids, strict=True) if sampled]
        call = [time.perf_counter(), len(rows), max(rows, default=0), min(rows, default=0)]
        os.write(self._log, f"{json.dumps(call)}\n".encode())
        return drafts
