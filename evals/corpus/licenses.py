"""The licence of a repository or package, as an SPDX expression."""

from __future__ import annotations

import json
import re
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from identify.identify import license_id
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

UNKNOWN: Final = "NOASSERTION"
"""SPDX's word for a licence that was looked for and not made out."""

_TABLES: Final = {"Cargo.toml": "package", "pyproject.toml": "project"}
_TEXT_NAMES: Final = re.compile(r"(un)?licen[cs]e.*|copying.*", re.IGNORECASE)
_MANIFESTS: Final = ("Cargo.toml", "package.json", "pyproject.toml")
_TAG: Final = re.compile(rb"SPDX-License-Identifier:[ \t]*([^\r\n*#]+)")
_MAX_BYTES: Final = 100_000

PERMISSIVE: Final = frozenset(
    {"MIT", "MIT-0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Zlib", "Unlicense", "CC0-1.0"}
    | {"PSF-2.0", "Python-2.0", "BSL-1.0"}
)


def is_candidate(name: str) -> bool:
    """Whether a file of the top folder may tell the licence."""
    return name in _MANIFESTS or _TEXT_NAMES.fullmatch(name) is not None


def detect(files: Mapping[str, bytes]) -> str:
    """An SPDX expression from the candidates among a top folder's files (name -> content), or UNKNOWN.

    A manifest's own expression counts first, then SPDX tags and the licence texts, by comparison with the texts of
    SPDX's list. Several texts all apply ("A AND B"): that one may choose among them only a manifest can say.
    """
    for name in _MANIFESTS:
        if name in files and (declared := _declared(name, files[name])) is not None:
            return declared
    texts = [content for name, content in sorted(files.items()) if _TEXT_NAMES.fullmatch(PurePosixPath(name).name)]
    found = {expression for content in texts if (expression := _of_text(content)) is not None}
    return " AND ".join(sorted(found)) or UNKNOWN


def is_permissive(expression: str, *, also: Iterable[str] = ()) -> bool:
    """Whether every licence that the expression names is a permissive one."""
    names = {word for word in re.findall(r"[\w.+-]+", expression) if word not in ("AND", "OR")}
    return bool(names) and names <= PERMISSIVE | set(also)


def _declared(name: str, content: bytes) -> str | None:
    try:
        manifest: Any = json.loads(content) if name.endswith(".json") else tomllib.loads(content.decode())
        record = manifest[_TABLES[name]] if name in _TABLES else manifest
        declared = record["license"]
        if name == "Cargo.toml" and isinstance(declared, dict) and declared["workspace"] is True:
            declared = manifest["workspace"]["package"]["license"]  # what all packages of a workspace share
        return canonicalize_license_expression(declared)
    except (ValueError, LookupError, TypeError, AttributeError, InvalidLicenseExpression):
        return None  # not whole, or it says it in another way: the licence's text does


def _of_text(content: bytes) -> str | None:
    if len(content) > _MAX_BYTES:
        return None
    tag = _TAG.search(content)
    if tag is not None:
        try:
            return str(canonicalize_license_expression(tag[1].decode("ascii", errors="replace").strip()))
        except InvalidLicenseExpression:
            pass  # then the text may say it
    with tempfile.TemporaryDirectory(prefix="redraft-") as folder:
        path = Path(folder) / "license"
        path.write_text(content.decode("utf-8", errors="replace"), encoding="utf-8")
        return license_id(str(path))
