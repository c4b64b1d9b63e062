"""What an installed redraft needs at run time is in its wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IGNORED = shutil.ignore_patterns("__pycache__", "*.egg-info", "node_modules")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names in a wheel that is built from a copy, so that nothing is left in the checkout."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("drafts", "service", "evals"):
        shutil.copytree(ROOT / name, source / name, ignore=IGNORED)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--wheel-dir", str(out), str(source)], check=True, stdin=subprocess.DEVNULL)
    (built,) = out.glob("redraft-*.whl")
    with zipfile.ZipFile(built) as archive:
        return archive.namelist()


def test_every_example_is_in_it(wheel: list[str]) -> None:
    examples = {f"evals/examples/{path.name}" for path in (ROOT / "evals" / "examples").glob("*.txt")}
    assert examples
    assert examples <= set(wheel)


def test_the_embedded_model_is_in_it(wheel: list[str]) -> None:
    files = {f"service/embedded/{path.name}" for path in (ROOT / "service" / "embedded").iterdir() if path.is_file()}
    assert files
    assert files <= set(wheel)
    assert "service/embedded/training/sources.toml" in wheel


def test_every_module_of_the_packages_is_in_it(wheel: list[str]) -> None:
    modules = {
        str(path.relative_to(ROOT))
        for package in ("drafts", "service", "evals")
        for path in (ROOT / package).rglob("*.py")
        if (path.parent / "__init__.py").exists()
    }
    assert modules
    assert modules <= set(wheel)


def test_every_data_file_of_the_evals_is_in_it(wheel: list[str]) -> None:
    files = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "evals").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc") and "results" not in path.parts
    }
    assert any(name.endswith("page.js") for name in files)
    assert files <= set(wheel)


def test_types_licence_and_commands_are_in_it(wheel: list[str]) -> None:
    for package in ("drafts", "service", "evals"):
        assert f"{package}/py.typed" in wheel
    assert any(name.startswith("service/pb/") and name.endswith(".pyi") for name in wheel)
    assert any(name.endswith("/LICENSE") for name in wheel)
    assert any(name.endswith("/entry_points.txt") for name in wheel)


def test_nothing_else_is_in_it(wheel: list[str]) -> None:
    assert {name.split("/")[0] for name in wheel if ".dist-info/" not in name} == {"drafts", "service", "evals"}
