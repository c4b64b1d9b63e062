from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from drafts.align.plan import Span
from service.finish import ResultStream, hunks
from service.pb import apply_edit_pb2 as pb
from service.types import Hunk, SourceFile
from service.validate import Limits, validate

LIMITS = Limits(max_file_bytes=1_000_000, max_edit_bytes=1_000, max_draft_tokens=64, model="test")
LINES = st.lists(
    st.tuples(
        st.sampled_from(["", "a", "b", "}", "\r", "x\ry", "é", "\u2028", "\x0c"]), st.sampled_from(["\n", "\r\n"])
    )
)
CHUNKS = st.lists(st.integers(1, 6))


def source(data: bytes) -> SourceFile:
    """A file as validation normalizes it."""
    wire = pb.ApplyEditRequest(file=pb.SourceFile(path="a.py", data=data), edit=pb.Edit(instruction="x"))
    return validate(wire, request_id="1", limits=LIMITS).file


def finish(file: SourceFile, text: str, predicted: str | None = None, chunks: list[int] | None = None) -> bytes:
    stream = ResultStream(file, text if predicted is None else predicted)
    parts: list[bytes] = []
    position = 0
    for size in [*(chunks or []), len(text)]:
        parts.append(stream.feed(text[position : position + size]))
        position += size
    return b"".join([*parts, stream.finish()])


@settings(deadline=None)
@given(LINES, st.sampled_from(["", "last", "l\r"]), st.booleans(), CHUNKS)
def test_an_unchanged_file_comes_back_to_the_byte(
    lines: list[tuple[str, str]], last: str, mark: bool, chunks: list[int]
) -> None:
    data = ("\ufeff" * mark + "".join(content + end for content, end in lines) + last).encode()
    if not data.removeprefix(b"\xef\xbb\xbf"):
        return
    file = source(data)
    assert finish(file, file.text, chunks=chunks) == data


@settings(deadline=None)
@given(LINES, LINES, LINES, CHUNKS)
def test_lines_around_a_change_keep_their_ends(
    before: list[tuple[str, str]], old: list[tuple[str, str]], after: list[tuple[str, str]], chunks: list[int]
) -> None:
    def joined(lines: list[tuple[str, str]]) -> bytes:
        return "".join(content + end for content, end in lines).encode()

    file = source(joined(before) + joined(old) + joined(after) + b"end\n")
    text = (joined(before) + b"new line\n" + joined(after) + b"end\n").decode().replace("\r\n", "\n")
    result = finish(file, text, chunks=chunks)
    assert result.startswith(joined(before))
    assert result.endswith(joined(after) + b"end\n")
    assert result.replace(b"\r\n", b"\n") == text.encode()


def test_a_file_of_one_kind_gets_that_kind_everywhere() -> None:
    assert finish(source(b"a\r\nb\r\n"), "a\nnew\nb\n") == b"a\r\nnew\r\nb\r\n"
    assert finish(source(b"a\nb\n"), "a\nnew\nb\n") == b"a\nnew\nb\n"


def test_a_new_line_in_a_mixed_file_ends_as_the_line_before_it() -> None:
    file = source(b"a\r\nb\r\nc\nd\n")
    assert finish(file, "a\nx\nb\nc\ny\nd\n") == b"a\r\nx\r\nb\r\nc\ny\nd\n"
    assert finish(file, "x\na\nb\nc\nd\n") == b"x\na\r\nb\r\nc\nd\n"


def test_a_changed_line_in_a_mixed_file_ends_as_the_one_it_replaces() -> None:
    file = source(b"a\nb\r\nc\nd\r\ne\n")
    assert finish(file, "a\nB\nC\nd\ne\n") == b"a\nB\r\nC\nd\r\ne\n"


def test_streams_as_text_comes() -> None:
    stream = ResultStream(source(b"\xef\xbb\xbfa\r\nb\r\n"), "a\nb\n")
    assert stream.feed("a") == b"\xef\xbb\xbfa"
    assert stream.feed("\n") == b""
    assert stream.feed("b") == b"\r\nb"
    assert stream.feed("\n") == b""
    assert stream.finish() == b"\r\n"
    assert stream.text == "a\nb\n"


def test_a_mixed_file_streams_while_it_agrees() -> None:
    stream = ResultStream(source(b"a\r\nb\nc\r\n"), "a\nx\nc\n")
    assert stream.feed("a\nx") == b"a\r\n"
    assert stream.feed("\nc\n") == b""
    assert stream.finish() == b"x\nc\r\n"


def test_the_final_line_break_is_the_plans() -> None:
    file = source(b"a\nb")
    assert finish(file, "a\nc\n", predicted="a\nc") == b"a\nc"
    assert finish(file, "a\nc", predicted="a\nc\n") == b"a\nc\n"
    assert finish(source(b"a\r\nb\r\n"), "a\nc", predicted="a\nc\n") == b"a\r\nc\r\n"
    assert finish(file, "", predicted="a\n") == b""


@settings(deadline=None)
@given(LINES, LINES, st.sampled_from([b"", b"x"]))
def test_hunks_turn_the_file_into_the_result(
    old: list[tuple[str, str]], new: list[tuple[str, str]], last: bytes
) -> None:
    before = "".join(content + end for content, end in old).encode()
    after = "".join(content + end for content, end in new).encode() + last
    found = hunks(before, after)
    rebuilt: list[bytes] = []
    position = written = 0
    for hunk in found:
        rebuilt.append(before[position : hunk.original.start])
        assert written + hunk.original.start - position == hunk.result.start
        rebuilt.append(after[hunk.result.start : hunk.result.end])
        position, written = hunk.original.end, hunk.result.end
    assert b"".join([*rebuilt, before[position:]]) == after
    assert bool(found) == (before != after)


def test_hunks_are_whole_lines_in_bytes() -> None:
    assert hunks("é\r\nb\r\nc".encode(), "é\r\nbb\r\nc".encode()) == (Hunk(Span(4, 7), Span(4, 8)),)
    assert hunks(b"a\nb\n", b"b\n") == (Hunk(Span(0, 2), Span(0, 0)),)
    assert hunks(b"a\n", b"a\nb") == (Hunk(Span(2, 2), Span(2, 3)),)
    assert hunks(b"a\n", b"a\n") == ()
