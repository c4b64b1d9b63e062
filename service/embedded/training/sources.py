"""Builds the training corpus from the packages of `sources.toml`.

`python -m service.embedded.training.sources --archives DIR --out corpus.jsonl.gz` downloads each archive that is not
yet in DIR with its registry's own client (pip, npm, apt-get), checks its hash, and takes the source files out.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import random
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = {
    ".py": "python",
    ".js": "javascript",
    ".ts": "typescript",
    ".tsx": "typescript",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".c": "c",
    ".h": "c",
    ".rb": "ruby",
}
MIN_BYTES, MAX_BYTES, MIN_LINES, MAX_LINE_LENGTH = 400, 60_000, 15, 200
FILES_PER_PACKAGE = 150  # and language: no project's style weighs too much


class SourceError(Exception):
    """An archive could not be had, or is not the one that was pinned."""


@dataclass(frozen=True, slots=True)
class Package:
    registry: str
    name: str
    version: str
    file: str
    sha256: str
    license: str
    languages: tuple[str, ...]


def read_packages(path: Path = Path(__file__).parent / "sources.toml") -> list[Package]:
    with path.open("rb") as file:
        rows = tomllib.load(file)["package"]
    return [Package(**{**row, "languages": tuple(row["languages"])}) for row in rows]


def fetch(package: Package, archives: Path) -> Path:
    """The package's archive, downloaded if need be. Raises SourceError when it is not the pinned one."""
    path = archives / package.file
    if not path.exists():
        subprocess.run(_command(package), cwd=archives, check=False, stdout=subprocess.DEVNULL)
        if not path.exists():
            hint = " (after apt-get update)" if package.registry == "debian" else ""
            raise SourceError(f"{package.registry} did not give {package.file}: is that version still there{hint}?")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != package.sha256:
        raise SourceError(f"{path} has SHA-256 {digest}, {package.sha256} was pinned: remove it and try again")
    return path


def _command(package: Package) -> list[str]:
    if package.registry == "npm":
        return ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
    if package.registry == "debian":
        return ["apt-get", "download", "-qq", f"{package.name}={package.version}"]
    # Of this package alone: pip asks its build backend for metadata, and may have that as a wheel.
    kind = ["--no-binary", package.name] if package.file.endswith(".tar.gz") else []
    requirement = f"{package.name}=={package.version}"
    return [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *kind, requirement]


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every regular file of a wheel, a tar archive or a Debian package."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield name, archive.read(name)
        return
    data = path.read_bytes()
    if path.suffix == ".deb":
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(path)], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content.read()


def source_text(name: str, content: bytes) -> str | None:
    """The text of a hand-written source file of usable size, with LF line ends; None for anything else."""
    if name.endswith(".d.ts") or ".min." in name or not MIN_BYTES <= len(content) <= MAX_BYTES:
        return None
    try:
        text = content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    lines = text.split("\n")
    return text if len(lines) >= MIN_LINES and max(map(len, lines)) <= MAX_LINE_LENGTH else None


def build(archives: Path, out: Path, seed: int = 0) -> Counter[str]:
    """Writes the corpus; returns the number of files by language. Deterministic: sorted, then shuffled by seed."""
    archives.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, str]] = []
    seen: set[bytes] = set()
    rng = random.Random(seed)
    for package in read_packages():
        found: dict[str, list[dict[str, str]]] = {}
        for name, content in sorted(members(fetch(package, archives))):
            language = LANGUAGES.get(Path(name).suffix)
            if language not in package.languages or (text := source_text(name, content)) is None:
                continue
            digest = hashlib.sha256(content).digest()
            if digest not in seen:
                seen.add(digest)
                row = {"language": language, "package": package.name, "path": name, "text": text}
                found.setdefault(language, []).append(row)
        for same in found.values():
            rng.shuffle(same)
            rows += same[:FILES_PER_PACKAGE]
        print(f"{package.name}: {sum(map(len, found.values()))} files", flush=True)
    rng.shuffle(rows)
    write_rows(out, rows)
    return Counter(row["language"] for row in rows)


def write_rows(out: Path, rows: Iterable[Mapping[str, str]]) -> None:
    """A row of JSON each, gzipped: the same rows give the same bytes, whenever and wherever they are written."""
    with out.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file:
        for row in rows:
            file.write((json.dumps(row) + "\n").encode())


def read_rows(path: Path) -> Iterator[dict[str, str]]:
    """What `write_rows` wrote."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def read_corpus(path: Path) -> dict[str, list[str]]:
    """Texts by language, in the corpus's order."""
    files: dict[str, list[str]] = {}
    for row in read_rows(path):
        files.setdefault(row["language"], []).append(row["text"])
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    print(dict(build(options.archives, options.out)))


if __name__ == "__main__":
    main()
