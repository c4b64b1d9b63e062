"""Real edits as training draws them: a window of a file, sized as synthetic ones are, with the changes in it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from service.embedded.training.releases import MAX_CHANGED, RealEdit
from service.embedded.training.rendering import (
    Change,
    RenderedEdit,
    changed_share,
    changes_between,
    render,
    text_lines,
)

_TRIES = 1000


class RealEditSampler:
    """Draws from real edits, grouped by language (each language is equally likely)."""

    def __init__(self, edits: Sequence[RealEdit], seed: int) -> None:
        self._files: dict[str, list[_ChangedFile]] = {}
        for edit in edits:
            self._files.setdefault(edit.language, []).append(_ChangedFile(edit))
        self._languages = sorted(self._files)
        self._random = random.Random(seed)

    def draw(self, min_lines: int, max_lines: int) -> RenderedEdit:
        """A shorter file is taken whole. Raises ValueError where no edit is small enough for windows of this size."""
        rng = self._random
        for _ in range(_TRIES if self._languages else 0):
            file = rng.choice(self._files[rng.choice(self._languages)])
            lines, changes = file.window(rng, rng.randint(min_lines, max_lines))
            if changes and changed_share(lines, changes) <= MAX_CHANGED:
                return render(rng, lines, changes)
        raise ValueError(f"none of the real edits fits into {min_lines} to {max_lines} lines; give other edits")


class _ChangedFile:
    def __init__(self, edit: RealEdit) -> None:
        self._lines = text_lines(edit.before)
        self._after = text_lines(edit.after)

    @cached_property
    def _changes(self) -> list[Change]:  # only of files that are drawn: it takes a while
        return changes_between(self._lines, self._after)

    def window(self, rng: random.Random, size: int) -> tuple[list[str], list[Change]]:
        """Lines around one of the changes that fit, and every change that stands in them whole; none if none fits."""
        total = len(self._lines)
        fitting = [change for change in self._changes if max(change.end - change.start, len(change.lines)) <= size // 2]
        if not fitting:
            return [], []
        chosen = rng.choice(fitting)
        start = 0
        if chosen.end > size or rng.random() >= 0.6:  # as often at the file's start as synthetic edits
            start = rng.randint(max(0, chosen.end - size), max(0, min(chosen.start, total - size)))
        end = min(total, start + size)
        inside = [change for change in self._changes if start <= change.start and change.end <= end]
        moved = [replace(change, start=change.start - start, end=change.end - start) for change in inside]
        return self._lines[start:end], moved
