"""New lines, and what they say wherever they go: found once, and asked for by every place that may take them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from drafts.align.declared import Declarations, declared
from drafts.align.indentation import definition_name
from drafts.align.lines import Lines, indent_width
from drafts.align.words import words_of

_IMPORT = re.compile(r"(?:import|from|use|using|#\s*include|require)\b")
_ONE_OF_A_KIND = 0.6
"""The weight of such a line."""


class Incoming:
    """The snippet's lines [first, last), at least one."""

    def __init__(self, original: Lines, snippet: Lines, first: int, last: int, declarations: Declarations) -> None:
        self._original, self._declarations = original, declarations
        self.contents, self.stripped = snippet.contents[first:last], snippet.stripped[first:last]

    @cached_property
    def text(self) -> str:
        return "\n".join(self.contents)

    @cached_property
    def brackets(self) -> int:
        return brackets(self.contents)

    @cached_property
    def words(self) -> Counter[str]:
        return words_of(self.stripped)

    @cached_property
    def filled(self) -> list[str]:
        """The lines that are not blank."""
        return [line for line in self.contents if line.strip()]

    @cached_property
    def known(self) -> list[tuple[int, bool]]:
        """Where those lines stand that the original has once, and that are one of a kind; and whether they import."""
        found: list[tuple[int, bool]] = []
        for line in set(self.stripped):
            where = self._original.positions.get(line)
            if where is not None and len(where) == 1 and self._original.weight(line) > _ONE_OF_A_KIND:
                found.append((where[0], bool(_IMPORT.match(line))))
        return found

    @cached_property
    def declared(self) -> set[tuple[str, int]]:
        """What lines that the original does not have declare, and by how many columns those are indented."""
        lines = [line for line in self.filled if line.strip() not in self._original.positions]
        return {(name, indent_width(line)) for line in lines for name in declared(line)}

    @cached_property
    def defines_anew(self) -> bool:
        """They define a function or the like of which the original never speaks."""
        names = filter(None, map(definition_name, self.stripped))
        return any(not self._declarations.mentions(name) for name in names)


def brackets(lines: Sequence[str]) -> int:
    """The brackets that are opened less those that are closed; those in strings count too."""
    text = "\n".join(lines)
    return sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))
