"""Starts `redraft serve` in a child process on a free port, waits until it serves, and stops it afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from service.channel_options import direct_if_loopback
from service.servicer import SERVICE_NAME

START_SECONDS: Final = 300.0
_POLL_SECONDS: Final = 0.05
_HEALTH_CALL_SECONDS: Final = 2.0
_STOP_SECONDS: Final = 60.0
_LOG_TAIL_LINES: Final = 25


class LaunchError(RuntimeError):
    """The server did not come up; the message ends with the last lines of its log."""


@contextmanager
def launch(
    flags: Sequence[str] = (), *, env: Mapping[str, str] | None = None, start_seconds: float = START_SECONDS
) -> Iterator[str]:
    """Yields the address (HOST:PORT) of a server of its own. See ServerProcess."""
    with ServerProcess(flags, env=env, start_seconds=start_seconds) as server:
        yield server.address


@contextmanager
def service_at(
    address: str | None,
    flags: Sequence[str] = (),
    *,
    env: Mapping[str, str] | None = None,
    start_seconds: float = START_SECONDS,
) -> Iterator[str]:
    """Yields the address that is given, or else that of a server of its own, as launch does."""
    if address is not None:
        yield address
        return
    with launch(flags, env=env, start_seconds=start_seconds) as own:
        yield own


def open_channel(address: str) -> grpc.Channel:
    return grpc.insecure_channel(address, options=direct_if_loopback(address))


class ServerProcess:
    """A server in a child process, as a context manager.

    flags: of `redraft serve`, for example ("--model", "/models/x", "--set", "drafting.max_draft_tokens=64").
    env: added to this process's environment, for example {"REDRAFT_LOG__LEVEL": "debug"}.
    The child stops when this process ends, however it ends. Entering raises LaunchError.
    """

    def __init__(
        self, flags: Sequence[str] = (), *, env: Mapping[str, str] | None = None, start_seconds: float = START_SECONDS
    ) -> None:
        self._flags = tuple(flags)
        self._env = {**os.environ, **(env or {})}
        self._start_seconds = start_seconds
        self._resources = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._log = Path()

    @property
    def address(self) -> str:
        return self._address

    @property
    def process(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise LaunchError("the server has not been started: use it as a context manager")
        return self._process

    def log(self) -> str:
        """What the server has printed so far, on both streams."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def __enter__(self) -> Self:
        folder = Path(self._resources.enter_context(tempfile.TemporaryDirectory(prefix="redraft-")))
        self._log = folder / "log"
        address_file = folder / "address"
        output = self._resources.enter_context(self._log.open("wb"))
        command = [
            *(sys.executable, "-m", "service.cli", "serve", "--set", "metrics.port=0", *self._flags),
            *("--port", "0"),
            *("--set", f"server.address_file={address_file}", "--set", "server.stop_on_stdin_eof=true"),
        ]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, env=self._env
            )
            self._wait_until_serving(address_file)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def terminate(self) -> None:
        """Sends SIGTERM: the server drains."""
        self.process.send_signal(signal.SIGTERM)

    def _close(self) -> None:
        process = self._process
        if process is not None:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(_STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            if process.stdin is not None:
                process.stdin.close()
        self._resources.close()

    def _wait_until_serving(self, address_file: Path) -> None:
        end = time.monotonic() + self._start_seconds
        while not address_file.exists():
            self._check_starting(end)
            time.sleep(_POLL_SECONDS)
        self._address = address_file.read_text(encoding="utf-8")
        with open_channel(self._address) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            while not self._is_serving(stub):
                self._check_starting(end)
                time.sleep(_POLL_SECONDS)

    def _is_serving(self, stub: health_pb2_grpc.HealthStub) -> bool:
        request = health_pb2.HealthCheckRequest(service=SERVICE_NAME)
        try:
            answer = stub.Check(request, timeout=_HEALTH_CALL_SECONDS)
        except grpc.RpcError:
            return False
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    def _check_starting(self, end: float) -> None:
        code = self.process.poll()
        if code is not None:
            raise LaunchError(f"the server ended with exit status {code} before it served:\n{self._log_tail()}")
        if time.monotonic() > end:
            raise LaunchError(f"the server did not serve within {self._start_seconds:g} s:\n{self._log_tail()}")

    def _log_tail(self) -> str:
        return "\n".join(self.log().splitlines()[-_LOG_TAIL_LINES:])
