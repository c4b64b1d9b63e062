"""Synthetic edits on real code: (before, after, snippet), fresh for every batch.

A segment of a real file is changed in one to four places: lines inserted, deleted, replaced, reworked, renamed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

from service.embedded.training.rendering import Change, RenderedEdit, applied, render

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_NUMBER = re.compile(r"\b\d+\b")

# Edits that change nothing: the snippet only quotes.
NO_OP_SHARE = 0.03


class EditSampler:
    """Draws edits from source files, grouped by language (each language is equally likely)."""

    def __init__(self, files: Mapping[str, Sequence[str]], seed: int) -> None:
        self._files = {language: [t for t in texts if t.strip()] for language, texts in files.items() if texts}
        self._languages = sorted(self._files)
        self._random = random.Random(seed)

    def draw(self, min_lines: int, max_lines: int) -> RenderedEdit:
        while True:
            lines, donor = self._segment(min_lines, max_lines)
            if self._random.random() < NO_OP_SHARE:
                at = self._random.randrange(len(lines))
                return render(self._random, lines, [Change(at, at + 1, (lines[at],))])
            changes = self._changes(lines, donor)
            after = applied(lines, changes)
            if after and after != lines:
                return render(self._random, lines, changes)

    def _segment(self, min_lines: int, max_lines: int) -> tuple[list[str], list[str]]:
        rng = self._random
        language = rng.choice(self._languages)
        lines = rng.choice(self._files[language]).split("\n")
        if lines and not lines[-1]:
            lines.pop()
        donor = rng.choice(self._files[language]).split("\n")
        size = rng.randint(min_lines, max_lines)
        start = 0 if rng.random() < 0.6 else rng.randrange(max(1, len(lines) - size + 1))
        return lines[start : start + size], donor

    def _changes(self, lines: list[str], donor: list[str]) -> list[Change]:
        """Changes in order, at least one unchanged line apart. Sometimes none: an edit that changes nothing."""
        rng = self._random
        count = rng.choices((1, 2, 3, 4), (5, 4, 2, 1))[0]
        points = sorted(rng.randrange(len(lines) + 1) for _ in range(count))
        if rng.random() < 0.25:  # several changes close together
            first = points[0]
            points = sorted(min(len(lines), first + rng.randint(0, 14)) for _ in points)
        changes: list[Change] = []
        floor = 0
        for point in points:
            if point < floor:
                continue
            change = self._change(lines, donor, point)
            changes.append(change)
            floor = change.end + 1
        if rng.random() < 0.15:
            changes = self._rename(lines) or changes
        return changes

    def _change(self, lines: list[str], donor: list[str], at: int) -> Change:
        rng = self._random
        kind = rng.choices(("insert", "delete", "replace", "rework", "block", "duplicate"), (5, 3, 3, 6, 2, 2))[0]
        length = min(len(lines) - at, 1 + int(rng.expovariate(0.5)))
        old = lines[at : at + length]
        if kind == "insert" or not old:
            return Change(at, at, tuple(self._new_lines(lines, donor, at)))
        if kind == "delete":
            return Change(at, at + length, ())
        if kind == "replace":
            return Change(at, at + length, tuple(self._new_lines(lines, donor, at)))
        if kind == "rework":
            return Change(at, at + length, tuple(self._rework(line) for line in old))
        if kind == "block":  # wrapped or taken out: the same lines at another depth
            step = "\t" if any(line.startswith("\t") for line in lines) else rng.choice(("  ", "    "))
            head = self._new_lines(lines, donor, at)[:1]
            return Change(at, at + length, (*head, *(step + line if line.strip() else line for line in old)))
        source = rng.randrange(len(lines))
        copied = lines[source : source + rng.randint(1, 6)]
        return Change(at, at, tuple(self._rework(line) if rng.random() < 0.5 else line for line in copied))

    def _new_lines(self, lines: list[str], donor: list[str], at: int) -> list[str]:
        """Lines from another file (or this one), moved to the depth of the place they go to."""
        rng = self._random
        pool = donor if rng.random() < 0.8 else lines
        start = rng.randrange(len(pool))
        taken = pool[start : start + 1 + int(rng.expovariate(0.35))]
        around = next((line for line in reversed(lines[:at]) if line.strip()), "")
        indent = around[: len(around) - len(around.lstrip())]
        first = next((line for line in taken if line.strip()), "")
        depth = len(first) - len(first.lstrip())
        if rng.random() < 0.7:
            taken = [indent + (line[depth:] if not line[:depth].strip() else line.lstrip()) for line in taken]
        taken = [line.rstrip() for line in taken]
        return taken if rng.random() < 0.3 else [self._rework(line, 0.2) for line in taken]

    def _rework(self, line: str, chance: float = 1.0) -> str:
        """One small change within a line: a word, a number, a piece added or taken away."""
        rng = self._random
        if rng.random() > chance:
            return line
        words = list(_WORD.finditer(line))
        kind = rng.random()
        if kind < 0.45 and words:
            word = rng.choice(words)
            return line[: word.start()] + self._name(word.group()) + line[word.end() :]
        if kind < 0.6 and (number := _NUMBER.search(line)):
            return line[: number.start()] + str(rng.randrange(1000)) + line[number.end() :]
        if kind < 0.8 and words:
            word = rng.choice(words)
            return line[: word.end()] + rng.choice((", ", ".", "_", "(", " ")) + self._name("") + line[word.end() :]
        if words:
            word = rng.choice(words)
            return line[: word.start()] + line[word.end() :]
        return line + rng.choice((";", ",", " ", ")", "x"))

    def _name(self, word: str) -> str:
        rng = self._random
        if word and rng.random() < 0.4:
            return word + rng.choice(("s", "_", "Id", "2", "_name", "New", "Ex"))
        text = rng.choice(self._files[rng.choice(self._languages)])
        start = rng.randrange(len(text))
        found = _WORD.search(text, start)
        return found.group() if found else "value"

    def _rename(self, lines: list[str]) -> list[Change]:
        rng = self._random
        words = [word for line in lines for word in _WORD.findall(line)]
        if not words:
            return []
        old = rng.choice(words)
        new, pattern = self._name(old), re.compile(rf"\b{re.escape(old)}\b")
        hits = [i for i, line in enumerate(lines) if pattern.search(line)]
        return [Change(i, i + 1, (pattern.sub(new, lines[i]),)) for i in hits] if len(hits) <= 8 else []
