"""Wordings and comment styles of elisions and removals, and comments that are neither."""

from __future__ import annotations

import pytest

from drafts.align.markers import MarkerKind, comment_text, read_marker, read_removal

ELISIONS = """\
# ... existing code ...
// ... rest of the file unchanged
# existing code
// keep the rest
/* unchanged */
// other methods here
# ... existing imports ...
// ... rest of parse() ...
<!-- ... existing markup ... -->
{/* ... existing code ... */}
\"\"\" ... existing code ... \"\"\"
...
# ...
// …
-- rest of the query
; ... unchanged ...
% rest unchanged
(* ... existing code ... *)
<%# ... existing code ... %>
// rest of code remains the same
# Rest of the class remains unchanged
// ... other methods ...
// ... (rest of the function stays the same)
# [existing code]
// [... existing code ...]
/* ... keep existing styles ... */
# --- existing code ---
// Keep existing implementation
// Existing methods remain unchanged
// no changes above
// ... previous code ...
# other imports
// unchanged code
# The rest of the file is unchanged
# (existing code remains unchanged)
// same as before
// code omitted for brevity
# ... rest of file ...
// other test cases
// ... more tests ...
# keep the existing methods unchanged
// ...existing code...
// ...rest of method
# ... all other code remains the same ...
// ... lines 10-50 ...
# everything else stays the same
// rest of the function body
// ... unchanged methods: foo, bar ...
[... rest of file ...]
// existing tests
# Existing imports and constants
// Existing code...
""".splitlines()

ORDINARY = """\
# Keep the connection open
// existing users are migrated first
# the rest of the arguments are forwarded
x = 1
# Same order as in the spec, see RFC
// TODO: other platforms
foo(...)
# wait for the remaining workers to finish
# remaining time in seconds
// previous value
...args
# unchanged since 2.0, see docs
// Tests
# Rest parameters are collected here into a list
// keep in sync with foo.h
# noqa
// return the original error
/* Skip the header */
// Check the remaining bytes
# keep this value small
// Keep a reference
# existing connection is reused
// other cases are errors
# keep lines sorted
# Leave everything
# TODO: handle the other cases
#
//
""".splitlines()


@pytest.mark.parametrize("line", ELISIONS)
def test_elision(line: str) -> None:
    marker = read_marker("    " + line)
    assert marker is not None
    assert marker.kind is MarkerKind.ELISION


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_text(line: str) -> None:
    assert read_marker(line) is None


def test_words_are_without_comment_signs_dots_and_brackets() -> None:
    marker = read_marker("  {/* ... existing imports ... */}")
    assert marker is not None
    assert (marker.words, marker.commented, marker.dotted) == ("existing imports", True, True)


@pytest.mark.parametrize(
    ("line", "name", "plain"),
    [
        ("# removed", None, True),
        ("// delete this method", None, True),
        ("# foo() removed", "foo", False),
        ("// deleted: oldMethod()", "oldMethod", False),
        ("# remove this function", None, True),
        ("// Removed unused import", None, True),
        ("# Removed method get", "get", False),
        ("# Delete old entries", None, False),
        ("# Remove item", "item", False),
        ("-- drop table", "table", False),
    ],
)
def test_removal(line: str, name: str | None, plain: bool) -> None:
    marker = read_marker(line)
    assert marker is not None
    assert marker.kind is MarkerKind.REMOVAL
    removal = read_removal(marker.words)
    assert (removal.name, removal.plain) == (name, plain)


@pytest.mark.parametrize("line", ["# removed the cache because it leaked", "// remove trailing slashes", "del x"])
def test_no_removal(line: str) -> None:
    assert read_marker(line) is None


def test_a_long_line_is_text() -> None:
    assert read_marker("# ... " + "existing " * 100 + "...") is None


@pytest.mark.parametrize(
    "banner", ["/" + "*" * 100_000, "<!" + "-" * 100_000, "(" + "*" * 100_000, "{/" + "*" * 100_000]
)
def test_a_banner_takes_no_time(banner: str) -> None:
    """A pattern that tries every split of the banner would not come back."""
    assert read_marker(banner) is None
    assert comment_text(banner) is None
    assert comment_text("/" + "*" * 100_000 + " existing code " + "*" * 100_000 + "/") == "existing code"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("/**/", ""),
        ("/*** a ***/", "a"),
        ("/*/", None),
        ("<!---->", ""),
        ("<!--->", None),
        ("<!--- a --->", "a"),
        ("(*)", None),
        ("{/*a*/}", "a"),
        ("{# a #}", "a"),
        ("'''a'''", "a"),
        ("//! a", "a"),
        ("### a ###", "a ###"),
        ("a # b", None),
        ("REMARK", None),
        ("REM a", "a"),
    ],
)
def test_comment_text(line: str, text: str | None) -> None:
    assert comment_text(f"  {line}\t") == text
