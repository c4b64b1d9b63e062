from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.corpus.licenses import UNKNOWN, detect, is_candidate, is_permissive

MIT = (Path(__file__).parent / "mit.txt").read_bytes()


@pytest.mark.parametrize(
    ("files", "expression"),
    [
        ({"LICENSE": MIT}, "MIT"),
        ({"LICENCE.md": MIT.replace(b"Nobody", b"Somebody else, and others")}, "MIT"),
        ({"LICENSE": b"SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"}, "Apache-2.0 WITH LLVM-exception"),
        ({"LICENSE": b"SPDX-License-Identifier: nonsense\n"}, UNKNOWN),
        ({"LICENSE-MIT": MIT, "COPYING": b"SPDX-License-Identifier: 0BSD"}, "0BSD AND MIT"),
        ({"Cargo.toml": b'[package]\nlicense = "mit or apache-2.0"', "LICENSE-MIT": MIT}, "MIT OR Apache-2.0"),
        (
            {
                "Cargo.toml": b'[package]\nlicense.workspace = true\n[workspace.package]\nlicense = "Apache-2.0"',
                "LICENSE": b"Another text.",
            },
            "Apache-2.0",
        ),
        ({"Cargo.toml": b"[package]\nlicense.workspace = true", "LICENSE": MIT}, "MIT"),
        ({"package.json": json.dumps({"license": "ISC"}).encode()}, "ISC"),
        ({"package.json": b'{"license": {"type": "MIT"}}', "LICENSE": MIT}, "MIT"),
        ({"package.json": b"{", "pyproject.toml": b"x = [", "LICENSE": MIT}, "MIT"),
        ({"pyproject.toml": b'[project]\nlicense = "BSD-3-Clause"'}, "BSD-3-Clause"),
        ({"LICENSE": b"All rights reserved."}, UNKNOWN),
        ({"LICENSE": b"\xff" * 2000}, UNKNOWN),
        ({}, UNKNOWN),
    ],
)
def test_detect(files: dict[str, bytes], expression: str) -> None:
    assert detect(files) == expression


def test_candidates() -> None:
    found = {
        name for name in ("LICENSE", "COPYING.txt", "UNLICENSE", "package.json", "a.py", "licen") if is_candidate(name)
    }
    assert found == {"LICENSE", "COPYING.txt", "UNLICENSE", "package.json"}


@pytest.mark.parametrize(
    ("expression", "permissive"),
    [("MIT", True), ("MIT OR Apache-2.0", True), ("GPL-3.0-only OR MIT", False), (UNKNOWN, False), ("", False)],
)
def test_permissive_in_every_part(expression: str, permissive: bool) -> None:
    assert is_permissive(expression) is permissive
