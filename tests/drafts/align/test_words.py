"""Words, where they stand, and how rare they are."""

from __future__ import annotations

import pytest

from drafts.align.lines import Lines
from drafts.align.words import Words, words_of

TEXT = Lines.of("é = total(item_1)\nx = 1\nx = 1\n\ntotal.\xa0y\ud800\n")


def test_runs_of_letters_and_digits_and_single_signs() -> None:
    assert words_of(["a_b1(c2)", "é."]) == {"a": 1, "_": 1, "b1": 1, "(": 1, "c2": 1, ")": 1, "é": 1, ".": 1}


def test_a_word_stands_in_all_of_the_lines_that_have_it_unless_too_many_do() -> None:
    words = Words(TEXT)
    assert words.lines("x", 2) == [1, 2]
    assert words.lines("x", 1) == []
    assert words.lines("total", 9) == [0, 4]
    assert words.lines("tot", 9) == words.lines("(", 9) == []


def test_rare_words_tell_more() -> None:
    words = Words(TEXT)
    assert words.rarity("nowhere") == words.rarity("item") > words.rarity("total") == words.rarity("x")
    assert words.rarity("=") < words.rarity("(")
    assert words.rarity("tot") == words.rarity("nowhere")


def test_resemblance_is_the_shared_part() -> None:
    words = Words(TEXT)
    one, other = words_of(["x = total"]), words_of(["x = item"])
    assert words.resemblance(one, one) == pytest.approx(1.0)
    assert 0.0 < words.resemblance(one, other) < 1.0
    assert words.resemblance(one, words_of(["other"])) == words.resemblance(words_of([]), words_of([])) == 0.0


def test_a_text_without_lines_has_no_words() -> None:
    assert Words(Lines.of("")).lines("a", 1) == []
