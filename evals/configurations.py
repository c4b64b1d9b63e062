"""The ways of decoding that the benchmark compares, by name. Pure.

copy              redraft's own drafter, with the service's own maximum of draft tokens; copy-K with K at most
plain             no drafting
ngram-K           vLLM's own n-gram drafting with K draft tokens
NAME-compiled     the same, with the model compiled instead of run eagerly
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from service.config import MAX_DRAFT_TOKENS, VLLM_DRAFT_TOKENS

Method = Literal["copy", "ngram", "none"]

DEFAULT_CONFIGURATIONS = ("copy", "plain", "plain-compiled", "ngram-5", "ngram-16", "ngram-64")

_NAME = re.compile(r"(?:(?P<method>copy|plain)|(?P<limited>copy|ngram)-(?P<k>[1-9]\d{0,2}))(?P<compiled>-compiled)?")
_METHODS: dict[str, Method] = {"copy": "copy", "ngram": "ngram", "plain": "none"}


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to run the service. max_draft_tokens: None leaves the service's own maximum."""

    name: str
    method: Method
    compiled: bool = False
    max_draft_tokens: int | None = None

    def environment(self) -> dict[str, str]:
        """The service's settings for it. Whatever it does not name is the same in every configuration."""
        variables = {
            "REDRAFT_DRAFTING__DRAFTER__KIND": self.method,
            "REDRAFT_ENGINE__ENFORCE_EAGER": "false" if self.compiled else "true",
        }
        if self.max_draft_tokens is not None:
            variables["REDRAFT_DRAFTING__MAX_DRAFT_TOKENS"] = str(self.max_draft_tokens)
        return variables


def parse(name: str) -> Configuration:
    """The configuration of a name. Raises ValueError for a name that none has."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(
            f"no configuration is called {name!r}: use copy, copy-K, plain or ngram-K, with or without -compiled"
        )
    k = int(match["k"]) if match["k"] is not None else None
    method = _METHODS[match["method"] or match["limited"]]
    most = MAX_DRAFT_TOKENS if method == "copy" else VLLM_DRAFT_TOKENS
    if k is not None and k > most:
        raise ValueError(f"{name!r}: the engine verifies at most {most} of these draft tokens in one pass")
    return Configuration(name, method, match["compiled"] is not None, k)


def balanced_order(names: Sequence[str], repeats: int) -> Iterator[tuple[int, str]]:
    """(repeat, name) in the order in which the processes run: forward, then backward, so that a machine that slows
    down or speeds up steadily favours none; each further pair of repeats starts one place later."""
    for repeat in range(repeats):
        shift = (repeat // 2) % len(names)
        order = [*names[shift:], *names[:shift]]
        for name in order if repeat % 2 == 0 else reversed(order):
            yield repeat, name
