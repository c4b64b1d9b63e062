"""The example edits that redraft ships: for the demo, the golden tests and the benchmark.

One case is one text file, `evals/examples/NAME.txt`: a header of `key: value` lines, then three sections.

    path: src/telemetry/ring.c
    language: c
    form: update_snippet | unified_diff | search_replace
    note: One sentence on what the case shows.
    ==== original ====
    ==== edit ====
    ==== expected ====

Every section ends with exactly one newline. `expected` is what applying the edit to the original gives, byte for
byte. A search/replace edit is written in the conventional blocks: `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`.
Adding a case is adding a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from drafts.align import Edit, EditParseError, UnifiedDiff, UpdateSnippet, parse_search_replace

_HEADER_KEYS = ("path", "language", "form", "note")
_SECTIONS = ("original", "edit", "expected")
_SUFFIX = ".txt"


class ExampleFileError(ValueError):
    """A case file does not follow the format; the message names the case and the rule."""


class UnknownExampleError(KeyError):
    """No case has this name; the message lists the names there are."""

    def __init__(self, name: str, names: tuple[str, ...]) -> None:
        self.name = name
        self.names = names
        super().__init__(f"there is no example edit {name!r}; use one of: {', '.join(names)}")

    def __str__(self) -> str:
        # KeyError would show the message in quotes.
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class ExampleEdit:
    """One case. The texts have LF line ends, and `original` and `expected` end with exactly one newline."""

    name: str
    path: str
    language: str
    note: str
    original: str
    edit: Edit
    expected: str


def example_names() -> tuple[str, ...]:
    """The names of all cases, sorted."""
    folder = resources.files("evals") / "examples"
    return tuple(sorted(f.name.removesuffix(_SUFFIX) for f in folder.iterdir() if f.name.endswith(_SUFFIX)))


def load_examples() -> tuple[ExampleEdit, ...]:
    """All cases, sorted by name."""
    return tuple(_read(name) for name in example_names())


def load_example(name: str) -> ExampleEdit:
    """The case called `name`. Raises UnknownExampleError, which lists the names there are."""
    names = example_names()
    if name not in names:
        raise UnknownExampleError(name, names)
    return _read(name)


def parse_example(name: str, text: str) -> ExampleEdit:
    """Read one case from the text of its file. Raises ExampleFileError."""
    head, original, edit, expected = _split_sections(name, text)
    header = _parse_header(name, head)
    return ExampleEdit(
        name=name,
        path=header["path"],
        language=header["language"],
        note=header["note"],
        original=original,
        edit=_parse_edit(name, header["form"], edit),
        expected=expected,
    )


def _read(name: str) -> ExampleEdit:
    file = resources.files("evals") / "examples" / f"{name}{_SUFFIX}"
    return parse_example(name, file.read_bytes().decode("utf-8"))


def _split_sections(name: str, text: str) -> tuple[str, str, str, str]:
    parts: list[str] = []
    rest = text
    for section in _SECTIONS:
        before, delimiter, rest = rest.partition(f"\n==== {section} ====\n")
        if not delimiter:
            raise ExampleFileError(f"example {name!r}: the line '==== {section} ====' is missing or out of order")
        parts.append(before + "\n")
    parts.append(rest)
    for section, body in zip(_SECTIONS, parts[1:], strict=True):
        if not body.strip() or not body.endswith("\n") or body.endswith("\n\n"):
            raise ExampleFileError(f"example {name!r}: the section {section!r} must end with exactly one newline")
    head, original, edit, expected = parts
    return head, original, edit, expected


def _parse_header(name: str, head: str) -> dict[str, str]:
    header: dict[str, str] = {}
    for line in head.splitlines():
        key, separator, value = line.partition(": ")
        if not separator or not value.strip() or key in header:
            raise ExampleFileError(f"example {name!r}: the header has a line that is not one 'key: value'")
        header[key] = value.strip()
    if tuple(header) != _HEADER_KEYS:
        raise ExampleFileError(f"example {name!r}: the header must give {', '.join(_HEADER_KEYS)}, in this order")
    return header


def _parse_edit(name: str, form: str, text: str) -> Edit:
    match form:
        case "update_snippet":
            return UpdateSnippet(text)
        case "unified_diff":
            return UnifiedDiff(text)
        case "search_replace":
            try:
                return parse_search_replace(text)
            except EditParseError as error:
                raise ExampleFileError(f"example {name!r}: {error}") from error
    raise ExampleFileError(f"example {name!r}: the form must be update_snippet, unified_diff or search_replace")
