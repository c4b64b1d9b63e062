"""Fetches pinned archives by the registries' own clients, pip and npm, wherever those are configured to look.

No code of a package is run for a wheel or an npm archive. For a source distribution pip asks its build backend for
metadata, which is code; pip checks the pinned hash before that.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from evals.corpus.lock import Archive

_SAID_LINES = 6


class RegistryError(RuntimeError):
    """An archive could not be had, or is not the pinned one; the message names it and says what the client said."""


class Registries:
    """Archives by pin, from a folder that keeps them or else from their registry."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fetch(self, archive: Archive) -> Path:
        """The archive, its hash checked, also when it was kept. Raises RegistryError and OSError."""
        kept = self._folder / archive.sha256 / archive.file
        if not kept.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self._folder, prefix=".fetching-") as name:
                fetched = _fetch(archive, Path(name))
                _check(archive, fetched)
                kept.parent.mkdir(exist_ok=True)
                os.replace(fetched, kept)
        _check(archive, kept)
        return kept


def _fetch(archive: Archive, folder: Path) -> Path:
    command = _npm(archive, folder) if archive.registry == "npm" else _pip(archive, folder)
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError:
        raise RegistryError(f"{archive} needs {command[0]}, which is not installed") from None
    fetched = folder / archive.file
    if done.returncode != 0 or not fetched.is_file():
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()[-_SAID_LINES:]
        others = ", ".join(sorted(path.name for path in folder.glob("*.*") if path.suffix != ".txt"))
        cause = "\n".join(said) or (f"it gave {others}" if others else "it gave nothing")
        raise RegistryError(f"{archive} could not be fetched by {Path(command[0]).name}: {cause}")
    return fetched


def _npm(archive: Archive, folder: Path) -> Sequence[str]:
    release = f"{archive.name}@{archive.version}"
    return ("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(folder), release)


def _pip(archive: Archive, folder: Path) -> Sequence[str]:
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{archive.name}=={archive.version} --hash=sha256:{archive.sha256}\n", encoding="utf-8")
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--require-hashes"]
    options.append("--ignore-requires-python")  # it is read, not installed: an old release does as well
    if archive.file.endswith(".whl"):
        options += ["--only-binary", ":all:", *_wheel_options(archive)]
    else:
        options += ["--no-binary", ":all:"]
    return (
        sys.executable,
        "-m",
        "pip",
        "download",
        *options,
        "--dest",
        str(folder),
        "--requirement",
        str(requirements),
    )


def _wheel_options(archive: Archive) -> list[str]:
    """So that pip takes the pinned wheel on whatever machine this is."""
    try:
        tags = parse_wheel_filename(archive.file)[3]
    except InvalidWheelFilename as error:
        raise RegistryError(f"{archive}: {error}") from None
    tag: Tag = min(tags, key=str)
    if tag.platform == "any" and tag.abi == "none":
        return []
    implementation, version = tag.interpreter[:2], tag.interpreter[2:]
    options = ["--platform", tag.platform, "--implementation", implementation, "--abi", tag.abi]
    return [*options, "--python-version", f"{version[0]}.{version[1:] or 0}"]


def _check(archive: Archive, path: Path) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != archive.sha256:
        raise RegistryError(
            f"{archive} has SHA-256 {found}, but {archive.sha256} is pinned: it is another archive, or damaged; if it "
            f"is a kept one, remove {path}"
        )
