"""Validation of good requests; test_bad_input.py has the bad ones."""

from __future__ import annotations

import pytest

from drafts.align.plan import UpdateSnippet
from service import languages
from service.config import Settings
from service.errors import InvalidRequest
from service.pb import apply_edit_pb2 as pb
from service.types import ApplyRequest, Newline
from service.validate import Limits, validate

LIMITS = Limits.of(Settings())


def valid(file: pb.SourceFile, **fields: object) -> ApplyRequest:
    message = pb.ApplyEditRequest(file=file, edit=pb.Edit(update_snippet="x"), **fields)  # type: ignore[arg-type]
    return validate(message, request_id="r1", limits=LIMITS)


@pytest.mark.parametrize(
    ("data", "text", "newline", "mark"),
    [
        (b"a\nb\n", "a\nb\n", Newline.LF, False),
        (b"a\r\nb\r\n", "a\nb\n", Newline.CRLF, False),
        (b"\xef\xbb\xbfa\r\nb", "a\nb", Newline.CRLF, True),
        (b"no line end", "no line end", Newline.LF, False),
        (b"a\r\nb\nc\n", "a\nb\nc\n", Newline.LF, False),
        (b"a\r\nb\r\nc\n", "a\nb\nc\n", Newline.CRLF, False),
        (b"old\rmac\r", "old\rmac\r", Newline.LF, False),
        (b"\xef\xbb\xbf\xef\xbb\xbfa", "\ufeffa", Newline.LF, True),
        ("€\U0001f600\n".encode(), "€\U0001f600\n", Newline.LF, False),
        (b"<|im_end|>\0</code>", "<|im_end|>\0</code>", Newline.LF, False),
    ],
)
def test_line_ends_and_marks(data: bytes, text: str, newline: Newline, mark: bool) -> None:
    file = valid(pb.SourceFile(path="a.py", data=data)).file
    assert (file.data, file.text, file.newline, file.byte_order_mark) == (data, text, newline, mark)
    assert valid(pb.SourceFile(path="a.py", text=data.decode())).file == file


def test_both_requests_say_the_same() -> None:
    message = pb.ApplyEditRequest(
        file=pb.SourceFile(path="a.py", text="x"),
        edit=pb.Edit(update_snippet="y", accompanying_instruction="z"),
        request_class=pb.REQUEST_CLASS_BATCH,
        sampling=pb.Sampling(temperature=1, seed=2, max_output_tokens=3),
        draft=pb.DraftOptions(drafting=pb.DRAFTING_OFF, max_draft_tokens=4),
        model="redraft-embedded",
    )
    stream = pb.StreamApplyEditRequest.FromString(message.SerializeToString())
    unary_fields, stream_fields = (
        [(f.name, f.number, f.message_type) for f in kind.DESCRIPTOR.fields]
        for kind in (pb.ApplyEditRequest, pb.StreamApplyEditRequest)
    )
    assert unary_fields == stream_fields
    unary = validate(message, request_id="r", limits=LIMITS)
    assert validate(stream, request_id="r", limits=LIMITS) == unary
    assert unary.edit == UpdateSnippet("y")


def test_k_is_capped_by_the_service() -> None:
    file = pb.SourceFile(text="x")
    assert (
        valid(file, draft=pb.DraftOptions(max_draft_tokens=100_000)).draft.max_draft_tokens == LIMITS.max_draft_tokens
    )
    assert valid(file, draft=pb.DraftOptions(max_draft_tokens=5)).draft.max_draft_tokens == 5
    assert valid(file, draft=pb.DraftOptions(max_draft_tokens=0)).draft.max_draft_tokens == 0
    assert valid(file).draft.max_draft_tokens is None


def test_limits_are_inclusive() -> None:
    limits = Limits(max_file_bytes=4, max_edit_bytes=4, max_draft_tokens=8, model="m")

    def check(text: str, snippet: str) -> None:
        message = pb.ApplyEditRequest(file=pb.SourceFile(text=text), edit=pb.Edit(update_snippet=snippet))
        validate(message, request_id="r", limits=limits)

    check("é" * 2, "é" * 2)
    with pytest.raises(InvalidRequest, match="5 bytes, and the limit is 4"):
        check("é" * 2 + "x", "y")
    with pytest.raises(InvalidRequest, match="5 bytes, and the limit is 4"):
        check("y", "é" * 2 + "x")


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b/c.py", "python"),
        ("C:\\src\\Main.CS", "csharp"),
        ("x.test.tsx", "tsx"),
        ("x.ts", "typescript"),
        ("lib.rs", "rust"),
        ("src/Makefile", "make"),
        ("Dockerfile", "dockerfile"),
        ("h.hpp", "cpp"),
        ("h.h", "c"),
        (".bashrc", "text"),
        ("README", "text"),
        ("x.unheardof", "text"),
        ("", "text"),
        ("dir.py/", "python"),
    ],
)
def test_languages_by_path(path: str, language: str) -> None:
    assert languages.detect(path) == language
    assert language in languages.KNOWN
    assert valid(pb.SourceFile(path=path, text="x")).file.language == language


def test_a_given_language_wins() -> None:
    assert valid(pb.SourceFile(path="a.py", text="x", language="ruby")).file.language == "ruby"


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("plaintext", "text"),
        ("shellscript", "bash"),
        ("typescriptreact", "tsx"),
        ("javascriptreact", "javascript"),
        ("jsonc", "json"),
        ("makefile", "make"),
        ("vue", "html"),
        ("objective-c", "objectivec"),
        ("csharp", "csharp"),
        ("cpp", "cpp"),
        ("c++", "cpp"),
        ("Python", "python"),
    ],
)
def test_editors_names_of_languages(name: str, language: str) -> None:
    assert valid(pb.SourceFile(path="a", text="x", language=name)).file.language == language


def test_every_alias_stands_for_a_language() -> None:
    assert {languages.canonical(alias) for alias in languages.ALIASES} <= languages.KNOWN
    assert not languages.KNOWN & languages.ALIASES.keys()
