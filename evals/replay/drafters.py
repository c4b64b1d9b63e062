"""The drafters that can be replayed, by name.

    none              plain decoding
    ngram-K           vLLM's n-gram proposer, n-grams of 2 to 4 tokens; ngram-K-MIN-MAX: other lengths
    suffix            arctic-inference's suffix decoding as vLLM configures it by default
    suffix-K-F-D      the same with k = K, at most F draft tokens for each matched one, trees of depth D
    lookup-N-K        transformers' prompt lookup: n-grams of up to N tokens, K draft tokens
    whole-file        all that remains of the original in one draft, as predicted outputs do
    fixed-K           a kept cursor in the original, realigned by n-grams, always K draft tokens: no plan, no structure
    copy-K            redraft's own, k at most K; copy-K-no-plan, -no-structure, -fixed-k, -no-cursor, -no-rewrites:
                      without a part

and groups: `default`, `peers`, `grid` (the peers at many settings), `ours`, `ablation`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from drafts.core.copy_drafter import CopyDrafter
from drafts.core.none_drafter import NoneDrafter
from drafts.core.options import CopyOptions
from drafts.core.step_cost import StepCost
from drafts.core.types import Drafter
from evals.replay.case import ReplayCase
from evals.replay.peers.prompt_lookup import PromptLookup
from evals.replay.peers.suffix import DEFAULT_DEPTH, SuffixDecoding
from evals.replay.peers.vllm_ngram import VllmNgram
from evals.replay.peers.whole_file import WholeFile

UNLIMITED = 1 << 30
NGRAM_KS = (5, 16, 64, 128, 256, 512)
OUR_KS = (128, 512, 4096)
"""What vLLM verifies of its own drafters at most; of ours, and what the peers are given; and most files whole."""

_PEERS = (
    *(f"ngram-{k}" for k in NGRAM_KS),
    "suffix",
    "suffix-128-8-64",
    "suffix-512-16-64",
    "suffix-512-8-512",
    "lookup-3-10",
    "lookup-3-128",
)
_GRID = (
    *(f"ngram-{k}-{low}-{high}" for k in NGRAM_KS for low, high in ((1, 3), (3, 5), (4, 8), (8, 16))),
    *(f"suffix-{k}-{f}-{d}" for k, f in ((64, 4), (128, 4), (128, 8), (256, 8), (512, 16)) for d in (32, 64, 128)),
    *(f"suffix-{k}-{f}-{k}" for k in (256, 512) for f in (4, 8)),
    *(f"lookup-{n}-{k}" for n in (3, 8, 16) for k in (10, 64, 128, 256, 512)),
)
_PLAIN = ("whole-file", *(f"fixed-{k}" for k in (16, 64, 128)))
_OURS = tuple(f"copy-{k}" for k in OUR_KS)
ABLATIONS = ("no-plan", "no-structure", "fixed-k", "no-cursor", "no-rewrites")
_ABLATION = tuple(name for k in OUR_KS for name in (f"copy-{k}", *(f"copy-{k}-{part}" for part in ABLATIONS)))
GROUPS = {
    "default": ("none", *_PEERS, *_PLAIN, *_OURS),
    "peers": _PEERS,
    "grid": tuple(dict.fromkeys((*_PEERS, *_GRID))),
    "ours": _OURS,
    "ablation": _ABLATION,
}

_OPTIONS = {
    "no-plan": replace(CopyOptions(), plan=False),
    "no-structure": replace(CopyOptions(), structure=False),
    "fixed-k": replace(CopyOptions(), adaptive_k=False),
    "no-cursor": replace(CopyOptions(), kept_cursor=False),
    "no-rewrites": replace(CopyOptions(), rewrites=False),
}
_FIXED = CopyOptions(plan=False, structure=False, adaptive_k=False, rewrites=False)


class UnknownDrafterError(ValueError):
    """No drafter has this name; the message lists the names there are."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """A drafter in the replay.

    k: draft tokens in one pass, at most. make: a fresh drafter for one case; the second argument is the cost of a draft
    token in passes. by_cost: whether it drafts otherwise when that cost differs (then it is replayed for each).
    kind: "none", "peer", "plain" (a simple way to do it, of nobody in particular) or "ours".
    """

    name: str
    kind: str
    k: int
    make: Callable[[ReplayCase, float], Drafter]
    by_cost: bool = False


def parse_drafters(names: str) -> tuple[Entrant, ...]:
    """Comma-separated names and groups, each drafter once. Raises UnknownDrafterError."""
    wanted: dict[str, None] = {}
    for name in (part.strip() for part in names.split(",")):
        wanted.update(dict.fromkeys(GROUPS.get(name, (name,))))
    return tuple(entrant(name) for name in wanted)


def entrant(name: str) -> Entrant:
    """Raises UnknownDrafterError."""
    if name == "none":
        return Entrant(name, "none", 0, lambda case, cost: NoneDrafter())
    if name == "whole-file":
        return Entrant(name, "plain", UNLIMITED, lambda case, cost: WholeFile())
    if name == "suffix":
        return Entrant(name, "peer", DEFAULT_DEPTH, lambda case, cost: SuffixDecoding(_prompt(case), case.capacity))
    if (found := re.fullmatch(r"ngram-(\d+)(?:-(\d+)-(\d+))?", name)) is not None:
        return _ngram(name, int(found[1]), int(found[2] or 2), int(found[3] or 4))
    if (found := re.fullmatch(r"suffix-(\d+)-(\d+(?:\.\d+)?)-(\d+)", name)) is not None:
        return _suffix(name, int(found[1]), float(found[2]), int(found[3]))
    if (found := re.fullmatch(r"lookup-(\d+)-(\d+)", name)) is not None:
        return _lookup(name, int(found[1]), int(found[2]))
    if (found := re.fullmatch(r"fixed-(\d+)", name)) is not None:
        return _copy(name, int(found[1]), _FIXED, "plain")
    if (found := re.fullmatch(r"copy-(\d+)(?:-([a-z-]+))?", name)) is not None and found[2] in {None, *_OPTIONS}:
        return _copy(name, int(found[1]), _OPTIONS.get(found[2] or "", CopyOptions()), "ours")
    raise UnknownDrafterError(
        f"there is no drafter {name!r}; use none, ngram-K, ngram-K-MIN-MAX, suffix, suffix-K-FACTOR-DEPTH, lookup-N-K, "
        f"whole-file, fixed-K, copy-K, copy-K-PART (without {', '.join(ABLATIONS)}), or a group: {', '.join(GROUPS)}"
    )


def _prompt(case: ReplayCase) -> Sequence[int]:
    return case.prompt.token_ids


def _positive(name: str, *numbers: float) -> None:
    if not all(number > 0 for number in numbers):
        raise UnknownDrafterError(f"drafter {name!r}: its numbers must be above 0")


def _ngram(name: str, k: int, low: int, high: int) -> Entrant:
    _positive(name, k, low)
    if low > high:
        raise UnknownDrafterError(f"drafter {name!r}: the shortest n-gram is longer than the longest")
    return Entrant(
        name,
        "peer",
        k,
        lambda case, cost: VllmNgram(_prompt(case), case.capacity, min_ngram=low, max_ngram=high),
    )


def _suffix(name: str, k: int, factor: float, depth: int) -> Entrant:
    _positive(name, k, factor, depth)
    return Entrant(
        name, "peer", k, lambda case, cost: SuffixDecoding(_prompt(case), case.capacity, depth=depth, factor=factor)
    )


def _lookup(name: str, n: int, k: int) -> Entrant:
    _positive(name, n, k)
    return Entrant(name, "peer", k, lambda case, cost: PromptLookup(_prompt(case), case.capacity, max_ngram=n, k=k))


def _copy(name: str, k: int, options: CopyOptions, kind: str) -> Entrant:
    _positive(name, k)
    return Entrant(name, kind, k, lambda case, cost: CopyDrafter(StepCost(cost), options), by_cost=options.adaptive_k)
