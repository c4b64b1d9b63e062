from __future__ import annotations

from pathlib import Path

import pytest

from drafts.core.types import DraftReport
from service.config import DraftingConfig
from service.drafter_config import (
    CopyDrafterConfig,
    DrafterConfig,
    DraftModelConfig,
    EagleDrafterConfig,
    MtpDrafterConfig,
    NgramDrafterConfig,
    NoDrafterConfig,
    SuffixDrafterConfig,
)
from service.engine.speculative import PROPOSER, WORKER, at_least, draft_report, engine_arguments, speculative_config


@pytest.mark.parametrize(
    ("drafter", "k", "expected"),
    [
        (CopyDrafterConfig(), 32, {"method": "custom_class", "model": PROPOSER, "num_speculative_tokens": 32}),
        (
            NgramDrafterConfig(min_n=3, max_n=5),
            16,
            {"method": "ngram", "num_speculative_tokens": 16, "prompt_lookup_min": 3, "prompt_lookup_max": 5},
        ),
        (
            SuffixDrafterConfig(max_tree_depth=64, max_cached_requests=0, max_spec_factor=8.0, min_token_prob=0.2),
            100,
            {
                "method": "suffix",
                "num_speculative_tokens": 100,
                "suffix_decoding_max_tree_depth": 64,
                "suffix_decoding_max_cached_requests": 0,
                "suffix_decoding_max_spec_factor": 8.0,
                "suffix_decoding_min_token_prob": 0.2,
            },
        ),
        (
            DraftModelConfig(path=Path("/m/small")),
            128,
            {"method": "draft_model", "model": "/m/small", "num_speculative_tokens": 4},
        ),
        (
            EagleDrafterConfig(path=Path("/m/head"), version="eagle", length=6),
            5,
            {"method": "eagle", "model": "/m/head", "num_speculative_tokens": 5},
        ),
        (
            EagleDrafterConfig(path=Path("/m/head")),
            128,
            {"method": "eagle3", "model": "/m/head", "num_speculative_tokens": 4},
        ),
        (MtpDrafterConfig(length=2), 128, {"method": "mtp", "num_speculative_tokens": 2}),
        (NoDrafterConfig(), 128, None),
        (DraftModelConfig(path=Path("/m/small"), length=0), 128, None),
    ],
)
def test_each_kind_in_vllm_s_words(drafter: DrafterConfig, k: int, expected: dict[str, object] | None) -> None:
    assert speculative_config(DraftingConfig(max_draft_tokens=k, drafter=drafter)) == expected
    assert speculative_config(DraftingConfig(enabled=False, max_draft_tokens=k, drafter=drafter)) is None


def test_plain_decoding_asks_for_nothing() -> None:
    assert engine_arguments(DraftingConfig(drafter=NoDrafterConfig())) == {}
    assert engine_arguments(DraftingConfig(enabled=False)) == {}


def test_only_our_drafter_reports_for_itself() -> None:
    copy = engine_arguments(DraftingConfig(drafter=CopyDrafterConfig(cost_ratio=0.01)))
    assert copy["additional_config"]["redraft"].items() >= {"cost_ratio": 0.01, "fit_cost": False}.items()
    assert "kind" not in copy["additional_config"]["redraft"]
    assert "per_request_spec_decode_metrics" not in copy
    ngram = engine_arguments(DraftingConfig(drafter=NgramDrafterConfig()))
    assert "additional_config" not in ngram
    assert ngram["per_request_spec_decode_metrics"] == "detailed"
    # Both need its right kernel for sampled drafts.
    assert copy["worker_cls"] == ngram["worker_cls"] == WORKER


@pytest.mark.parametrize(
    ("tokens", "drafted", "accepted", "expected"),
    [
        # The prompt's pass, then nothing but plain ones.
        (5, [], [], DraftReport(5, 5, draft_lengths={0: 5})),
        # 1 + (2 + 1) + (0 + 1) + 1 plain
        (6, [4, 4], [2, 0], DraftReport(4, 6, drafted=8, accepted=2, rejected=6, draft_lengths={0: 2, 4: 2})),
        (4, [8], [2], DraftReport(2, 4, drafted=8, accepted=2, rejected=6, draft_lengths={0: 1, 8: 1})),
        # vLLM accepted 8, but the output holds 3 of them: the others are neither accepted nor rejected.
        (5, [8], [8], DraftReport(2, 5, drafted=8, accepted=3, rejected=0, draft_lengths={0: 1, 8: 1})),
        (2, [8], [8], DraftReport(2, 2, drafted=8, accepted=0, rejected=0, draft_lengths={0: 1, 8: 1})),
    ],
)
def test_a_report_from_vllm_s_counts(
    tokens: int, drafted: list[int], accepted: list[int], expected: DraftReport
) -> None:
    report = draft_report(tokens, drafted, accepted)
    assert report == expected
    assert report.output_tokens == report.target_passes + report.accepted
    assert sum(report.draft_lengths.values()) == report.target_passes
    assert sum(k * passes for k, passes in report.draft_lengths.items()) == report.drafted


def test_pieces_of_the_output_bound_the_passes() -> None:
    # 1 + (8 + 1), cut after its sixth token, 1 plain pass in between: only the pieces tell of the latter.
    report = draft_report(8, [8], [8])
    assert (report.target_passes, report.accepted) == (2, 6)
    assert at_least(report, 2) is report
    bounded = at_least(report, 3)
    assert (bounded.target_passes, bounded.accepted, bounded.output_tokens) == (3, 5, 8)
    assert bounded.draft_lengths == {0: 2, 8: 1}
    assert (bounded.drafted, bounded.rejected) == (8, 0)
