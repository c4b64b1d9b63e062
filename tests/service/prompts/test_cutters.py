"""The cutters alone, on answers as models write them and in any chunks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import ResultRejected
from service.prompts.cutters import AnswerCutter, BareFile, Fenced, Tagged, WholeAnswer

OPEN, CLOSE = "<updated-code>", "</updated-code>"
PIECES = st.sampled_from(
    [
        "\n",
        "\n\n",
        "a",
        "  ",
        " b\n",
        "```",
        "````",
        "`",
        "```py\n",
        OPEN,
        CLOSE,
        "</updated",
        "-code>",
        "<",
        "\n" + CLOSE,
    ]
)
FILES = st.lists(PIECES, max_size=12).map("".join)
CHUNKS = st.lists(st.integers(1, 9), max_size=60)


def cut(cutter: AnswerCutter, answer: str, chunks: list[int] | None = None) -> str:
    parts: list[str] = []
    position = 0
    for size in [*(chunks or []), len(answer)]:
        parts.append(cutter.feed(answer[position : position + size]))
        position += size
    return "".join([*parts, cutter.finish()])


def rejected(cutter: AnswerCutter, answer: str) -> str:
    with pytest.raises(ResultRejected) as caught:
        cut(cutter, answer)
    return caught.value.reason


@settings(deadline=None)
@given(FILES, CHUNKS)
def test_whole_answer(file: str, chunks: list[int]) -> None:
    assert cut(WholeAnswer(), file, chunks) == file


@settings(deadline=None)
@given(FILES, CHUNKS, st.sampled_from(["", "\n"]))
def test_bare_file(file: str, chunks: list[int], before: str) -> None:
    assert cut(BareFile(file), before + file, chunks) == file


@settings(deadline=None)
@given(FILES, CHUNKS, st.sampled_from(["", "\n"]), st.sampled_from(["", "\n"]), st.sampled_from(["", "\n", " \n\n"]))
def test_tagged_on_the_expected_file(file: str, chunks: list[int], before: str, after: str, trail: str) -> None:
    if not file.strip("\n"):
        return  # Which line breaks of nothing but line breaks are the file's is anyone's guess.
    answer = f"{OPEN}{before}{file}{after}{CLOSE}{trail}"
    assert cut(Tagged(OPEN, CLOSE, file), answer, chunks) == file


@settings(deadline=None)
@given(FILES, FILES, CHUNKS)
def test_tagged_on_any_file(file: str, expected: str, chunks: list[int]) -> None:
    # Whatever was expected, only line breaks at the ends may be taken for the format's.
    found = cut(Tagged(OPEN, CLOSE, expected), f"{OPEN}\n{file}\n{CLOSE}", chunks)
    assert found.strip("\n") == file.strip("\n")
    assert abs(len(found) - len(file)) <= 2


def test_tagged_streams_before_the_end() -> None:
    cutter = Tagged(OPEN, CLOSE, "a\nb\n")
    assert cutter.feed(OPEN + "a\nb") == "a\nb"
    assert cutter.feed("\n") == ""
    assert cutter.feed("</updated-co") == ""
    assert cutter.feed("ral>") == "\n</updated-coral>"
    assert cutter.feed(CLOSE) == ""
    assert cutter.finish() == ""


def test_tagged_keeps_a_closing_tag_that_does_not_end_the_answer() -> None:
    assert cut(Tagged(OPEN, CLOSE, "x\n"), f"{OPEN}a\n{CLOSE}\nb\n{CLOSE}\n") == f"a\n{CLOSE}\nb\n"
    assert cut(Tagged(OPEN, CLOSE, f"a\n{CLOSE}\n"), f"{OPEN}a\n{CLOSE}\n{CLOSE}") == f"a\n{CLOSE}\n"


def test_tagged_truncated() -> None:
    assert rejected(Tagged(OPEN, CLOSE, "a"), "") == "RESULT_TRUNCATED"
    assert rejected(Tagged(OPEN, CLOSE, "a"), f"{OPEN}a\n</updated-code") == "RESULT_TRUNCATED"
    assert rejected(Tagged(OPEN, CLOSE, CLOSE), f"{OPEN}a{CLOSE}\nand") == "RESULT_TRUNCATED"


@pytest.mark.parametrize("step", [1, 3, 7, 100])
@pytest.mark.parametrize("chatter", [" and more", "\n\nThe change is applied.", f" <{CLOSE[:-1]} x"])
def test_tagged_with_text_after_its_end(chatter: str, step: int) -> None:
    with pytest.raises(ResultRejected, match="there is text after </updated-code>") as caught:
        cut(Tagged(OPEN, CLOSE, "a"), f"{OPEN}a{CLOSE}{chatter}", [step] * 60)
    assert caught.value.reason == "RESULT_NOT_IN_FORMAT"
    with pytest.raises(ResultRejected) as caught:
        cut(Tagged(OPEN, CLOSE, f"a{CLOSE}b"), f"{OPEN}a{CLOSE}b{CLOSE}{chatter}", [step] * 60)
    assert caught.value.reason == "RESULT_NOT_IN_FORMAT"


def test_tagged_without_its_opening() -> None:
    assert rejected(Tagged(OPEN, CLOSE, "a"), f"Here it is: {OPEN}a{CLOSE}") == "RESULT_NOT_IN_FORMAT"


def fence_for(file: str) -> int:
    longest = current = 0
    for character in file:
        current = current + 1 if character == "`" else 0
        longest = max(longest, current)
    return max(3, longest + 1)


@settings(deadline=None)
@given(FILES, CHUNKS, st.sampled_from(["", "Sure, here it is:\n\n"]), st.sampled_from(["", "\n", "\n\nDone.\n"]))
def test_fenced_on_the_expected_file(file: str, chunks: list[int], before: str, after: str) -> None:
    fence = "`" * fence_for(file)
    body = file if file.endswith("\n") or not file else file + "\n"
    answer = f"{before}{fence}python\n{body}{fence}{after}"
    assert cut(Fenced(len(fence), file), answer, chunks) == file


@settings(deadline=None)
@given(FILES, CHUNKS)
def test_fenced_by_a_longer_fence_than_asked(file: str, chunks: list[int]) -> None:
    fence = "`" * (fence_for(file) + 2)
    assert cut(Fenced(3, file + "\n"), f"{fence}\n{file}\n{fence}", chunks) == file + "\n"


def test_fenced_streams_before_the_end() -> None:
    cutter = Fenced(3, "a\nb\n")
    assert cutter.feed("```\na") == "a"
    assert cutter.feed("\n``") == ""
    assert cutter.feed("x") == "\n``x"
    assert cutter.feed("\n```\n") == "\n"
    assert cutter.finish() == ""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "RESULT_NOT_IN_FORMAT"),
        ("def f(): pass\n", "RESULT_NOT_IN_FORMAT"),
        ("```\nshorter than asked\n```", "RESULT_NOT_IN_FORMAT"),
        ("````\na\n", "RESULT_TRUNCATED"),
        ("````\na\n```\n", "RESULT_TRUNCATED"),
        ("````\na\n ````\n", "RESULT_TRUNCATED"),
        ("````\na\n````\n\nOr else:\n\n````\nb\n````\n", "RESULT_AMBIGUOUS"),
        ("````\na\n````\n```\nb\n```\n", "RESULT_AMBIGUOUS"),
    ],
)
def test_fenced_rejects(answer: str, reason: str) -> None:
    assert rejected(Fenced(4, "a\n"), answer) == reason


def test_fenced_says_what_was_asked_for_in_words() -> None:
    with pytest.raises(ResultRejected, match="opened by 4 or more backticks") as caught:
        cut(Fenced(4, "a\n"), "```\na\n```\n")
    assert "[^`]" not in caught.value.message
    assert "{4" not in caught.value.message


CUTTERS: list[Callable[[], AnswerCutter]] = [
    lambda: Tagged(OPEN, CLOSE, "a\n"),
    lambda: Fenced(3, "a\n"),
    lambda: BareFile("a\n"),
]


@pytest.mark.parametrize("make", CUTTERS)
@settings(deadline=None)
@given(text=st.text(), chunks=CHUNKS)
def test_chunks_change_nothing(make: Callable[[], AnswerCutter], text: str, chunks: list[int]) -> None:
    def outcome(sizes: list[int]) -> str:
        try:
            return cut(make(), "```\n" + text + "\n```", sizes)
        except ResultRejected as error:
            return error.reason

    assert outcome(chunks) == outcome([])
