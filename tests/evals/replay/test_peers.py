"""The public drafters, the real ones, on worked figures."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import pytest

from drafts.core.loop import replay
from drafts.core.types import DraftRequest
from evals.replay.peers.base import ContextDrafter
from evals.replay.peers.prompt_lookup import PromptLookup
from evals.replay.peers.suffix import SuffixDecoding
from evals.replay.peers.vllm_ngram import VllmNgram
from evals.replay.peers.whole_file import WholeFile

needs_suffix = pytest.mark.skipif(
    find_spec("arctic_inference") is None, reason="the extra `suffix` is not installed: it takes a C++ compiler"
)


def first_draft(drafter: ContextDrafter, emitted: Sequence[int], limit: int) -> list[int]:
    drafter.start(DraftRequest())
    drafter.observe(emitted)
    return drafter.propose(limit)


def test_prompt_lookup_drafts_what_followed_the_longest_ngram() -> None:
    # Context 1 2 3 9 1 2: its last 3-gram never occurred before, its last 2-gram did, and 3 9 1 follows it.
    assert first_draft(PromptLookup([1, 2, 3, 9, 1], 99, max_ngram=3, k=3), [2], 3) == [3, 9, 1]


def test_prompt_lookup_takes_the_first_of_two_occurrences() -> None:
    assert first_draft(PromptLookup([1, 2, 5, 0, 1, 2, 6, 0, 1], 99, max_ngram=2, k=1), [2], 1) == [5]


def test_vllm_drafts_what_followed_the_longest_ngram() -> None:
    assert first_draft(VllmNgram([1, 2, 3, 9, 1], 99), [2], 3) == [3, 9, 1]


def test_vllm_takes_the_earliest_of_two_longest_matches() -> None:
    assert first_draft(VllmNgram([1, 2, 5, 7, 1, 2, 6, 8, 1], 99), [2], 2) == [5, 7]


def test_vllm_prefers_the_longer_ngram_to_the_earlier_one() -> None:
    # 2 3 occurs first before 7, then 1 2 3 before 8.
    assert first_draft(VllmNgram([2, 3, 7, 1, 2, 3, 8, 0, 1, 2], 99), [3], 1) == [8]


def test_vllm_needs_the_shortest_ngram() -> None:
    assert first_draft(VllmNgram([3, 7, 0], 99), [3], 4) == []
    assert first_draft(VllmNgram([3, 7, 0], 99, min_ngram=1), [3], 4) == [7, 0, 3]


@needs_suffix
def test_suffix_decoding_drafts_no_more_than_its_factor_allows() -> None:
    prompt = [*range(10, 40), 99, *range(10, 13)]
    # Four tokens match (10 to 13), and the factor is the draft tokens for each.
    assert first_draft(SuffixDecoding(prompt, 99, factor=1.0), [13], 64) == [14, 15, 16, 17]
    assert first_draft(SuffixDecoding(prompt, 99, factor=2.0), [13], 64) == [*range(14, 22)]
    assert first_draft(SuffixDecoding(prompt, 99, factor=2.0), [13], 3) == [14, 15, 16]


@needs_suffix
def test_suffix_decoding_takes_the_more_frequent_continuation() -> None:
    prompt = [1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 6, 0, 1, 2, 3, 4, 6, 0, 1, 2, 3]
    assert first_draft(SuffixDecoding(prompt, 99), [4], 1) == [6]


def test_whole_file_takes_one_draft_for_a_file_that_stays() -> None:
    original = list(range(100))
    drafter = WholeFile()
    emitted, report = replay(drafter, DraftRequest(original=original), original, 1 << 30)
    assert emitted == original
    # The prefill's pass, then everything that remains but the last token, which is the target's own.
    assert (report.target_passes, report.drafted) == (2, 98)


def test_whole_file_finds_its_place_again_after_an_insertion() -> None:
    original = list(range(100))
    output = [*original[:50], 1000, 1001, *original[50:]]
    _, report = replay(WholeFile(), DraftRequest(original=original), output, 1 << 30)
    # 0 | 1..49 and 1000 | 1001 | 50 | 51 | 52: three tokens of evidence | the rest.
    assert report.target_passes == 7
    assert report.drafted == 99 + 46


def test_a_doubled_definition_misleads_ngrams_and_not_a_kept_place() -> None:
    # The same eight tokens twice, then different ones: an n-gram match takes the first occurrence's continuation.
    shared = list(range(10, 18))
    original = [1, *shared, 2, 3, *shared, 4, 5]
    drafter = VllmNgram(original, 99)
    drafter.start(DraftRequest())
    drafter.observe(original[:-2])
    assert drafter.propose(2) == [2, 3]  # and 4 5 is right
    place = WholeFile()
    place.start(DraftRequest(original=original))
    place.observe(original[:-2])
    assert place.propose(2) == [4, 5]
