"""What an edit did before, it does again: a name that was changed once is likely changed where it stands next."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher

from drafts.core.guesses import pays
from drafts.core.tally import agreeing

# Longer replacements are no habit. In tokens: what goes, what comes.
_MOST_OLD, _MOST_NEW = 8, 24
# An edited stretch is taken apart if it has no more tokens, before and after.
_MOST_TOGETHER = 96
_MOST_RULES = 16
# How far ahead the next place is looked for.
_REACH = 8192
# The chance that a rewrite is made at its next place, by how often it was made there before. Where it once was not, it
# never is again. Measured on real edits.
_CHANCES = (0.45, 0.8, 0.92)


@dataclass(slots=True)
class Rewrite:
    """`old` became `new`. at: the next place of `old` in the source. hits: places where it was foreseen, and made."""

    old: list[int]
    new: list[int]
    at: int
    hits: int = 0

    @property
    def chance(self) -> float:
        return _CHANCES[min(self.hits, len(_CHANCES) - 1)]

    @property
    def end(self) -> int:
        """Where the source goes on after `old`."""
        return self.at + len(self.old)


Piece = list[int] | range
"""A part of a draft: tokens that come instead of the source's, or positions of the source that are copied."""


class Rewrites:
    """The rewrites that one source has seen, each with its next place. Bounded: 16 of them, the latest."""

    def __init__(self, source: list[int]) -> None:
        self._source = source
        self._rules: list[Rewrite] = []
        # The rewrite that the target is about to write, and how much of it is there.
        self._current: tuple[Rewrite, int] | None = None

    def __bool__(self) -> bool:
        return bool(self._rules)

    # -- what is seen ----------------------------------------------------------------------------------------------

    def learn(self, start: int, end: int, new: list[int]) -> None:
        """The source's tokens [start, end) became `new`; the source is followed from `end` on."""
        if start < end <= start + _MOST_TOGETHER and 0 < len(new) <= _MOST_TOGETHER:
            old = self._source[start:end]
            for tag, low, high, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
                if tag == "replace" and high - low <= _MOST_OLD and last - first <= _MOST_NEW:
                    self._add(old[low:high], new[first:last], end)
        for rule in [rule for rule in self._rules if rule.at < end]:
            self._move(rule, end)

    def _add(self, old: list[int], new: list[int], position: int) -> None:
        self._rules = [rule for rule in self._rules if rule.old != old]
        at = self._find(old, position)
        if at is not None:
            self._rules = [*self._rules[1 - _MOST_RULES :], Rewrite(old, new, at)]

    def copied(self, start: int, end: int) -> None:
        """The source's tokens [start, end) were written as they are: rewrites of these are over."""
        if self._rules:
            self._rules = [rule for rule in self._rules if not start <= rule.at < end]

    def left(self, position: int, token: int) -> bool:
        """The source was left at `position` with this token: whether a rewrite begins like that."""
        rule = next((rule for rule in self._rules if rule.at == position and rule.new[0] == token), None)
        self._current = None if rule is None else (rule, 0)
        return rule is not None

    @property
    def resume(self) -> int | None:
        """Where the source goes on after the current rewrite; None when there is none."""
        return None if self._current is None else self._current[0].end

    def follow(self, tokens: list[int]) -> tuple[int, int | None]:
        """How many of `tokens` go on with the current rewrite, and where the source goes on if that completes it."""
        if self._current is None:
            return 0, None
        rule, done = self._current
        rest = rule.new[done:]
        count = agreeing(rest, tokens)
        self._current = None
        if count == len(rest):
            rule.hits += 1
            position = rule.end
            self._move(rule, position)
            return count, position
        if count == len(tokens):
            self._current = rule, done + count
        else:
            self._rules.remove(rule)
        return count, None

    # -- what is drafted -------------------------------------------------------------------------------------------

    def pieces(self, position: int, length: int, price: float) -> list[Piece]:
        """The rest of the current rewrite and about `length` tokens from `position` on, with what is rewritten there.

        They end before a place that is too doubtful: the target's next token shows for free whether it is rewritten.
        """
        found: list[Piece] = []
        if self._current is not None:
            current, done = self._current
            found.append(current.new[done:])
        begin, end, right = position, position + length, 1.0
        while (rule := self._next(position, end)) is not None:
            chance = rule.chance
            right *= max(chance, 1.0 - chance)
            if rule.at > begin and not pays(right, end - rule.at, price):
                end = rule.at
                break
            position = rule.at + 1
            if chance >= 0.5:
                found += (range(begin, rule.at), rule.new)
                begin = position = rule.end
                end += len(rule.old) - len(rule.new)
        return [*found, range(begin, max(begin, end))]

    def _next(self, position: int, end: int) -> Rewrite | None:
        """The rewrite whose place is the first in [position, end); of equal places the longest."""
        found: Rewrite | None = None
        for rule in self._rules:
            if position <= rule.at < end and (found is None or (rule.at, -len(rule.old)) < (found.at, -len(found.old))):
                found = rule
        return found

    def _move(self, rule: Rewrite, position: int) -> None:
        at = self._find(rule.old, position)
        if at is None:
            self._rules.remove(rule)
        else:
            rule.at = at

    def _find(self, old: list[int], start: int) -> int | None:
        source, first, size = self._source, old[0], len(old)
        stop = min(start + _REACH, len(source))
        while True:
            try:
                start = source.index(first, start, stop)
            except ValueError:
                return None
            if source[start : start + size] == old:
                return start
            start += 1
