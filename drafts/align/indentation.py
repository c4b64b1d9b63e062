"""Blocks and definitions read off indentation and wording alone, for any language that is indented as usual."""

from __future__ import annotations

import re

from drafts.align.lines import Lines

_CONTINUES = re.compile(
    r"^(?:[)\]}>{]|(?:end|else|elif|elsif|except|finally|rescue|ensure|catch|when|then|done|fi|esac)\b)"
)
_DEFINITION = re.compile(
    r"""^(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|override|virtual|inline
          |const|unsafe|extern|pub(?:\([^)]*\))?|open|sealed|partial|declare|local|synchronized)\s+)*
        (?:(?P<word>def|class|function\*?|func|fn|fun|sub|struct|enum|interface|trait|impl|module|namespace|type|object
            |protocol|record|union)\s+(?:\([^)]*\)\s*)?(?:self\.)?(?P<name>[\w$.?!]+)
          |(?:const|let|var)\s+(?P<bound>[\w$]+)\s*=\s*(?:async\s*)?(?:function\b|\()
          |(?:[\w<>\[\],.*&:]+\s+)+[*&]*(?P<typed>[\w$~]+)\s*\([^;]*$
          |(?:async\s+)?(?:get\s+|set\s+)?(?P<method>[\w$]+)\s*\([^;]*\)\s*(?::[^={]*)?\{$)""",
    re.VERBOSE,
)
_STATEMENT_WORDS = frozenset(
    (
        "if",
        "for",
        "while",
        "switch",
        "catch",
        "return",
        "else",
        "new",
        "await",
        "throw",
        "do",
        "with",
        "assert",
        "elif",
        "except",
        "case",
        "match",
        "when",
        "unless",
        "until",
        "using",
        "lock",
        "foreach",
        "yield",
        "print",
        "in",
        "not",
        "and",
        "or",
        "is",
        "del",
        "raise",
        "import",
        "from",
        "typeof",
        "delete",
    )
)


def block_end(lines: Lines, head: int) -> int:
    """Just after the last line of the block that line `head` opens; `head` + 1 when it opens none."""
    depth = lines.indents[head]
    if depth is None:
        return head + 1
    end = head + 1
    for index in range(head + 1, len(lines)):
        indent = lines.indents[index]
        if indent is None:
            continue
        if indent < depth or (indent == depth and not _CONTINUES.match(lines.stripped[index])):
            break
        end = index + 1
    return end


def continues_block(stripped: str) -> bool:
    """A line that closes or carries on the block before it, at that block's own indentation."""
    return bool(_CONTINUES.match(stripped))


def definition_name(stripped: str) -> str | None:
    """The name that a line defines as a function, class or the like, or None."""
    match = _DEFINITION.match(stripped)
    if match is None:
        return None
    name = match["name"] or match["bound"] or match["typed"] or match["method"]
    if name in _STATEMENT_WORDS or stripped.split(None, 1)[0] in _STATEMENT_WORDS:
        return None
    return name


def base_name(name: str) -> str:
    """The last part of a dotted or scoped name."""
    return re.split(r"[.:]+", name)[-1]


def definitions(lines: Lines) -> dict[str, list[int]]:
    """The lines that define each name."""
    found: dict[str, list[int]] = {}
    for index, stripped in enumerate(lines.stripped):
        name = definition_name(stripped)
        if name is not None:
            found.setdefault(name, []).append(index)
    return found
