from __future__ import annotations

from collections import Counter

import pytest

from evals.configurations import DEFAULT_CONFIGURATIONS, Configuration, balanced_order, parse


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("copy", Configuration("copy", "copy")),
        ("plain", Configuration("plain", "none")),
        ("plain-compiled", Configuration("plain-compiled", "none", compiled=True)),
        ("copy-128", Configuration("copy-128", "copy", max_draft_tokens=128)),
        ("ngram-16", Configuration("ngram-16", "ngram", max_draft_tokens=16)),
        ("ngram-5-compiled", Configuration("ngram-5-compiled", "ngram", compiled=True, max_draft_tokens=5)),
    ],
)
def test_a_name_says_how_to_run(name: str, expected: Configuration) -> None:
    assert parse(name) == expected


@pytest.mark.parametrize("name", ["", "ngram", "ngram-0", "ngram-05", "plain-5", "copy-", "compiled", "COPY"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no configuration is called"):
        parse(name)


@pytest.mark.parametrize(("name", "most"), [("copy-513", 512), ("ngram-256-compiled", 128)])
def test_longer_drafts_than_the_engine_takes(name: str, most: int) -> None:
    with pytest.raises(ValueError, match=f"at most {most} of these draft tokens"):
        parse(name)


def test_only_what_differs_is_set() -> None:
    assert parse("plain").environment() == {
        "REDRAFT_DRAFTING__DRAFTER__KIND": "none",
        "REDRAFT_ENGINE__ENFORCE_EAGER": "true",
    }
    assert parse("ngram-64-compiled").environment() == {
        "REDRAFT_DRAFTING__DRAFTER__KIND": "ngram",
        "REDRAFT_ENGINE__ENFORCE_EAGER": "false",
        "REDRAFT_DRAFTING__MAX_DRAFT_TOKENS": "64",
    }


def test_two_repeats_run_there_and_back() -> None:
    order = list(balanced_order(["a", "b", "c"], 2))
    assert order == [(0, "a"), (0, "b"), (0, "c"), (1, "c"), (1, "b"), (1, "a")]


@pytest.mark.parametrize("repeats", [2, 4, 6])
def test_every_configuration_has_the_same_mean_place(repeats: int) -> None:
    order = list(balanced_order(DEFAULT_CONFIGURATIONS, repeats))
    assert Counter(name for _, name in order) == dict.fromkeys(DEFAULT_CONFIGURATIONS, repeats)
    places = {name: sum(i for i, (_, n) in enumerate(order) if n == name) for name in DEFAULT_CONFIGURATIONS}
    assert len(set(places.values())) == 1
