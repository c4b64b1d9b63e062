"""What lines declare, read off their wording alone: functions and types, variables, imports, keys of a mapping."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

from drafts.align.indentation import definition_name
from drafts.align.lines import Lines, indent_width

_MANY = 64
"""A name that stands in the text more often than this tells nothing."""
_NEAR = 60
"""A declaration so many lines away is no longer near."""
_STATEMENTS = frozenset(
    ("case", "default", "else", "except", "finally", "private", "protected", "public", "signals", "slots", "try")
)
"""What is no key, though a colon follows."""
_MODIFIERS = (
    r"(?:(?:export|default|declare|pub(?:\([^)]*\))?|public|private|protected|internal|static|readonly|final)\s+)*"
)
_VARIABLE = re.compile(
    rf"{_MODIFIERS}(?:const|let|var|val|type|using|auto|constexpr|local|my|final|\#\s*define)\s+(?:mut\s+)?"
    r"(?:[\w<>\[\].*&]+(?:::[\w<>\[\].*&]+)*\s+)?[*&]?(?P<name>[A-Za-z_$][\w$]*)\s*(?:[:=<;]|$)"
)
_UNPACKED = re.compile(r"(?:export\s+)?(?:const|let|var)\s*\{(?P<names>[^}]*)\}\s*=")
_AT_TOP = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)")
_IMPORTS = (
    re.compile(
        r"import\s+(?:type\s+)?(?:(?P<name>[\w$]+)\s*,?\s*)?(?:\*\s+as\s+(?P<as>[\w$]+)|\{(?P<names>[^}]*)\})?\s*from\b"
    ),
    re.compile(r"from\s+\S+\s+import\s+\(?(?P<names>[^()#]*)"),
    re.compile(r"import\s+(?P<name>\w+)[\w.]*(?:\s+as\s+(?P<as>\w+))?$"),
    re.compile(r"(?:pub\s+)?(?:use|using|import)\s+(?:[\w:.]*(?:::|\.))?(?:(?P<name>\w+)|\{(?P<names>[^}]*)\});$"),
)
_KEY = re.compile(r"""(?:"(?P<double>[^"]+)"|'(?P<single>[^']+)'|(?P<bare>[A-Za-z_$][\w$-]*))\??\s*:(?![:=])""")


def declared(line: str) -> frozenset[str]:
    """The names that a line declares; that of a key ends with a colon.

    An assignment declares only where it is not indented: elsewhere one may follow another.
    """
    stripped = line.strip()
    name = definition_name(stripped)
    if name is not None:
        return frozenset((name,))
    for pattern in (*_IMPORTS, _UNPACKED, _VARIABLE, *(() if line[:1].isspace() else (_AT_TOP,))):
        match = pattern.match(stripped)
        if match is not None:
            found = match.groupdict()
            names = [_last_name(part) for part in (found.get("names") or "").split(",")]
            return frozenset(filter(None, (found.get("as") or found.get("name"), *names)))
    match = _KEY.match(stripped)
    if match is None or match["bare"] in _STATEMENTS:
        return frozenset()
    return frozenset((f"{match['double'] or match['single'] or match['bare']}:",))


def _last_name(part: str) -> str:
    """What an imported or unpacked name is called here: `a as b` and `a: b` are b."""
    return re.split(r"\sas\s|:", part)[-1].strip().removeprefix("type ")


def mentions(text: str, name: str) -> bool:
    """The name stands in the text, and not as a part of a longer one."""
    return next(_places(text, name), None) is not None


def _places(text: str, name: str) -> Iterator[int]:
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
            yield at
        at = text.find(name, at + 1)


class Declarations:
    """Where a text declares a name. Each is looked for when first asked for."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._found: dict[str, list[int]] = {}

    @cached_property
    def _text(self) -> str:
        return "\n".join(self._lines.contents)

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self._lines.contents), initial=0))

    def mentions(self, name: str) -> bool:
        return mentions(self._text, name)

    def lines(self, name: str) -> list[int]:
        """The lines that declare a name, ascending; none for a name that stands in very many."""
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = []
            bare = name.removesuffix(":")
            if self._text.count(bare) <= _MANY:
                contents = self._lines.contents
                places = {bisect_right(self._starts, at) - 1 for at in _places(self._text, bare)}
                found += sorted(at for at in places if name in declared(contents[at]))
        return found

    def beside(self, name: str, indent: int, low: int, high: int) -> bool:
        """A line near lines [low, high), in the same block and indented by `indent` columns, declares a name."""
        contents = self._lines.contents
        for at in self.lines(name):
            between = range(at + 1, low) if at < low else range(high, at)
            if low <= at < high or len(between) > _NEAR or indent_width(contents[at]) != indent:
                continue
            if all(indent_width(contents[index]) >= indent for index in between if contents[index].strip()):
                return True
        return False
