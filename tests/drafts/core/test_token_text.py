from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from drafts.core.token_text import TokenText

SPAN = 8


@given(
    st.lists(st.sampled_from([1, 2, 0xD800, 2**20 + 1, 2**31 - 1, -5]), max_size=60),
    st.lists(st.tuples(st.sampled_from([1, 2, 0xD800, 7]), st.integers(0, 59), st.integers(1, 5)), max_size=10),
)
def test_positions_are_those_after_the_first_occurrences(
    tokens: list[int], searches: list[tuple[int, int, int]]
) -> None:
    text = TokenText(tokens, SPAN)
    low = (1 << 20) - 1
    for token, start, most in searches:
        there = range(start, min(start + SPAN, len(tokens)))
        expected = [at + 1 for at in there if tokens[at] & low == token]  # ids that share their low bits are found too
        assert text.after(token, start, most) == expected[:most]
