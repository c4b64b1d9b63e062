"""Every bad input through a real server, unary and streaming: the code, the reason and the details."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from service.pb import apply_edit_pb2 as pb
from service.status import DETAILS_KEY, MAX_STATUS_BYTES

SECRET = "hunter2_is_the_callers_text"
LIMITS = {"max_file_bytes": 400, "max_edit_bytes": 200}


def snippet(text: str, **more: Any) -> pb.Edit:
    return pb.Edit(update_snippet=text, **more)


def file(**changes: Any) -> pb.SourceFile:
    return pb.SourceFile(**{"path": "a.py", **changes})


BAD: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("empty text", {"file": file(text="")}, [("file.text", "EMPTY")]),
    ("empty data", {"file": file(data=b"")}, [("file.data", "EMPTY")]),
    ("only a byte-order mark", {"file": file(data=b"\xef\xbb\xbf")}, [("file.data", "EMPTY")]),
    ("no content", {"file": file()}, [("file.content", "REQUIRED")]),
    ("no file", {"file": None}, [("file.content", "REQUIRED")]),
    ("not UTF-8", {"file": file(data=SECRET.encode() + b"\xff\xfe")}, [("file.data", "NOT_UTF8")]),
    ("UTF-16", {"file": file(data=SECRET.encode("utf-16"))}, [("file.data", "NOT_UTF8")]),
    ("file too large", {"file": file(text=SECRET * 20)}, [("file.text", "TOO_LARGE")]),
    ("unknown language", {"file": file(text=SECRET, language="klingon")}, [("file.language", "UNKNOWN")]),
    ("an extension for a language", {"file": file(text=SECRET, language="rs")}, [("file.language", "UNKNOWN")]),
    ("hexadecimal digest", {"file": file(text=SECRET, sha256=b"0" * 64)}, [("file.sha256", "BAD_LENGTH")]),
    ("long path", {"file": file(path="a" * 5000, text=SECRET)}, [("file.path", "TOO_LARGE")]),
    ("NUL in the path", {"file": file(path="a\0b", text=SECRET)}, [("file.path", "MALFORMED")]),
    ("no edit", {"edit": None}, [("edit.form", "REQUIRED")]),
    ("edit without a form", {"edit": pb.Edit(accompanying_instruction=SECRET)}, [("edit.form", "REQUIRED")]),
    ("empty snippet", {"edit": snippet("")}, [("edit.update_snippet", "EMPTY")]),
    ("blank snippet", {"edit": snippet(" \n\t\n")}, [("edit.update_snippet", "EMPTY")]),
    ("empty diff", {"edit": pb.Edit(unified_diff="")}, [("edit.unified_diff", "EMPTY")]),
    ("empty instruction", {"edit": pb.Edit(instruction=" ")}, [("edit.instruction", "EMPTY")]),
    ("no blocks", {"edit": pb.Edit(search_replace=pb.SearchReplace())}, [("edit.search_replace.blocks", "EMPTY")]),
    (
        "block without a search",
        {"edit": pb.Edit(search_replace=pb.SearchReplace(blocks=[pb.SearchReplaceBlock(replace=SECRET)]))},
        [("edit.search_replace.blocks[0].search", "EMPTY")],
    ),
    ("edit too large", {"edit": snippet(SECRET * 20)}, [("edit", "TOO_LARGE")]),
    ("too large together", {"edit": snippet("a" * 150, accompanying_instruction="b" * 60)}, [("edit", "TOO_LARGE")]),
    ("diff without a hunk", {"edit": pb.Edit(unified_diff=f"+{SECRET}\n")}, [("edit.unified_diff", "MALFORMED")]),
    (
        "open block",
        {"edit": pb.Edit(search_replace_text=f"<<<<<<< SEARCH\n{SECRET}\n=======\n")},
        [("edit.search_replace_text", "MALFORMED")],
    ),
    (
        "block text without a search",
        {"edit": pb.Edit(search_replace_text=f"<<<<<<< SEARCH\n=======\n{SECRET}\n>>>>>>> REPLACE\n")},
        [("edit.search_replace_text.blocks[0].search", "EMPTY")],
    ),
    (
        "two instructions",
        {"edit": pb.Edit(instruction=SECRET, accompanying_instruction=SECRET)},
        [("edit.accompanying_instruction", "CONFLICT")],
    ),
    ("cold", {"sampling": pb.Sampling(temperature=-0.1)}, [("sampling.temperature", "OUT_OF_RANGE")]),
    ("hot", {"sampling": pb.Sampling(temperature=2.1)}, [("sampling.temperature", "OUT_OF_RANGE")]),
    ("NaN", {"sampling": pb.Sampling(temperature=float("nan"))}, [("sampling.temperature", "OUT_OF_RANGE")]),
    ("negative seed", {"sampling": pb.Sampling(seed=-1)}, [("sampling.seed", "OUT_OF_RANGE")]),
    ("no output", {"sampling": pb.Sampling(max_output_tokens=0)}, [("sampling.max_output_tokens", "OUT_OF_RANGE")]),
    ("negative k", {"draft": pb.DraftOptions(max_draft_tokens=-1)}, [("draft.max_draft_tokens", "OUT_OF_RANGE")]),
    ("unknown drafting", {"draft": pb.DraftOptions(drafting=99)}, [("draft.drafting", "UNKNOWN")]),  # type: ignore[arg-type]
    ("unknown class", {"request_class": 99}, [("request_class", "UNKNOWN")]),
    (
        "everything at once",
        {
            "file": file(data=b"\xff", language="klingon", sha256=b"0"),
            "edit": snippet(""),
            "sampling": pb.Sampling(temperature=9, max_output_tokens=-5),
        },
        [
            ("edit.update_snippet", "EMPTY"),
            ("file.data", "NOT_UTF8"),
            ("file.language", "UNKNOWN"),
            ("file.sha256", "BAD_LENGTH"),
            ("sampling.max_output_tokens", "OUT_OF_RANGE"),
            ("sampling.temperature", "OUT_OF_RANGE"),
        ],
    ),
]


def details(error: grpc.aio.AioRpcError) -> tuple[error_details_pb2.ErrorInfo, status_pb2.Status]:
    """The ErrorInfo, which comes first, and the whole status, which agrees with the call's own."""
    metadata: Any = error.trailing_metadata()
    sent = [value for key, value in metadata if key == DETAILS_KEY]
    assert len(sent) == 1
    assert len(sent[0]) <= MAX_STATUS_BYTES
    assert SECRET.encode() not in sent[0]
    assert SECRET not in (error.details() or "")
    status = status_pb2.Status.FromString(sent[0])
    assert (status.code, status.message) == (error.code().value[0], error.details())
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == "redraft"
    return info, status


