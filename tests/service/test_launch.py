"""Where a service is found. tests/service/test_cli.py and the evals' tests start real ones through it."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.launch import LaunchError, service_at


def test_a_given_address_is_taken_as_it_is_and_nothing_is_started() -> None:
    with service_at("some.host:1", ["--no-such-flag"]) as address:
        assert address == "some.host:1"


def test_without_one_a_server_is_started_with_the_flags(tmp_path: Path) -> None:
    flags = ["--config", str(tmp_path / "none.toml")]
    with pytest.raises(LaunchError, match=r"exit status 2 before it served:(.|\n)*none\.toml"), service_at(None, flags):
        pytest.fail("no server can start on it")
