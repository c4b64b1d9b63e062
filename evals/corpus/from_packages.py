"""Real edits from pairs of released packages: each a file that is in both releases and not the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from evals.corpus.archives import ArchiveError, read_files
from evals.corpus.filters import LeftOut, Limits, language_of, texts_of
from evals.corpus.from_git import Advance
from evals.corpus.lock import Archive, Pair
from evals.corpus.records import EditRecord
from evals.corpus.registries import Registries, RegistryError
from evals.corpus.selection import turn


@dataclass(frozen=True, slots=True)
class PackageOptions:
    """per_language: edits of one language in one pair, so that no package weighs too much. max_edits: None for all."""

    limits: Limits
    max_edits: int | None = None
    seed: int = 0
    per_language: int = 12


class PackageMiner:
    """Fills `records`, pair after pair. What was fetched is kept, so the next one goes on from there.

    failed: pairs that gave nothing because an archive could not be had, with the reason.
    """

    def __init__(
        self, pairs: Sequence[Pair], registries: Registries, options: PackageOptions, advance: Advance
    ) -> None:
        self._pairs = pairs
        self._registries = registries
        self._options = options
        self._advance = advance
        self._found: list[EditRecord] = []
        self.left_out: Counter[str] = Counter()
        self.failed: dict[str, str] = {}

    @property
    def records(self) -> list[EditRecord]:
        """In an order that the seed gives, whatever the order of the pairs."""
        ordered = sorted(self._found, key=lambda record: turn(self._options.seed, record.id))
        return ordered[: self._options.max_edits]

    def run(self) -> None:
        """Raises OSError."""
        for done, pair in enumerate(self._pairs):
            self._advance("reading packages", done, len(self._pairs))
            try:
                self._found += self._chosen(pair)
            except (RegistryError, ArchiveError) as error:
                self.failed[pair.repo] = str(error)
        self._advance("reading packages", len(self._pairs), len(self._pairs))

    def _chosen(self, pair: Pair) -> list[EditRecord]:
        found = sorted(self._edits(pair), key=lambda record: turn(self._options.seed, record.id))
        taken: Counter[str] = Counter()
        chosen: list[EditRecord] = []
        for record in found:
            if taken[record.language] < self._options.per_language:
                taken[record.language] += 1
                chosen.append(record)
            else:
                self.left_out["enough of this package and language"] += 1
        return chosen

    def _edits(self, pair: Pair) -> Iterator[EditRecord]:
        limits = self._options.limits
        chosen = [language for language in pair.languages if language in (limits.languages or pair.languages)]
        if pair.languages:
            if not chosen:
                return
            limits = replace(limits, languages=tuple(chosen))

        def wanted(path: str) -> bool:
            excluded = path.startswith(pair.exclude) if pair.exclude else False
            return not excluded and not isinstance(language_of(path, limits), LeftOut)

        def read(archive: Archive) -> dict[str, bytes]:
            return read_files(self._registries.fetch(archive), wanted, limits.max_bytes)

        before, after = read(pair.before), read(pair.after)
        for path in sorted(before.keys() & after.keys()):
            if before[path] == after[path]:
                continue
            texts = texts_of(path, before[path], after[path], limits)
            if isinstance(texts, LeftOut):
                self.left_out[texts.reason] += 1
                continue
            yield EditRecord(
                id=f"{pair.repo}@{pair.commit}:{path}",
                repo=pair.repo,
                commit=pair.commit,
                path=path,
                language=texts.language,
                license=pair.license,
                instruction="",  # a release says what it changes, and not file by file
                before=texts.before,
                after=texts.after,
            )
