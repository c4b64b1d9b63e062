"""From the configured drafter to vLLM's arguments, and from vLLM's per-request figures to a report. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from drafts.core.types import DraftReport
from service.config import DraftingConfig
from service.drafter_config import (
    CopyDrafterConfig,
    DraftModelConfig,
    EagleDrafterConfig,
    MtpDrafterConfig,
    NgramDrafterConfig,
    SuffixDrafterConfig,
)

PROPOSER: Final = "drafts.vllm_proposer.CopyProposer"
WORKER: Final = "drafts.vllm_proposer.Worker"


def engine_arguments(drafting: DraftingConfig) -> dict[str, Any]:
    """What of vLLM's engine arguments the drafter decides; empty for plain decoding.

    Every drafter gets our worker: sampled drafts need its right kernel on vLLM's CPU build.
    """
    config = speculative_config(drafting)
    if config is None:
        return {}
    arguments: dict[str, Any] = {"worker_cls": WORKER, "speculative_config": config}
    drafter = drafting.drafter
    if isinstance(drafter, CopyDrafterConfig):
        arguments["additional_config"] = {"redraft": drafter.model_dump(exclude={"kind"})}
    else:
        arguments["per_request_spec_decode_metrics"] = "detailed"
    return arguments


def speculative_config(drafting: DraftingConfig) -> dict[str, Any] | None:
    """vLLM's `speculative_config`; None for plain decoding."""
    if not drafting.enabled:
        return None
    drafter, limit = drafting.drafter, drafting.max_draft_tokens
    match drafter:
        case CopyDrafterConfig():
            return {"method": "custom_class", "model": PROPOSER, "num_speculative_tokens": limit}
        case NgramDrafterConfig():
            return {
                "method": "ngram",
                "num_speculative_tokens": limit,
                "prompt_lookup_min": drafter.min_n,
                "prompt_lookup_max": drafter.max_n,
            }
        case SuffixDrafterConfig():
            return {
                "method": "suffix",
                "num_speculative_tokens": limit,
                "suffix_decoding_max_tree_depth": drafter.max_tree_depth,
                "suffix_decoding_max_cached_requests": drafter.max_cached_requests,
                "suffix_decoding_max_spec_factor": drafter.max_spec_factor,
                "suffix_decoding_min_token_prob": drafter.min_token_prob,
            }
        case DraftModelConfig(length=0):
            return None
        case DraftModelConfig():
            return {
                "method": "draft_model",
                "model": str(drafter.path),
                "num_speculative_tokens": min(drafter.length, limit),
            }
        case EagleDrafterConfig():
            return {
                "method": drafter.version,
                "model": str(drafter.path),
                "num_speculative_tokens": min(drafter.length, limit),
            }
        case MtpDrafterConfig():
            return {"method": "mtp", "num_speculative_tokens": min(drafter.length, limit)}
        case _:
            return None


def draft_report(tokens: int, drafted: Sequence[int], accepted: Sequence[int]) -> DraftReport:
    """The report of a request whose drafter is vLLM's own.

    tokens: of the output, the stop token included. drafted, accepted: vLLM's counts for each pass that had a draft, in
    order. vLLM does not say which passes had none, so they are what is left of the output. It accepts a draft that runs
    past the end of the output whole; how much of that the output holds is known only where it could not be otherwise,
    so `accepted` may be too high, and `target_passes` too low, by at most the draft of the last pass: see `at_least`.
    Regions and the drafter's own time are not known: the report has none.
    """
    # Each pass adds a token of its own, and the first pass, over the prompt, has no draft.
    kept = max(min(sum(accepted), tokens - 1 - len(drafted)), 0)
    passes = tokens - kept
    lengths = Counter(drafted)
    lengths[0] += passes - len(drafted)
    return DraftReport(
        target_passes=passes,
        output_tokens=tokens,
        drafted=sum(drafted),
        accepted=kept,
        rejected=sum(drafted) - sum(accepted),
        draft_lengths=dict(sorted(lengths.items())),
    )


def at_least(report: DraftReport, passes: int) -> DraftReport:
    """A report of `draft_report`, given that the output came in `passes` pieces: no pass comes in two."""
    missing = min(max(passes - report.target_passes, 0), report.accepted)
    if missing == 0:
        return report
    lengths = Counter(report.draft_lengths)
    lengths[0] += missing
    return replace(
        report,
        target_passes=report.target_passes + missing,
        accepted=report.accepted - missing,
        draft_lengths=dict(sorted(lengths.items())),
    )
