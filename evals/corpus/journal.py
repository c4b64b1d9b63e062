"""What a long piece of work has found so far, on disk: stopped at any moment, it goes on from there."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self


def cache_folder() -> Path:
    """Where builders keep what they can make again: $XDG_CACHE_HOME/redraft, by default ~/.cache/redraft."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "redraft"


class Journal:
    """JSON values, one a line, appended one by one; a context manager.

    key: everything that the values depend on; another key is another file. A line that was torn by a power cut or a
    kill is dropped, with whatever follows it. Raises OSError.
    """

    def __init__(self, folder: Path, kind: str, key: Any) -> None:
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        self.path = folder / f"{kind}-{digest[:24]}.jsonl"

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab+")
        self._file.seek(0)
        self._values: list[Any] = []
        whole = 0
        for line in self._file:
            try:
                value = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                value = None
            if value is None:
                break
            self._values.append(value)
            whole += len(line)
        self._file.truncate(whole)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Any]:
        """The values of earlier sittings."""
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def append(self, value: Any) -> None:
        """value: not None."""
        self._file.write(json.dumps(value).encode() + b"\n")
        self._file.flush()
