"""Why passes end where they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.replay.case import ReplayCase
from evals.replay.causes import Cause, CauseFinder, followed
from evals.replay.drafters import entrant
from evals.replay.run import replay_one
from service.prompts.tokenization import TextTokenizer

MakeCase = Callable[..., ReplayCase]

FILE = "".join(f"def function_{n}(x):\n    return x * {n} + offset\n\n\n" for n in range(40))


def causes(make: MakeCase, tokenizer: TextTokenizer, drafter: str, after: str, form: str = "update") -> Counter[Cause]:
    case = make(FILE, after, form)
    chosen = entrant(drafter)
    one = replay_one(case, chosen, 0.006 if chosen.by_cost else None)
    found = CauseFinder(case, tokenizer).count(one.recorder, chosen.k)
    assert found.total() == one.passes
    return found


def test_a_right_plan_leaves_only_the_limit_of_k(make_replay_case: MakeCase, tokenizer: TextTokenizer) -> None:
    after = FILE.replace("return x * 20 +", "return x ** 20 -")
    found = causes(make_replay_case, tokenizer, "copy-16", after)
    assert set(found) == {Cause.PREFILL, Cause.LAST, Cause.K_MAX}
    assert (found[Cause.PREFILL], found[Cause.LAST]) == (1, 1)


def test_an_edit_that_no_one_told_is_not_predicted(make_replay_case: MakeCase, tokenizer: TextTokenizer) -> None:
    after = FILE.replace("return x * 20 +", "return completely_different(x, 20) or")
    found = causes(make_replay_case, tokenizer, "copy-512", after, "instruction")
    assert found[Cause.NOT_PREDICTED] >= 2
    assert found[Cause.LOST] + found[Cause.WRONG_PLACE] <= 4


def test_plain_ngrams_draft_from_wrong_places(make_replay_case: MakeCase, tokenizer: TextTokenizer) -> None:
    after = FILE.replace("return x * 20 +", "return x ** 20 -")
    found = causes(make_replay_case, tokenizer, "ngram-64", after)
    assert found[Cause.WRONG_PLACE] > 10


@pytest.mark.parametrize(
    ("output", "predicted", "ranges"),
    [
        (b"a\nb\n", b"a\nb\n", [(0, 4)]),
        # A line inserted: the prediction is on again after it.
        (b"a\nX\nb\n", b"a\nb\n", [(0, 2), (4, 6)]),
        # A line deleted: two ranges that touch, because the prediction does not go on across the border.
        (b"a\nc\n", b"a\nb\nc\n", [(0, 2), (2, 4)]),
        # Within a line: the common start and end count.
        (b"a\nfoo(2);\nb\n", b"a\nfoo(1);\nb\n", [(0, 6), (7, 12)]),
        (b"", b"a\n", []),
    ],
)
def test_followed(output: bytes, predicted: bytes, ranges: list[tuple[int, int]]) -> None:
    found = followed(output, predicted)
    assert list(zip(found.starts, found.ends, strict=True)) == ([(0, 4)] if output == predicted else ranges)


def test_the_first_byte_after_a_border_is_not_followed() -> None:
    found = followed(b"a\nX\nb\n", b"a\nb\n")
    assert found.holds(0, 2)
    assert not found.holds(2, 3)
    assert not found.holds(4, 5)
    assert found.holds(5, 6)
    assert not found.holds(1, 3)


@given(st.lists(st.sampled_from([b"a\n", b"b\n", b"aab", b"\n"])), st.lists(st.sampled_from([b"a\n", b"b\n", b"ab"])))
def test_followed_ranges_are_in_the_predicted_text(output: list[bytes], predicted: list[bytes]) -> None:
    text, other = b"".join(output), b"".join(predicted)
    found = followed(text, other)
    end = 0
    for low, high in zip(found.starts, found.ends, strict=True):
        assert end <= low <= high <= len(text)
        assert text[low:high] in other
        end = high
