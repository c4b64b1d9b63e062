"""The lock file of a corpus from packages: which releases, and the SHA-256 of every archive.

[[pair]]
registry = "npm"                # or "pypi"
name = "left-pad"
license = "MIT"                 # SPDX expression, of both releases
languages = ["javascript"]      # of the files to take; left out: all known ones but plain text
exclude = ["lib/"]              # path prefixes to leave out: built output that the filters cannot tell
before = { version = "1.2.0", file = "left-pad-1.2.0.tgz", sha256 = "..." }
after = { version = "1.3.0", file = "left-pad-1.3.0.tgz", sha256 = "..." }
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from service import languages

REGISTRIES: Final = ("pypi", "npm")
_NAMES: Final = {
    "pypi": re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?"),
    "npm": re.compile(r"(@[a-z0-9][a-z0-9._~-]*/)?[a-z0-9][a-z0-9._~-]*"),
}
# Both are handed to a registry's client, which would take other spellings for addresses, paths or flags.
_VERSION: Final = re.compile(r"[0-9][A-Za-z0-9.+!-]*")
_FILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*\.(tgz|tar\.gz|whl|zip)")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class LockError(ValueError):
    """The lock file cannot be used; the message names the pair and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Archive:
    """One release's archive, as its registry has it."""

    registry: str
    name: str
    version: str
    file: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.registry}:{self.name} {self.version} ({self.file})"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two releases of a package; see the module."""

    registry: str
    name: str
    license: str
    languages: tuple[str, ...]
    exclude: tuple[str, ...]
    before: Archive
    after: Archive

    @property
    def repo(self) -> str:
        return f"{self.registry}:{self.name}"

    @property
    def commit(self) -> str:
        return f"{self.before.version}..{self.after.version}"


def read_lock(path: Path) -> tuple[Pair, ...]:
    """Raises LockError, and OSError."""
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LockError(f"{path} is not TOML: {error}") from error
    rows = record.get("pair")
    if not isinstance(rows, list) or not rows:
        raise LockError(f"{path} has no [[pair]]")
    pairs = tuple(_pair(f"{path}, pair {number}", row) for number, row in enumerate(rows, start=1))
    seen: set[str] = set()
    for pair in pairs:
        if pair.repo in seen:
            raise LockError(f"{path}: {pair.repo} is there twice")
        seen.add(pair.repo)
    return pairs


def _pair(where: str, row: Any) -> Pair:
    known = {"registry", "name", "license", "languages", "exclude", "before", "after"}
    if not isinstance(row, dict):
        raise LockError(f"{where} is no table")
    if isinstance(row.get("name"), str):
        where += f" ({row['name']})"
    if unknown := sorted(set(row) - known):
        raise LockError(f"{where}: there is no {', '.join(unknown)}; a pair has {', '.join(sorted(known))}")
    registry = row.get("registry")
    if registry not in REGISTRIES:
        raise LockError(f"{where}: registry must be one of {', '.join(REGISTRIES)}")
    name = _text(where, row, "name", _NAMES[registry])
    try:
        license_ = str(canonicalize_license_expression(str(row.get("license", ""))))
    except InvalidLicenseExpression:
        raise LockError(f"{where}: license must be an SPDX expression") from None
    chosen, exclude = (_texts(where, row, key) for key in ("languages", "exclude"))
    if wrong := [language for language in chosen if language not in languages.KNOWN]:
        raise LockError(f"{where}: there is no language {', '.join(wrong)}")
    before, after = (_archive(f"{where}, {side}", registry, name, row.get(side)) for side in ("before", "after"))
    return Pair(registry, name, license_, chosen, exclude, before, after)


def _archive(where: str, registry: str, name: str, row: Any) -> Archive:
    if not isinstance(row, dict):
        raise LockError(f"{where}: give a table of version, file and sha256")
    version = _text(where, row, "version", _VERSION)
    return Archive(registry, name, version, _text(where, row, "file", _FILE), _text(where, row, "sha256", _SHA256))


def _text(where: str, row: dict[str, Any], key: str, pattern: re.Pattern[str]) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise LockError(f"{where}: {key} is missing or has the wrong form ({pattern.pattern})")
    return value


def _texts(where: str, row: dict[str, Any], key: str) -> tuple[str, ...]:
    value = row.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise LockError(f"{where}: {key} must be a list of strings")
    return tuple(value)
