"""Real edits from a git history: each a file that one commit modified in place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evals.corpus import licenses
from evals.corpus.filters import LeftOut, Limits, language_of, texts_of
from evals.corpus.git_plumbing import Change, Objects, Repository
from evals.corpus.journal import Journal
from evals.corpus.records import EditRecord
from evals.corpus.selection import turn

_COMMITS_AT_ONCE: Final = 1000
_RULES: Final = 1
"""Raise it when the filters change: what was kept by older ones is not to be gone on from."""

Advance = Callable[[str, int, int], None]
"""Told what is being done, how far it is, and how far it goes."""


@dataclass(frozen=True, slots=True)
class GitOptions:
    """since: as git reads dates. per_commit, per_file: no sweeping commit and no busy file weighs too much."""

    limits: Limits
    since: str | None = None
    max_edits: int = 300
    seed: int = 0
    per_commit: int = 3
    per_file: int = 5


class GitMiner:
    """Fills `records`, in an order that the seed gives. Whatever stops it, the next one goes on from there."""

    def __init__(self, repository: Repository, options: GitOptions, cache: Path, advance: Advance) -> None:
        self._repository = repository
        self._options = options
        self._cache = cache
        self._advance = advance
        self.records: list[EditRecord] = []
        self.left_out: Counter[str] = Counter()

    def run(self) -> None:
        """Raises GitError and OSError."""
        repository, options = self._repository, self._options
        head = repository.head()
        commits = repository.commits(head, options.since)
        # "2 weeks ago" is another set of commits by tomorrow, so the set counts and not its name.
        place = [_RULES, repository.folder, repository.prefix, head, len(commits), commits[-1:]]
        changes = list(self._changes(commits, place))
        marked = repository.marked(sorted({change.path for change in changes})) if changes else set()
        usable = [change for change in changes if self._usable(change, marked)]
        usable.sort(key=lambda change: turn(options.seed, f"{change.commit}\0{change.path}"))
        key = [*place, options.limits.to_json(), options.seed, options.per_commit, options.per_file]
        with repository.objects() as objects, Journal(self._cache, "git-edits", key) as journal:
            license_ = _license(repository, head, objects)
            self._examine(usable, objects, journal, license_, repository.name())

    def _changes(self, commits: list[str], place: list[Any]) -> Iterator[Change]:
        with Journal(self._cache, "git-changes", place) as log:
            for batch in log:
                yield from (Change(*fields) for fields in batch)
            for start in range(len(log) * _COMMITS_AT_ONCE, len(commits), _COMMITS_AT_ONCE):
                self._advance("reading commits", start, len(commits))
                found = list(self._repository.changes(commits[start : start + _COMMITS_AT_ONCE]))
                log.append([[c.commit, c.path, c.before, c.after] for c in found])
                yield from found
        self._advance("reading commits", len(commits), len(commits))

    def _usable(self, change: Change, marked: set[str]) -> bool:
        try:
            change.path.encode()
        except UnicodeEncodeError:
            verdict: str | LeftOut = LeftOut("odd path")
        else:
            verdict = language_of(change.path, self._options.limits)
        if change.path in marked:
            verdict = LeftOut("generated or vendored")
        if isinstance(verdict, LeftOut):
            self.left_out[verdict.reason] += 1
            return False
        return True

    def _examine(self, usable: list[Change], objects: Objects, journal: Journal, license_: str, name: str) -> None:
        """Turn by turn, until there are enough. The journal has one line a turn."""
        options = self._options
        of_commit: Counter[str] = Counter()
        of_file: Counter[str] = Counter()
        earlier = iter(journal)
        for change in usable:
            if len(self.records) >= options.max_edits:
                break
            self._advance("choosing edits", len(self.records), options.max_edits)
            verdict = next(earlier, None)
            if verdict is None:
                full = of_commit[change.commit] >= options.per_commit or of_file[change.path] >= options.per_file
                made = LeftOut("enough of this commit or file") if full else self._make(change, objects, license_, name)
                verdict = {"left_out": made.reason} if isinstance(made, LeftOut) else made.to_json()
                journal.append(verdict)
            if "left_out" in verdict:
                self.left_out[verdict["left_out"]] += 1
                continue
            verdict.pop("sha256", None)
            self.records.append(EditRecord(**verdict))
            of_commit[change.commit] += 1
            of_file[change.path] += 1
        self._advance("choosing edits", options.max_edits, options.max_edits)

    def _make(self, change: Change, objects: Objects, license_: str, name: str) -> EditRecord | LeftOut:
        limits = self._options.limits
        before = objects.read(change.before, limits.max_bytes)
        after = objects.read(change.after, limits.max_bytes)
        if before is None or after is None:
            return LeftOut("too large, or not in this clone")
        texts = texts_of(change.path, before, after, limits)
        if isinstance(texts, LeftOut):
            return texts
        return EditRecord(
            id=f"{name}@{change.commit[:12]}:{change.path}",
            repo=name,
            commit=change.commit,
            path=change.path,
            language=texts.language,
            license=license_,
            instruction=objects.subject(change.commit),
            before=texts.before,
            after=texts.after,
        )


def _license(repository: Repository, head: str, objects: Objects) -> str:
    """The whole repository's, by the files in its top folder at the commit that is checked out."""
    files: dict[str, bytes] = {}
    for name, blob in repository.top_files(head).items():
        if licenses.is_candidate(name) and (content := objects.read(blob)) is not None:
            files[name] = content
    return licenses.detect(files)
