from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from service.config import EMBEDDED_MODEL_PATH
from service.weights import LIST, WeightsError, read_list, verify


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "a file.json").write_bytes(b"{}")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(tmp_path.iterdir())]
    (tmp_path / LIST).write_text("".join(lines))
    return tmp_path


def test_files_as_listed(folder: Path) -> None:
    assert verify(folder) == read_list(folder)
    assert set(verify(folder)) == {"model.safetensors", "a file.json"}
    assert verify(folder)["model.safetensors"] == hashlib.sha256(b"weights").hexdigest()


def test_a_folder_without_a_list_is_taken_as_it_is(tmp_path: Path) -> None:
    assert verify(tmp_path) == {}


def test_one_changed_byte(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"weightz")
    with pytest.raises(WeightsError, match=r"model\.safetensors is not the file that SHA256SUMS names"):
        verify(folder)


def test_a_missing_file(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(WeightsError, match=r"cannot read .*model\.safetensors"):
        verify(folder)


@pytest.mark.parametrize("line", ["0" * 64 + "  ../outside", "abc  model.safetensors", "0" * 64, ""])
def test_a_list_that_is_none(folder: Path, line: str) -> None:
    with (folder / LIST).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(WeightsError, match="line 3: not a line of sha256sum"):
        verify(folder)


def test_the_embedded_model_is_listed_whole() -> None:
    shipped = {path.name for path in EMBEDDED_MODEL_PATH.iterdir() if path.suffix in (".safetensors", ".json")}
    assert shipped - {"training.json"} == set(verify(EMBEDDED_MODEL_PATH))
