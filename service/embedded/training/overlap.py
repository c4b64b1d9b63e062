"""How much of what the model is measured on stands in what it is trained on, by n-grams of normalised lines.

`python -m service.embedded.training.overlap --corpus corpus.jsonl.gz --edits edits.jsonl.gz --against PATH...`; either
of the two may be left out. A PATH is a file, a folder of text files, or rows of JSON (`.jsonl`, `.jsonl.gz`) of which
every string is compared.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from service.embedded.training.releases import read_edits
from service.embedded.training.sources import read_corpus

LINES = 8
"""Lines in a row that make two texts overlap: fewer are idiom (licence heads, imports), more miss edited copies."""

_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Overlap:
    """texts: those that have an n-gram at all. touched: by name, the share of a text's n-grams found in training."""

    texts: int
    ngrams: int
    shared: int
    touched: Mapping[str, float]

    def __str__(self) -> str:
        share = self.shared / self.ngrams if self.ngrams else 0.0
        worst = sorted(self.touched.items(), key=lambda item: -item[1])[:10]
        lines = [
            f"{len(self.touched)} of {self.texts} texts share a run of lines with the training data; "
            f"{self.shared} of {self.ngrams} runs ({share:.3%})"
        ]
        return "\n".join([*lines, *(f"  {part:7.1%}  {name}" for name, part in worst)])


def line_ngrams(text: str, lines: int = LINES) -> set[bytes]:
    """Hashes of every run of `lines` lines; blanks are collapsed, and lines without a letter or a digit left out."""
    kept = [_BLANKS.sub(" ", line).strip() for line in text.splitlines()]
    kept = [line for line in kept if any(map(str.isalnum, line))]
    runs = ("\n".join(kept[i : i + lines]) for i in range(len(kept) - lines + 1))
    return {hashlib.blake2b(run.encode("utf-8", "surrogatepass"), digest_size=8).digest() for run in runs}


def find_overlap(training: Iterable[str], measured: Mapping[str, str], lines: int = LINES) -> Overlap:
    """Texts shorter than `lines` lines have no n-gram and are not counted. Raises ValueError for lines < 1."""
    if lines < 1:
        raise ValueError(f"an n-gram needs at least one line, got {lines}")
    wanted = {name: grams for name, text in measured.items() if (grams := line_ngrams(text, lines))}
    every = set().union(*wanted.values())
    found: set[bytes] = set()
    for text in training:
        found |= line_ngrams(text, lines) & every
    touched = {name: len(grams & found) / len(grams) for name, grams in wanted.items() if grams & found}
    return Overlap(len(wanted), len(every), len(found), touched)


def training_texts(corpus: Path | None, edits: Path | None) -> Iterator[str]:
    """Every text of the corpus, and both versions of every real edit."""
    for texts in (read_corpus(corpus) if corpus else {}).values():
        yield from texts
    for edit in read_edits(edits) if edits else ():
        yield from (edit.before, edit.after)


def measured_texts(path: Path) -> Iterator[tuple[str, str]]:
    """(name, text) of every text at a path; files that are not UTF-8 are left out."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file():
                yield from measured_texts(file)
    elif path.name.endswith((".jsonl", ".jsonl.gz")):
        raw = path.read_bytes()
        rows = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8").split("\n")
        for number, row in enumerate(rows, start=1):
            for key, value in (json.loads(row) if row.strip() else {}).items():
                if isinstance(value, str):
                    yield f"{path.name}:{number}:{key}", value
    else:
        try:
            yield str(path), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--edits", type=Path, help="both versions of each are compared")
    parser.add_argument("--against", type=Path, nargs="+", required=True)
    parser.add_argument("--lines", type=int, default=LINES)
    options = parser.parse_args()
    measured = {name: text for path in options.against for name, text in measured_texts(path)}
    if options.corpus is None and options.edits is None:
        parser.error("give what the model is trained on: --corpus, --edits or both")
    print(find_overlap(training_texts(options.corpus, options.edits), measured, options.lines))


if __name__ == "__main__":
    main()
