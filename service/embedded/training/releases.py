"""Real edits for training: the files that differ between the two releases of each pair in `releases.toml`.

`python -m service.embedded.training.releases --archives DIR --out edits.jsonl.gz` fetches each archive that is not yet
in DIR as `sources.py` does, hash checked, and writes one row of JSON an edit: before, after, and where it is from.
"""

from __future__ import annotations

import argparse
import random
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from service.embedded.training.rendering import changed_share, changes_between, text_lines
from service.embedded.training.sources import LANGUAGES, Package, fetch, members, read_rows, source_text, write_rows

MAX_CHANGED = 0.5  # of the lines of both versions: what is mostly rewritten is no edit
EDITS_PER_PACKAGE = 60  # and language: no project's style weighs too much

_MACHINE_MADE_PATH = re.compile(
    r"(^|/)(node_modules|_?vendor(ed)?|third[-_]?party|external|deps|dist|build|generated)/", re.IGNORECASE
)
_MACHINE_MADE_TEXT = re.compile(r"@generated\b|do not (edit|modify)\b|\b(auto-?)?generated (by|from)\b", re.IGNORECASE)
_LOOKED_AT_LINES = 12


@dataclass(frozen=True, slots=True)
class Pair:
    """Two releases of a package, the earlier one first. exclude: what paths left out begin with."""

    before: Package
    after: Package
    exclude: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RealEdit:
    """A file of both releases of a package, with LF line ends. path: within the package."""

    language: str
    package: str
    path: str
    license: str
    before: str
    after: str


def read_pairs(path: Path = Path(__file__).parent / "releases.toml") -> list[Pair]:
    with path.open("rb") as file:
        rows = tomllib.load(file)["pair"]
    return [Pair(_package(row, "before"), _package(row, "after"), tuple(row.get("exclude", ()))) for row in rows]


def _package(row: dict[str, Any], side: str) -> Package:
    shared = {key: row[key] for key in ("registry", "name", "license")}
    return Package(**shared, **row[side], languages=tuple(row["languages"]))


def edits_of(pair: Pair, archives: Path, seed: int) -> list[RealEdit]:
    """At most EDITS_PER_PACKAGE of each language, drawn by the seed whatever other pairs there are.

    Raises SourceError.
    """
    before, after = (_texts(package, pair.exclude, archives) for package in (pair.before, pair.after))
    changed = [path for path in sorted(before.keys() & after.keys()) if before[path] != after[path]]
    random.Random(f"{seed} {pair.before.file}").shuffle(changed)
    found: list[RealEdit] = []
    taken: Counter[str] = Counter()
    for path in changed:
        language = LANGUAGES[PurePosixPath(path).suffix]
        if taken[language] < EDITS_PER_PACKAGE and _is_edit(before[path], after[path]):
            taken[language] += 1
            package = pair.after
            found.append(RealEdit(language, package.name, path, package.license, before[path], after[path]))
    return found


def _texts(package: Package, exclude: tuple[str, ...], archives: Path) -> dict[str, str]:
    """Hand-written source files by their path in the package: a tar archive's top folder is left off."""
    texts: dict[str, str] = {}
    for name, content in members(fetch(package, archives)):
        path = name if package.file.endswith(".whl") else name.partition("/")[2]
        if LANGUAGES.get(PurePosixPath(path).suffix) not in package.languages or path.startswith(exclude):
            continue
        text = None if _MACHINE_MADE_PATH.search(path) else source_text(path, content)
        if text is not None and not any(map(_MACHINE_MADE_TEXT.search, text.split("\n")[:_LOOKED_AT_LINES])):
            texts[path] = text
    return texts


def _is_edit(before: str, after: str) -> bool:
    lines = text_lines(before)
    changes = changes_between(lines, text_lines(after))
    return bool(changes) and changed_share(lines, changes) <= MAX_CHANGED


def build(pairs: Sequence[Pair], archives: Path, out: Path, seed: int = 0) -> Counter[str]:
    """Writes the edits in an order by seed, none of them twice; returns their number by language."""
    archives.mkdir(parents=True, exist_ok=True)
    edits: dict[tuple[str, str], RealEdit] = {}
    for pair in pairs:
        found = edits_of(pair, archives, seed)
        print(f"{pair.after.name} {pair.before.version} to {pair.after.version}: {len(found)} edits", flush=True)
        for edit in found:
            edits.setdefault((edit.before, edit.after), edit)
    rows = list(edits.values())
    random.Random(seed).shuffle(rows)
    write_rows(out, map(asdict, rows))
    return Counter(edit.language for edit in rows)


def read_edits(path: Path) -> list[RealEdit]:
    return [RealEdit(**row) for row in read_rows(path)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    print(dict(build(read_pairs(), options.archives, options.out).most_common()))


if __name__ == "__main__":
    main()
