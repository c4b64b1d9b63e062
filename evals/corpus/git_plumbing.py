"""Reads a git repository by the git command: no shell, no checkout, nothing written, no network."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

_ENVIRONMENT: Final = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
}
_ELSEWHERE: Final = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"}
)
_FILE_MODES: Final = ("100644", "100755")


class GitError(RuntimeError):
    """The git command failed; the message has what it said."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file that a commit modified. blobs: ids of its content. path: bytes are undecodable ones' surrogates."""

    commit: str
    path: str
    before: str
    after: str


class Repository:
    """A repository, or the part of it that lies under a folder. Raises GitError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._prefix = self.run("rev-parse", "--show-prefix").strip()
        except FileNotFoundError:
            raise GitError("there is no git command: install git") from None

    @property
    def prefix(self) -> str:
        """The folder within the repository, with a slash at its end; empty for all of it."""
        return self._prefix

    def run(self, *arguments: str) -> str:
        """What a git command prints."""
        return os.fsdecode(self._run(arguments))

    def _run(self, arguments: Sequence[str], feed: bytes = b"") -> bytes:
        done = subprocess.run(self._command(arguments), input=feed, capture_output=True, check=False, env=_env())
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
            raise GitError(f"git {arguments[0]} in {self._path}: {said}")
        return done.stdout

    def _command(self, arguments: Sequence[str]) -> list[str]:
        return ["git", "-C", str(self._path), *arguments]

    def head(self) -> str:
        """The commit that is checked out, or the default one of a bare repository."""
        try:
            return self.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}").strip()
        except GitError:
            raise GitError(f"{self._path} has no commits yet") from None

    def name(self) -> str:
        """owner/name by the remote called origin, else the folder's name. No host, and no credentials of its URL."""
        try:
            url = self.run("config", "--get", "remote.origin.url").strip()
        except GitError:
            url = ""
        parts = [
            part for part in re.split(r"[/:]+", url.removesuffix("/").removesuffix(".git")) if part not in ("", ".")
        ]
        remote = "://" in url or re.match(r"[^/]+:", url) is not None
        if remote and len(parts) >= 2 and "@" not in parts[-2]:
            return "/".join(parts[-2:])
        folder = Path(self.folder)
        return (folder.parent if folder.name == ".git" else folder).name.removesuffix(".git")

    def commits(self, head: str, since: str | None) -> list[str]:
        """The commits without merges that lead to `head`, newest first. since: as git reads dates."""
        limit = [f"--since={since}"] if since else []
        return self.run("rev-list", "--no-merges", *limit, head).split()

    def top_files(self, commit: str) -> dict[str, str]:
        """name -> blob id, of the regular files in the top folder."""
        found: dict[str, str] = {}
        for entry in self.run("ls-tree", "-z", "--full-tree", commit).split("\0"):
            facts, _, name = entry.partition("\t")
            mode, _, blob = facts.partition(" blob ")
            if mode in _FILE_MODES:
                found[name] = blob
        return found

    def changes(self, commits: Sequence[str]) -> Iterator[Change]:
        """Every regular file that a commit modified in place: not added, deleted, renamed, linked or only chmodded.

        The whole answer is held in memory: ask for some thousand commits at a time.
        """
        options = ("--stdin", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--diff-filter=M")
        scope = ("--", ".") if self._prefix else ()  # as seen from the folder
        feed = "".join(f"{commit}\n" for commit in commits).encode()
        fields = iter(self._run(("diff-tree", *options, *scope), feed).split(b"\0"))
        commit = ""
        for entry in fields:
            if not entry.startswith(b":"):
                commit = entry.decode() or commit
                continue
            old_mode, new_mode, before, after, _ = entry[1:].decode().split(" ")
            path = os.fsdecode(next(fields))
            if old_mode in _FILE_MODES and new_mode in _FILE_MODES and before != after:
                yield Change(commit, path, before, after)

    def marked(self, paths: Sequence[str]) -> set[str]:
        """Those of the paths that .gitattributes calls generated or vendored, as the hosts' statistics read it.

        Empty for a bare repository, which has no .gitattributes to read.
        """
        if self.run("rev-parse", "--is-inside-work-tree").strip() != "true":
            return set()
        names = ("linguist-generated", "linguist-vendored")
        feed = b"".join(os.fsencode(path) + b"\0" for path in paths)
        top = self.run("rev-parse", "--show-toplevel").removesuffix("\n")
        answer = os.fsdecode(self._run(("-C", top, "check-attr", "-z", "--stdin", *names), feed))
        fields = answer.split("\0")
        return {path for path, value in zip(fields[0::3], fields[2::3], strict=False) if value in ("set", "true")}

    @property
    def folder(self) -> str:
        """The repository's own folder, the same wherever in it one stands."""
        return self.run("rev-parse", "--absolute-git-dir").removesuffix("\n")

    def objects(self) -> Objects:
        return Objects(self._command(("cat-file", "--batch")))


class Objects:
    """Contents of objects by id, from one git process; a context manager."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_env(),
            process_group=0,  # Ctrl-C is for us: it must not end before we do
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()

    def read(self, name: str, max_bytes: int | None = None) -> bytes | None:
        """None when the object is missing (a shallow or partial clone) or longer than `max_bytes`."""
        stdin, stdout = self._pipe(self._process.stdin), self._pipe(self._process.stdout)
        stdin.write(f"{name}\n".encode())
        stdin.flush()
        header = stdout.readline().split()
        if len(header) != 3:
            if len(header) == 2 and header[1] == b"missing":
                return None
            raise GitError("git cat-file ended before its time: is the repository damaged? (git fsck)")
        size = int(header[2])
        if max_bytes is None or size <= max_bytes:
            data = stdout.read(size)
            stdout.read(1)
            return data
        left = size + 1
        while left:
            left -= len(stdout.read(min(left, 1 << 20)))
        return None

    def subject(self, commit: str) -> str:
        """The first line of a commit's message."""
        data = self.read(commit) or b""
        head, _, message = data.partition(b"\n\n")
        encoding = next((line[9:].decode() for line in head.split(b"\n") if line.startswith(b"encoding ")), "utf-8")
        try:
            text = message.decode(encoding, errors="replace")
        except LookupError:
            text = message.decode(errors="replace")
        return next((line.strip() for line in text.splitlines() if line.strip()), "")

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        if pipe is None:
            raise GitError("git cat-file was started without pipes")
        return pipe


def _env() -> dict[str, str]:
    """Ours, without what would point git to another repository, as within a hook of one."""
    return {name: value for name, value in os.environ.items() if name not in _ELSEWHERE} | _ENVIRONMENT
