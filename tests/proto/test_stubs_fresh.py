"""service/pb is what protoc makes of proto/ today."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROTOS = sorted(path.name for path in (ROOT / "proto/redraft/v1").glob("*.proto"))
STUBS = ROOT / "service/pb"


def test_stubs_are_fresh(tmp_path: Path) -> None:
    tools = Path(sys.executable).parent
    subprocess.run(
        [
            *(sys.executable, "-m", "grpc_tools.protoc", "-Iservice/pb=proto/redraft/v1"),
            *(f"--python_out={tmp_path}", f"--grpc_python_out={tmp_path}"),
            *(f"--mypy_out=quiet:{tmp_path}", f"--mypy_grpc_out=quiet:{tmp_path}"),
            *(f"service/pb/{name}" for name in PROTOS),
        ],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"},
        check=True,
    )
    fresh = {path.name: path.read_text() for path in (tmp_path / "service/pb").iterdir()}
    kept = {path.name: path.read_text() for path in STUBS.glob("*_pb2*")}
    assert sorted(kept) == sorted(fresh)
    stale = [name for name, text in fresh.items() if kept[name] != text]
    assert not stale, "run `make stubs` and commit the result"


def test_the_readme_lists_every_reason_and_language() -> None:
    """The tables of proto/README.md are the contract's other half, and go stale as easily as stubs."""
    from service import languages

    readme = (ROOT / "proto/README.md").read_text()
    listed = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", readme))
    raised: set[str] = set()
    for source in (ROOT / "service").rglob("*.py"):
        if "pb" not in source.parts and "embedded" not in source.parts:
            raised |= set(re.findall(r'reason(?:: ClassVar\[str\])? ?= ?"([A-Z][A-Z0-9_]+)"', source.read_text()))
    assert raised
    assert raised - listed == set()
    assert {f"`{name}`" for name in languages.KNOWN} - set(re.findall(r"`[a-z]+`", readme)) == set()
