"""Which addresses are this machine's own, and that a proxy of the environment is not asked for them."""

from __future__ import annotations

from typing import Any

import pytest

from service.channel_options import direct_if_loopback, is_loopback
from service.client import AsyncClient, Client, EditCall, UpdateSnippet

CALL = EditCall(path="a.py", content="one\ntwo\n", edit=UpdateSnippet("# ... existing code ...\ntwo changed\n"))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:1",
        "127.9.9.9:1",
        "[::1]:1",
        "localhost:1",
        "LOCALHOST:1",
        "dns:///localhost:1",
        "ipv4:///127.0.0.1:1",
    ],
)
def test_loopback(address: str) -> None:
    assert is_loopback(address)
    assert direct_if_loopback(address)


@pytest.mark.parametrize(
    "address", ["10.0.0.1:1", "[fd00::1]:1", "localhost.example.org:1", "redraft:1", "dns:///redraft:1", "unix:/run/x"]
)
def test_not_loopback(address: str) -> None:
    assert not is_loopback(address)
    assert not direct_if_loopback(address)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int) -> None:
    """A proxy that does not answer; nothing is exempt from it."""
    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_tcp_port}")
    for name in ("no_grpc_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


async def test_clients_go_around_a_proxy(proxy: None, scripted_address: str) -> None:
    with Client(scripted_address, timeout_seconds=20) as client:
        assert client.apply(CALL).text == "one\ntwo changed\n"
    async with AsyncClient(scripted_address, timeout_seconds=20) as other:
        assert (await other.apply(CALL)).text == "one\ntwo changed\n"


def test_a_launched_service_is_found_behind_a_proxy(spawn: Any, proxy: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """ServerProcess asks its own server for its health over the same kind of channel."""
    from grpc_health.v1 import health_pb2_grpc

    from service.launch import ServerProcess, open_channel

    server = spawn()
    with open_channel(server.address) as channel:
        assert ServerProcess()._is_serving(health_pb2_grpc.HealthStub(channel))
