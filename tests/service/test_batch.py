"""BatchApplyEdits over real gRPC: an outcome for each item, whatever becomes of the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2

from service.client import AsyncClient, Client, EditCall, RequestClass, UpdateSnippet
from service.client_codec import AppliedEdit
from service.errors import BaseMismatch, EditNotApplicable, InternalError, InvalidRequest, Unavailable
from service.metrics import Metrics
from service.pb import apply_edit_pb2 as pb

CALL = EditCall(path="a/b.py", content="one\ntwo\n", edit=UpdateSnippet("# ...\ntwo changed\n"))


def item(item_id: str = "a", **changes: Any) -> pb.BatchApplyEditsRequest:
    fields: dict[str, Any] = {
        "item_id": item_id,
        "file": pb.SourceFile(path="a/b.py", text="one\ntwo\n"),
        "edit": pb.Edit(update_snippet="# ...\ntwo changed\n"),
    }
    return pb.BatchApplyEditsRequest(**{**fields, **changes})


async def feed(*items: pb.BatchApplyEditsRequest) -> AsyncIterator[pb.BatchApplyEditsRequest]:
    for one in items:
        yield one


def violations(response: pb.BatchApplyEditsResponse) -> list[tuple[str, str]]:
    for detail in response.status.details:
        sent = error_details_pb2.BadRequest()
        if detail.Unpack(sent):
            return [(v.field, v.reason) for v in sent.field_violations]
    return []


async def test_every_item_gets_its_outcome(start: Any) -> None:
    running = await start()
    wrong = pb.SourceFile(path="a/b.py", text="one\ntwo\n", sha256=b"0" * 32)
    items = [item("good"), item("bad", edit=pb.Edit()), item("old", file=wrong), item("more")]
    got = {r.item_id: r async for r in running.stub.BatchApplyEdits(feed(*items), timeout=10)}
    assert {name: r.WhichOneof("outcome") for name, r in got.items()} == {
        "good": "result",
        "bad": "status",
        "old": "status",
        "more": "result",
    }
    assert got["good"].result.text == "one\ntwo changed\n"
    assert got["bad"].status.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert violations(got["bad"]) == [("edit.form", "REQUIRED")]
    # The bytes of an ItemStatus are those of a google.rpc.Status.
    status = status_pb2.Status.FromString(got["old"].status.SerializeToString())
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert (info.reason, info.domain) == ("BASE_DIGEST_MISMATCH", "redraft")
    assert len({r.request_id for r in got.values()}) == 4
    assert {one.request_id for one in running.pipeline.requests} == {got["good"].request_id, got["more"].request_id}


async def test_an_item_is_of_the_class_batch_unless_it_says_otherwise(start: Any) -> None:
    running = await start()
    items = [item("a"), item("b", request_class=pb.REQUEST_CLASS_INTERACTIVE)]
    ids = {r.item_id: r.request_id async for r in running.stub.BatchApplyEdits(feed(*items), timeout=10)}
    classes = {one.request_id: one.request_class for one in running.pipeline.requests}
    assert (classes[ids["a"]], classes[ids["b"]]) == (RequestClass.BATCH, RequestClass.INTERACTIVE)


async def test_items_are_read_as_there_is_room(start: Any) -> None:
    running = await start(server={"max_batch_in_flight": 2})
    running.pipeline.release.clear()
    call = running.stub.BatchApplyEdits(feed(*(item(f"{i}") for i in range(9))), timeout=10)
    for _ in range(2):
        await running.pipeline.started.acquire()
    assert len(running.pipeline.requests) == 2
    # A call of its own is not held up: only the items of the batch wait for each other.
    single = asyncio.ensure_future(_single(running))
    await running.pipeline.started.acquire()
    assert len(running.pipeline.requests) == 3
    running.pipeline.release.set()
    assert {r.item_id async for r in call} == {f"{i}" for i in range(9)}
    assert (await single).result.text == "one\ntwo changed\n"


async def _single(running: Any) -> pb.ApplyEditResponse:
    request = pb.ApplyEditRequest(file=item().file, edit=item().edit)
    response: pb.ApplyEditResponse = await running.stub.ApplyEdit(request, timeout=10)
    return response


@pytest.mark.parametrize(("item_id", "reason"), [("", "REQUIRED"), ("x" * 257, "TOO_LARGE")])
async def test_an_item_without_a_usable_id(start: Any, item_id: str, reason: str) -> None:
    running = await start()
    (response,) = [r async for r in running.stub.BatchApplyEdits(feed(item(item_id)), timeout=10)]
    assert violations(response) == [("item_id", reason)]
    assert response.item_id == item_id


async def test_an_id_may_be_used_again_once_it_is_answered(start: Any) -> None:
    running = await start()
    running.pipeline.release.clear()
    sent: asyncio.Queue[pb.BatchApplyEditsRequest | None] = asyncio.Queue()

    async def queued() -> AsyncIterator[pb.BatchApplyEditsRequest]:
        while (one := await sent.get()) is not None:
            yield one

    call = running.stub.BatchApplyEdits(queued(), timeout=10)
    await sent.put(item("same"))
    await running.pipeline.started.acquire()
    await sent.put(item("same"))
    assert violations(await call.read()) == [("item_id", "DUPLICATE")]
    running.pipeline.release.set()
    assert (await call.read()).WhichOneof("outcome") == "result"
    await sent.put(item("same"))
    assert (await call.read()).WhichOneof("outcome") == "result"
    await sent.put(None)
    assert await call.code() is grpc.StatusCode.OK


async def test_a_bug_is_the_outcome_of_its_item(start: Any) -> None:
    running = await start([ValueError("hunter2")])
    (response,) = [r async for r in running.stub.BatchApplyEdits(feed(item()), timeout=10)]
    assert response.status.code == grpc.StatusCode.INTERNAL.value[0]
    assert response.request_id in response.status.message
    assert b"hunter2" not in response.SerializeToString()


async def test_an_empty_batch(start: Any) -> None:
    running = await start()
    assert [r async for r in running.stub.BatchApplyEdits(feed(), timeout=10)] == []


async def test_what_is_no_message_ends_the_call_after_the_answers_of_what_came_before(start: Any) -> None:
    running = await start()
    raw: Any = running.channel.stream_stream("/redraft.v1.ApplyEditService/BatchApplyEdits")

    async def bytes_of() -> AsyncIterator[bytes]:
        yield item("before").SerializeToString()
        yield b"\xff\xff"

    call = raw(bytes_of(), timeout=10)
    response = pb.BatchApplyEditsResponse.FromString(await call.read())
    assert (response.item_id, response.WhichOneof("outcome")) == ("before", "result")
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await call.read()
    assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_caller_that_leaves_stops_the_work(start: Any) -> None:
    running = await start()
    running.pipeline.release.clear()
    call = running.stub.BatchApplyEdits(feed(item()), timeout=10)
    await running.pipeline.started.acquire()
    call.cancel()
    await asyncio.wait_for(running.pipeline.closed.wait(), 10)


async def test_draining_answers_what_is_in_flight_and_then_says_so(start: Any) -> None:
    running = await start(server={"drain_seconds": 10.0})
    running.pipeline.release.clear()
    sent: asyncio.Queue[pb.BatchApplyEditsRequest] = asyncio.Queue()

    async def open_ended() -> AsyncIterator[pb.BatchApplyEditsRequest]:
        while True:
            yield await sent.get()

    call = running.stub.BatchApplyEdits(open_ended(), timeout=10)
    await sent.put(item("in flight"))
    await running.pipeline.started.acquire()
    draining = asyncio.ensure_future(running.server.drain())
    await _not_serving(running)
    running.pipeline.release.set()
    assert (await call.read()).WhichOneof("outcome") == "result"
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await call.read()
    assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
    await draining


async def _not_serving(running: Any) -> None:
    from grpc_health.v1 import health_pb2_grpc

    stub: Any = health_pb2_grpc.HealthStub(running.channel)
    async for response in stub.Watch(health_pb2.HealthCheckRequest(), timeout=10):
        if response.status == health_pb2.HealthCheckResponse.NOT_SERVING:
            return


async def test_a_service_that_starts_refuses_each_item(start: Any) -> None:
    running = await start(ready=False)
    (response,) = [r async for r in running.stub.BatchApplyEdits(feed(item()), timeout=10)]
    assert response.status.code == grpc.StatusCode.UNAVAILABLE.value[0]


async def test_each_item_is_measured_and_the_call_is_not(start: Any) -> None:
    metrics = Metrics()
    running = await start(observe=metrics)
    items = [item("a"), item("b"), item("c", edit=pb.Edit())]
    assert len([r async for r in running.stub.BatchApplyEdits(feed(*items), timeout=10)]) == 3

    def outcomes(reason: str) -> float | None:
        return metrics.registry.get_sample_value("redraft_outcomes_total", {"class": "batch", "reason": reason})

    assert (outcomes("OK"), outcomes("INVALID_REQUEST")) == (2, 1)
    assert metrics.registry.get_sample_value("redraft_requests_total", {"class": "unknown", "reason": "OK"}) in (
        None,
        0,
    )


async def test_the_asynchronous_client(start: Any) -> None:
    running = await start()

    async def calls() -> AsyncIterator[tuple[str, EditCall]]:
        yield "good", CALL
        yield "old", EditCall(path=CALL.path, content=CALL.content, edit=CALL.edit, base_sha256=b"0" * 32)
        yield "bad", EditCall(path=CALL.path, content="", edit=CALL.edit)

    async with AsyncClient(running.address, timeout_seconds=10) as client:
        got = {one.item_id: one.outcome async for one in client.batch(calls())}
    assert isinstance(got["good"], AppliedEdit)
    assert got["good"].text == "one\ntwo changed\n"
    assert isinstance(got["old"], BaseMismatch)
    assert isinstance(got["bad"], InvalidRequest)
    assert [v.field for v in got["bad"].violations] == ["file.text"]


async def test_the_client_of_threads(start: Any) -> None:
    running = await start([EditNotApplicable("nothing like it is there", reason="EDIT_NOT_PLACED")])

    def run() -> list[tuple[str, str]]:
        calls: Iterator[tuple[str, EditCall]] = ((f"{i}", CALL) for i in range(20))
        with Client(running.address, timeout_seconds=10) as client:
            return [(one.item_id, getattr(one.outcome, "reason", "")) for one in client.batch(calls)]

    assert sorted(await asyncio.to_thread(run)) == sorted((f"{i}", "EDIT_NOT_PLACED") for i in range(20))


async def test_a_call_that_fails_as_a_whole(start: Any) -> None:
    async with AsyncClient("127.0.0.1:1", timeout_seconds=10) as client:

        async def calls() -> AsyncIterator[tuple[str, EditCall]]:
            yield "a", CALL

        with pytest.raises(Unavailable):
            [one async for one in client.batch(calls())]


def test_a_status_of_no_known_code_is_a_bug() -> None:
    from service.client_codec import batch_outcome

    response = pb.BatchApplyEditsResponse(item_id="a", status=pb.ItemStatus(code=99, message="?"))
    assert isinstance(batch_outcome(response).outcome, InternalError)
