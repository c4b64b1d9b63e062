"""What a single line says when it is a comment of an update snippet: an elision, a removal, or neither.

Only wording and comment style are judged here; whether such a line is a marker in its place is snippet.py's call.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

# How whole-line comments open and close, and the sign that may be repeated at both ends ("/*** x ***/").
_BLOCKS = (
    ("{/*", "*/}", "*"),
    ("/*", "*/", "*"),
    ("<!--", "-->", "-"),
    ("<%#", "%>", ""),
    ("{#", "#}", ""),
    ("{-", "-}", ""),
    ("(*", "*)", "*"),
    ('"""', '"""', ""),
    ("'''", "'''", ""),
)
_LINE = re.compile(r"(?:#+|//+!?|--+|;+|%+|(?:REM|rem)\b|')(.*)")
_OPENERS = {"/*": "*/", "/**": "*/", "{/*": "*/}", "<!--": "-->", '"""': '"""', "'''": "'''", "(*": "*)", "{-": "-}"}
_DOTS = r"(?:\.{2,}|…)"
_LEADING = re.compile(rf"^{_DOTS}\s*")
_TRAILING = re.compile(rf"\s*{_DOTS}$")
_BRACKETS = {"[": "]", "(": ")", "<": ">", "{": "}"}

_THING = (
    r"(?:code|file|files?|content|contents|class|function|functions|method|methods|body|implementation|implementations"
    r"|logic|imports?|definitions?|declarations?|fields?|properties|props|attributes?|members?|constants?|variables?"
    r"|tests?|cases?|test\s+cases|routes?|handlers?|helpers?|lines?|statements?|module|script|component|components"
    r"|entries|elements?|items|options|parameters|params|args|arguments|styles|rules|types?|interfaces?|structs?"
    r"|enums?|modules|dependencies|config|configuration|settings|setup|section|sections|stuff|things|block|loop"
    r"|constructor|initialization|docstring|documentation|comments|text|document|html|jsx|markup|template|keys"
    r"|values|columns|tables|queries|commands|everything|parts?|source|macros|includes|headers?|exports?|getters"
    r"|setters|traits?|impls?|hooks|state|render|return|switch|branches|conditions|validation|checks)"
)
_SAME = (
    r"(?:(?:is|are|all)?\s*(?:left\s+|kept\s+)?(?:remains?|stays?|keep|kept|left)?\s*(?:the\s+|exactly\s+)*"
    r"(?:unchanged|same|untouched|unmodified|intact|identical|omitted|elided|skipped|hidden|as[ -]is"
    r"|as\s+(?:before|in\s+the\s+original|above|it\s+was|they\s+were)"
    r"|not\s+(?:changed|shown|modified)|continues?|follows?|goes?\s+here|go\s+here|here|above|below|preserved)"
    r"(?:\s+(?:as\s+before|as\s+is|for\s+(?:brevity|clarity)|here|above|below|from\s+(?:the\s+)?original))*)"
)
_PRESERVE = r"(?:keep|keeping|leave|leaving|retain|preserve)"
_QUALIFIER = r"(?:existing|remaining|other|unchanged|previous|original|rest|same|omitted|unmodified|earlier|old)"
_FULL = re.compile(
    rf"""^(?:
        (?:the\s+|all\s+|any\s+)*(?:(?:rest|remainder)(?:\s+of\s+(?:the\s+|this\s+|your\s+|our\s+)?[\w.:()`'"-]+(?:\s+{_THING})*)?)
            (?:\s+{_SAME})?
      | (?:the\s+|all\s+|any\s+|your\s+)*{_QUALIFIER}(?:\s+{_QUALIFIER})*(?:\s+[\w.()`'"-]+){{0,2}}?\s+{_THING}
            (?:\s+(?:and|&|/)\s+(?:other\s+)?(?:\w+\s+)?{_THING})?(?:\s+(?:in|of|from|for)\s+(?:the\s+)?[\w.()`'"-]+)?
            (?:\s+{_SAME})?
      | {_PRESERVE}\s+(?:the\s+|all\s+|your\s+)*(?:{_QUALIFIER}|everything\s+else)
            (?:\s+(?:of\s+(?:the\s+|this\s+)?)?[\w.()`'"-]+){{0,4}}(?:\s+{_SAME})?
      | {_PRESERVE}\s+(?:the\s+|all\s+|your\s+)*(?:{_THING}|everything)\s+{_SAME}
      | (?:the\s+)?(?:{_THING}|everything(?:\s+else)?|all\s+else|nothing\s+else)\s+
            (?:is\s+|are\s+)?(?:unchanged|omitted|unmodified|untouched|(?:remains?|stays?)\s+(?:the\s+)?{_SAME}
              |(?:is|are)\s+(?:the\s+)?same|(?:as\s+before)|continues?(?:\s+here)?|elided|changes?|not\s+(?:shown|changed))
            (?:\s+for\s+(?:brevity|clarity))?
      | (?:unchanged|same\s+as\s+(?:before|above|the\s+original|original)|as\s+before
          |no\s+changes?(?:\s+(?:here|above|below|needed))?
          |omitted(?:\s+for\s+(?:brevity|clarity))?|snip(?:ped)?|existing|elided|truncated|unmodified|same|skipped|etc
          |remains?\s+(?:the\s+same|unchanged)|left\s+unchanged|code\s+continues|continues?|rest|remaining|existing\s+\w+)
    )[.:!]?$""",
    re.VERBOSE | re.IGNORECASE,
)
_HINT = re.compile(
    rf"\b(?:{_QUALIFIER}|{_PRESERVE}|remainder|remains?|everything|omitted|elided|snip|brevity|continue[sd]?"
    r"|no changes?|as is|as before|same|above|below|others?|more|etc|unchanged|truncated|skip(?:ped)?|existing)\b",
    re.IGNORECASE,
)
_REMOVAL_VERB = r"(?:removed?|deleted?|removing|deleting|drop(?:ped)?)"
_REMOVAL = re.compile(
    rf"""^(?:
        {_REMOVAL_VERB}\b[\s:]*(?:(?:this|the|these|that|old|unused|following|above|below|entire|whole)\s+)*
            (?:{_THING}\s+)*(?P<after>`?[\w.:]+(?:\(\))?`?)?(?:\s+{_THING}|\s+definition)*(?:\s+(?:below|above|entirely|completely))?
      | (?P<before>`?[\w.:]+(?:\(\))?`?)?(?:\s+{_THING})*(?:\s+(?:was|is|were|has\s+been|have\s+been))?
            \s+(?:removed|deleted)
    )[.!]?$""",
    re.VERBOSE | re.IGNORECASE,
)
_THING_ONLY = re.compile(rf"^{_THING}$", re.IGNORECASE)
_NO_NAMES = frozenset({"this", "the", "it", "these", "that", "here", "definition", "code"})
_POINTING = re.compile(r"\b(?:this|these|following|above|below|entire|whole)\b", re.IGNORECASE)
_DONE = re.compile(r"\b(?:removed|deleted|dropped|removing|deleting)\b", re.IGNORECASE)
_MAX_WORDS = 14
# Characters. What is longer is a banner, data or prose, and the wordings below would be slow on it.
_MAX_LENGTH = 200


class MarkerKind(enum.Enum):
    ELISION = "elision"
    REMOVAL = "removal"


@dataclass(frozen=True, slots=True)
class Marker:
    """words: the marker's text without comment signs, dots and brackets (empty for bare dots).

    commented: it stood in a comment. dotted: it had dots before or after its words.
    """

    kind: MarkerKind
    words: str
    commented: bool
    dotted: bool


def comment_text(line: str) -> str | None:
    """The text inside a line that is one whole comment, or None."""
    text = line.strip()
    for opener, closer, repeated in _BLOCKS:
        size = len(opener) + len(closer)
        if len(text) >= size and text.startswith(opener) and text.endswith(closer):
            return text[len(opener) : -len(closer)].strip(repeated).strip()
    match = _LINE.fullmatch(text)
    return None if match is None else match[1].strip()


def block_comment_closer(line: str) -> str | None:
    """What closes the comment that this line, alone, opens; None when it opens none."""
    return _OPENERS.get(line.strip())


def read_marker(line: str) -> Marker | None:
    """What the wording of one line says; None for ordinary text."""
    if len(line.strip()) > _MAX_LENGTH:
        return None
    inner = comment_text(line)
    commented = inner is not None
    text = line.strip() if inner is None else inner
    words, dots = _peel(text)
    if not words:
        return Marker(MarkerKind.ELISION, "", commented, True) if dots else None
    if len(words.split()) > _MAX_WORDS:
        return None
    if not commented and not dots:
        return None
    if commented and _REMOVAL.match(words):
        return Marker(MarkerKind.REMOVAL, words, commented, bool(dots))
    if _FULL.match(words) and (commented or dots):
        return Marker(MarkerKind.ELISION, words, commented, bool(dots))
    if dots >= 2 and (commented or _HINT.search(words)):
        return Marker(MarkerKind.ELISION, words, commented, True)
    if dots and commented and _HINT.search(words):
        return Marker(MarkerKind.ELISION, words, commented, True)
    return None


@dataclass(frozen=True, slots=True)
class RemovalWords:
    """name: the identifier that a removal names ("foo" in "removed foo()"), or None.

    plain: it can only be about the code at hand ("removed", "delete this method"); otherwise it may as well be an
    ordinary comment ("delete old entries") and needs a name that the file defines.
    """

    name: str | None
    plain: bool


def read_removal(words: str) -> RemovalWords:
    """What the words of a removal marker say."""
    match = _REMOVAL.match(words)
    name = None
    if match is not None:
        name = (match["after"] or match["before"] or "").strip("`").removesuffix("()") or None
    if name is not None and (_THING_ONLY.match(name) or name.lower() in _NO_NAMES):
        name = None
    plain = bool(_POINTING.search(words) or (name is None and _DONE.search(words)) or len(words.split()) == 1)
    return RemovalWords(name, plain)


def _peel(text: str) -> tuple[str, int]:
    """The words without brackets, dots and dashes around them, and at how many ends there were dots."""
    dots = 0
    words = text.strip()
    for _ in range(4):
        start = words
        words = words.strip("-=*~ \t")
        if len(words) > 1 and _BRACKETS.get(words[0]) == words[-1]:
            words = words[1:-1].strip()
        peeled = _LEADING.sub("", words)
        dots += peeled != words
        words = peeled
        peeled = _TRAILING.sub("", words)
        dots += peeled != words
        words = peeled
        if words == start:
            break
    return words, dots
