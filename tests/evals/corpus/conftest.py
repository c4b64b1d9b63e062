"""Git repositories made on the spot, by the git command."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest


class Repo:
    """A work tree in a temporary folder. Commits are a day apart, from 2024-01-01 on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._days = 0
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        date = f"2024-01-{1 + self._days:02}T12:00:00+0000"
        person = {f"GIT_{role}_{fact}": "x" for role in ("AUTHOR", "COMMITTER") for fact in ("NAME", "EMAIL")}
        alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        command = ["git", "-C", str(self.path), *arguments]
        env = {**os.environ, **person, **alone, **dates}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout.strip()

    def write(self, name: str, content: str | bytes) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str, files: dict[str, str | bytes]) -> str:
        for name, content in files.items():
            self.write(name, content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        self._days += 1
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "work tree")


def program(lines: int, change: int | None = None, name: str = "f") -> str:
    """A file of so many lines, one of them changed."""
    return "".join(f"{name}_{line} = {line if line != change else -1}\n" for line in range(lines))
