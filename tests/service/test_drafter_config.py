"""Drafters by name, from every source of settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.config import ConfigError, DraftingConfig, Settings
from service.drafter_config import (
    CopyDrafterConfig,
    DraftModelConfig,
    EagleDrafterConfig,
    MtpDrafterConfig,
    NgramDrafterConfig,
    NoDrafterConfig,
    SuffixDrafterConfig,
)
from service.flags import merge


def drafting(*assignments: str) -> DraftingConfig:
    return Settings.load(None, merge({}, [f"drafting.{assignment}" for assignment in assignments])).drafting


@pytest.mark.parametrize(
    ("assignments", "expected"),
    [
        ([], CopyDrafterConfig()),
        (["drafter.cost_ratio=0.006"], CopyDrafterConfig(cost_ratio=0.006)),
        (["drafter.kind=copy", "drafter.fit_cost=true"], CopyDrafterConfig(fit_cost=True)),
        (["drafter.kind=ngram", "drafter.max_n=7"], NgramDrafterConfig(max_n=7)),
        (["drafter.kind=suffix", "drafter.max_spec_factor=8"], SuffixDrafterConfig(max_spec_factor=8.0)),
        (["drafter.kind=draft_model", "drafter.path=/models/small"], DraftModelConfig(path=Path("/models/small"))),
        (
            ["drafter.kind=eagle", "drafter.path=h", "drafter.version=eagle"],
            EagleDrafterConfig(path=Path("h"), version="eagle"),
        ),
        (["drafter.kind=mtp", "drafter.length=2"], MtpDrafterConfig(length=2)),
        (["drafter.kind=none"], NoDrafterConfig()),
    ],
)
def test_a_kind_comes_with_its_own_settings(assignments: list[str], expected: object) -> None:
    assert drafting(*assignments).drafter == expected


def test_kind_and_settings_may_come_from_different_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "redraft.toml"
    config.write_text('[drafting]\nmax_draft_tokens = 9\ndrafter.kind = "ngram"\ndrafter.max_n = 3\n')
    monkeypatch.setenv("REDRAFT_DRAFTING__DRAFTER__MIN_N", "3")
    settings = Settings.load(config, merge({}, ["drafting.drafter.max_n=5"]))
    assert settings.drafting == DraftingConfig(max_draft_tokens=9, drafter=NgramDrafterConfig(min_n=3, max_n=5))


@pytest.mark.parametrize(
    ("assignments", "says"),
    [
        (["drafter.kind=eagel"], r"drafting\.drafter: an unknown kind of drafter: it must be copy, ngram, suffix,"),
        (["drafter.kind=ngram", "drafter.cost_ratio=0.1"], r"drafting\.drafter\.ngram\.cost_ratio"),
        (["drafter.kind=ngram", "max_draft_tokens=129"], r"max_draft_tokens is 129, but of a drafter of kind ngram"),
        (["max_draft_tokens=513"], r"drafting\.max_draft_tokens"),
        (["drafter.kind=ngram", "drafter.min_n=5"], r"drafting\.drafter\.ngram.*min_n is 5, more than max_n, 4"),
        (["drafter.kind=draft_model"], r"drafting\.drafter\.draft_model\.path: Field required"),
        (["drafter.kind=eagle"], r"drafting\.drafter\.eagle\.path: Field required"),
        (["drafter.kind=draft_model", "drafter.path=x", "drafter.length=-1"], r"draft_model\.length"),
        (["drafter.kind=mtp", "drafter.length=0"], r"mtp\.length"),
        (["drafter.kind=suffix", "drafter.min_token_prob=2"], r"suffix\.min_token_prob"),
        (["drafter=ngram"], r"drafting\.drafter"),
        (["method=ngram"], r"drafting\.method"),
        (["drafter=ngram", "drafter.min_n=2"], r"together with a setting that it is a part of"),
    ],
)
def test_what_does_not_fit_is_named(assignments: list[str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        drafting(*assignments)
