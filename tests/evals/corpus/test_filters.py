from __future__ import annotations

import pytest

from evals.corpus.filters import LeftOut, Limits, Texts, changed_share, hunks, language_of, texts_of

LINES = [f"line {number}" for number in range(20)]
BEFORE = "\n".join(LINES).encode()


def edit(after: bytes, path: str = "a.py", before: bytes = BEFORE, limits: Limits | None = None) -> Texts | LeftOut:
    return texts_of(path, before, after, limits or Limits())


def test_texts_are_kept_as_they_are() -> None:
    before = b"\xef\xbb\xbf" + BEFORE.replace(b"\n", b"\r\n")
    after = before + b"\r\nend"
    assert edit(after, before=before) == Texts("python", before.decode(), after.decode())


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (BEFORE + b"\0", "no text"),
        (BEFORE + b"\xff", "no UTF-8"),
        (b"a\nb\nc", "too short"),
        (BEFORE * 60, "too long"),
        (BEFORE + b"x" * 501, "long lines"),
        (BEFORE.replace(b"\n", b"\r\n"), "only line ends"),
        (BEFORE + b"\n", "only line ends"),
        (b"\n".join(b"other %d" % n for n in range(20)), "mostly rewritten"),
        (b"y" * 100_001, "too large"),
    ],
)
def test_left_out(after: bytes, reason: str) -> None:
    assert edit(after) == LeftOut(reason)


@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        ("src/a.py", "python"),
        ("src/a.tsx", "tsx"),
        ("buildings/a.py", "python"),
        ("web/vendor/a.js", LeftOut("generated or vendored")),
        ("package-lock.json", LeftOut("generated or vendored")),
        ("a.min.js", LeftOut("generated or vendored")),
        ("x/api_pb2.py", LeftOut("generated or vendored")),
        ("README", LeftOut("no known language")),
        ("../a.py", LeftOut("odd path")),
        ("/etc/a.py", LeftOut("odd path")),
    ],
)
def test_language_of(path: str, verdict: str | LeftOut) -> None:
    assert language_of(path, Limits()) == verdict


def test_chosen_languages() -> None:
    assert language_of("a.py", Limits(("ruby",))) == LeftOut("other language")
    assert language_of("README", Limits(("text",))) == "text"


@pytest.mark.parametrize(
    ("after", "share", "runs"),
    [
        (LINES, 0, 0),
        (LINES + ["x"] * 20, 20 / 60, 1),
        (["x", *LINES[1:10], "y", *LINES[11:]], 4 / 40, 2),
        (LINES[:10], 10 / 30, 1),
        (["z"] * 20, 1, 1),
    ],
)
def test_how_much_changed(after: list[str], share: float, runs: int) -> None:
    assert changed_share(LINES, after) == pytest.approx(share)
    assert hunks(LINES, after) == runs
