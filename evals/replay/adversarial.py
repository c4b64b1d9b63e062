"""Outputs that have nothing to do with the edit: what drafting may cost when nothing can be drafted. Seeded."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from evals.corpus.records import EditRecord
from evals.replay.costs import speedup
from evals.replay.forms import lf
from evals.replay.run import Replayed

G: Final = 0.02
FLOOR: Final = 0.97
"""At cost G drafting may be 3% slower than plain decoding on any edit, and no more."""

KINDS: Final = ("noise", "own words", "other words", "other file")
"""noise: random letters. own words: the file's own, in random order, so that single tokens keep matching. other words:
those of another file of the corpus. other file: another file as it is, so that what code has in common matches."""

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"


class AdversarialCorpusError(ValueError):
    """Too few files to make unrelated outputs from."""


class Adversary:
    """An output for each edit of a corpus, of about the length of the real one; the kinds take turns."""

    def __init__(self, records: Sequence[EditRecord], seed: int) -> None:
        if len({record.before for record in records}) < 2:
            raise AdversarialCorpusError("an adversarial corpus is made from two different files at least")
        self._records = records
        self._places = {record.id: place for place, record in enumerate(records)}
        self._seed = seed

    def output(self, record: EditRecord) -> str:
        place = self._places[record.id]
        rng = random.Random(f"{self._seed} {record.id}")
        length = max(len(record.after), 1)
        match KINDS[place % len(KINDS)]:
            case "noise":
                return _noise(rng, length)
            case "own words":
                return _shuffled(rng, lf(record.before) or lf(record.after), length)
            case "other words":
                return _shuffled(rng, self._other(rng, record), length)
            case _:
                return self._other(rng, record)

    def _other(self, rng: random.Random, record: EditRecord) -> str:
        others = [other for other in self._records if other.path != record.path and other.before != record.before]
        others = others or [other for other in self._records if other.before != record.before]
        return lf(rng.choice(others).after) or _noise(rng, 100)


def _noise(rng: random.Random, length: int) -> str:
    lines: list[str] = []
    while sum(map(len, lines)) < length:
        words = ["".join(rng.choices(_LETTERS, k=rng.randint(1, 12))) for _ in range(rng.randint(1, 9))]
        lines.append(" " * rng.choice((0, 4, 8)) + " ".join(words) + "\n")
    return "".join(lines)


def _shuffled(rng: random.Random, text: str, length: int) -> str:
    words = _WORD.findall(text) or ["x"]
    rng.shuffle(words)
    return "".join(words)[:length]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One drafter on one form. ratio: its speed over plain decoding's, over all edits; worst: over the worst edit."""

    drafter: str
    form: str
    ratio: float
    worst: float
    worst_id: str

    @property
    def holds(self) -> bool:
        return self.worst >= FLOOR

    def to_json(self) -> dict[str, object]:
        return {
            "drafter": self.drafter,
            "form": self.form,
            "g": G,
            "ratio": self.ratio,
            "floor": FLOOR,
            "holds": self.holds,
            "worst_edit": {"id": self.worst_id, "ratio": self.worst},
        }

    def line(self) -> str:
        said = "no more than 3% slower" if self.holds else "MORE THAN 3% SLOWER"
        return (
            f"Unrelated outputs, form {self.form}, g={G:g}: {self.drafter} has {self.ratio:.3f} of plain decoding's "
            f"speed, and {self.worst:.3f} on its worst edit: {said}."
        )


def verdicts(replayed: Replayed) -> list[Verdict]:
    """Of our own drafters."""
    found: list[Verdict] = []
    for run in replayed.runs:
        edits = replayed.edits[run.form]
        if run.entrant.kind != "ours" or run.g not in (None, G) or not edits.ids:
            continue
        ratios = [
            speedup(tokens, passes, drafted, G)
            for tokens, passes, drafted in zip(edits.tokens, run.passes, run.drafted, strict=True)
        ]
        worst = min(range(len(ratios)), key=ratios.__getitem__)
        ratio = speedup(sum(edits.tokens), sum(run.passes), sum(run.drafted), G)
        found.append(Verdict(run.entrant.name, run.form, ratio, ratios[worst], edits.ids[worst]))
    return found
