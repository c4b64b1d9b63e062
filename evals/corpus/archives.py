"""Reads files out of archives in memory: nothing is unpacked to disk, and no archive can make it read without end."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

MAX_MEMBERS: Final = 100_000
MAX_UNPACKED_BYTES: Final = 1_000_000_000


class ArchiveError(ValueError):
    """The archive is damaged, or larger than any package is; the message names it."""


def read_files(path: Path, wanted: Callable[[str], bool], max_bytes: int) -> dict[str, bytes]:
    """path -> content, of the regular files that are wanted and no longer than `max_bytes`.

    Paths are those within the package: of a tar archive the top folder is left off. Links, devices and names that
    lead elsewhere are left out. Raises ArchiveError, and OSError.
    """
    try:
        if path.name.endswith((".whl", ".zip")):
            return dict(_zip(path, wanted, max_bytes))
        return dict(_tar(path, wanted, max_bytes))
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ArchiveError(f"{path.name} is damaged: {error}") from error


def _tar(path: Path, wanted: Callable[[str], bool], max_bytes: int) -> Iterator[tuple[str, bytes]]:
    unpacked = 0
    with tarfile.open(path, "r|gz") as archive:
        for number, member in enumerate(archive):
            unpacked += member.size
            _bound(path, number, unpacked)
            name = _inside(member.name, strip=1)
            if name is None or not member.isreg() or member.size > max_bytes or not wanted(name):
                continue
            file = archive.extractfile(member)
            if file is not None:
                yield name, file.read()


def _zip(path: Path, wanted: Callable[[str], bool], max_bytes: int) -> Iterator[tuple[str, bytes]]:
    unpacked = 0
    with zipfile.ZipFile(path) as archive:
        for number, member in enumerate(archive.infolist()):
            _bound(path, number, unpacked)
            name = _inside(member.filename, strip=0)
            if name is None or member.is_dir() or member.file_size > max_bytes or not wanted(name):
                continue
            with archive.open(member) as file:
                content = file.read(max_bytes + 1)  # whatever the directory says of its size
            unpacked += len(content)
            if len(content) <= max_bytes:
                yield name, content


def _inside(name: str, strip: int) -> str | None:
    """The path within the package; None for one that leads out of it."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or len(path.parts) <= strip:
        return None
    return str(PurePosixPath(*path.parts[strip:]))


def _bound(path: Path, members: int, unpacked: int) -> None:
    if members > MAX_MEMBERS or unpacked > MAX_UNPACKED_BYTES:
        raise ArchiveError(
            f"{path.name} holds more than {MAX_MEMBERS} files or {MAX_UNPACKED_BYTES} bytes, as no package does"
        )