@pytest.mark.parametrize(("changes", "expected"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
async def test_bad_input(
    start: Any, call: Any, request_of: Callable[..., Any], changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    running = await start(server=dict(LIMITS))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(running, request_of(**changes))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    info, status = details(caught.value)
    assert info.reason == "INVALID_REQUEST"
    bad = error_details_pb2.BadRequest()
    assert status.details[1].Unpack(bad)
    assert sorted((v.field, v.reason) for v in bad.field_violations) == expected
    assert all(v.description for v in bad.field_violations)
    assert running.pipeline.requests == []


async def test_base_mismatch(start: Any, call: Any, request_of: Callable[..., Any]) -> None:
    running = await start()
    stale = file(text=SECRET, sha256=hashlib.sha256(b"what it was").digest())
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(running, request_of(file=stale))
    assert caught.value.code() is grpc.StatusCode.ABORTED
    info, status = details(caught.value)
    assert info.reason == "BASE_DIGEST_MISMATCH"
    failure = error_details_pb2.PreconditionFailure()
    assert status.details[1].Unpack(failure)
    assert [(v.type, v.subject) for v in failure.violations] == [("BASE_DIGEST_MISMATCH", "file")]
    assert running.pipeline.requests == []


async def test_the_base_that_was_sent_is_taken(start: Any, call: Any, request_of: Callable[..., Any]) -> None:
    running = await start()
    fresh = file(data=b"\xef\xbb\xbfone\r\n", sha256=hashlib.sha256(b"\xef\xbb\xbfone\r\n").digest())
    await call(running, request_of(file=fresh))
    assert len(running.pipeline.requests) == 1


@pytest.mark.parametrize(
    ("name", "sent_back"), [("acme/coder-7b", "acme/coder-7b"), (f"{SECRET} = x", "")], ids=["a name", "not a name"]
)
async def test_unknown_model(start: Any, call: Any, request_of: Callable[..., Any], name: str, sent_back: str) -> None:
    running = await start()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(running, request_of(model=name))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    info, status = details(caught.value)
    assert info.reason == "MODEL_NOT_FOUND"
    resource = error_details_pb2.ResourceInfo()
    assert status.details[1].Unpack(resource)
    assert (resource.resource_type, resource.resource_name) == ("model", sent_back)


async def _whole(call: Any) -> None:
    if isinstance(call, grpc.aio.UnaryStreamCall):
        async for _ in call:
            pass
    else:
        await call


@pytest.mark.parametrize("method", ["ApplyEdit", "StreamApplyEdit"])
@pytest.mark.parametrize(
    "payload",
    [b"\xff\xff\xff", b"\x0a\x05\x12\x03\xff\xfe\xfd"],
    ids=["not protobuf", "a string field that is not UTF-8"],
)
async def test_undecodable_message(start: Any, method: str, payload: bytes) -> None:
    running = await start()
    path = f"/redraft.v1.ApplyEditService/{method}"
    answer = running.channel.unary_unary(path) if method == "ApplyEdit" else running.channel.unary_stream(path)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await _whole(answer(payload))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    info, status = details(caught.value)
    assert info.reason == "INVALID_REQUEST"
    bad = error_details_pb2.BadRequest()
    assert status.details[1].Unpack(bad)
    assert [v.reason for v in bad.field_violations] == ["MALFORMED"]


async def test_a_thousand_violations_fit(start: Any, call: Any, request_of: Callable[..., Any]) -> None:
    running = await start()
    blocks = [pb.SearchReplaceBlock(replace=SECRET)] * 1000
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(running, request_of(edit=pb.Edit(search_replace=pb.SearchReplace(blocks=blocks))))
    _, status = details(caught.value)
    bad = error_details_pb2.BadRequest()
    assert status.details[1].Unpack(bad)
    *listed, last = bad.field_violations
    assert len(listed) >= 10
    assert last.reason == "MORE"
    assert last.description.startswith(f"{1000 - len(listed)} ")
