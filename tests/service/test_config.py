"""Where settings come from, and which wins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from service.config import EMBEDDED_MODEL_PATH, ConfigError, ModelConfig, Settings
from service.flags import merge, overrides, parse_set


def test_flags_over_environment_over_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "redraft.toml"
    config.write_text('[server]\nhost = "from.file"\nport = 1\nmax_file_bytes = 11\n[log]\nlevel = "debug"\n')
    monkeypatch.setenv("REDRAFT_SERVER__PORT", "2")
    monkeypatch.setenv("REDRAFT_SERVER__MAX_FILE_BYTES", "22")
    settings = Settings.load(config, overrides({"server.max_file_bytes": 33, "server.host": None}))
    assert (settings.server.host, settings.server.port, settings.server.max_file_bytes) == ("from.file", 2, 33)
    assert settings.log.level == "debug"
    assert settings.server.max_edit_bytes == Settings().server.max_edit_bytes


def test_defaults() -> None:
    assert Settings.load() == Settings()


def test_set_flags_are_converted() -> None:
    settings = Settings.load(None, overrides(dict(parse_set(["server.port=7", "drafting.enabled=false"]))))
    assert (settings.server.port, settings.drafting.enabled) == (7, False)


NAMED = ["server.host", "server.port", "model.path", "model.name", "model.prompt_format", "drafting.enabled"]


@pytest.mark.parametrize("setting", [*NAMED, "log.level", "log.format"])
def test_set_holds_where_the_flag_of_its_own_is_not_given(setting: str) -> None:
    section, _, key = setting.partition(".")
    assert merge({setting: None}, [f"{setting}=a"]) == {section: {key: "a"}}
    assert merge({setting: "b"}, [f"{setting}=a"]) == {section: {key: "b"}}
    assert merge({setting: False}, [f"{setting}=a"]) == {section: {key: False}}


@pytest.mark.parametrize("assignment", ["port=1", "server.port", "a.b.c.d=1", "a..c=1", ""])
def test_bad_set_flags(assignment: str) -> None:
    with pytest.raises(ConfigError, match=r"SECTION\.KEY=VALUE"):
        parse_set([assignment])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[server]\nport = 99999\n", r"server\.port"),
        ("[server]\nprot = 1\n", r"server\.prot"),
        ("[sever]\nport = 1\n", "sever"),
        ("port = \n", "not TOML"),
        ('[server]\nport = "x"\n[log]\nlevel = "loud"\n', r"server\.port.*log\.level"),
    ],
)
def test_bad_files(tmp_path: Path, content: str, says: str) -> None:
    config = tmp_path / "redraft.toml"
    config.write_text(content)
    with pytest.raises(ConfigError, match=says):
        Settings.load(config)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        Settings.load(tmp_path / "nothing.toml")


def test_bad_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDRAFT_SERVER__PORT", "many")
    with pytest.raises(ConfigError, match=r"server\.port"):
        Settings.load()


def test_the_embedded_model_keeps_its_name_and_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM's "auto" would run float32 weights in a shorter type."""
    weights = json.loads((EMBEDDED_MODEL_PATH / "config.json").read_text())["dtype"]
    monkeypatch.chdir(EMBEDDED_MODEL_PATH.parent)
    for path in (None, EMBEDDED_MODEL_PATH, str(EMBEDDED_MODEL_PATH), "embedded/"):
        model = Settings.load(None, overrides({"model.path": path})).model
        assert (model.name, model.dtype) == ("redraft-embedded", weights)
    assert ModelConfig(dtype="bfloat16", name="mine").dtype == "bfloat16"
    assert ModelConfig(dtype="bfloat16", name="mine").name == "mine"


@pytest.mark.parametrize(
    ("path", "name"),
    [("/models/Apply-7B", "Apply-7B"), ("/models/Apply-7B/", "Apply-7B"), ("../x/y", "y"), ("/", "model")],
)
def test_another_model_is_called_as_its_directory(path: str, name: str) -> None:
    model = Settings.load(None, overrides({"model.path": path, "model.prompt_format": "chat"})).model
    assert (model.name, model.dtype, model.path) == (name, "auto", Path(path))
    assert Settings.load(None, overrides({"model.path": path, "model.name": "mine"})).model.name == "mine"


def test_a_copy_of_the_embedded_model_keeps_its_precision() -> None:
    """In bfloat16 it writes other texts."""
    model = Settings.load(None, overrides({"model.path": "/models/trained"})).model
    assert (model.name, model.dtype) == ("trained", "float32")
    model = Settings.load(None, overrides({"model.path": "/models/trained", "model.dtype": "bfloat16"})).model
    assert model.dtype == "bfloat16"


def test_the_directory_is_that_of_whatever_source_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "redraft.toml"
    config.write_text('[model]\npath = "/models/a"\n')
    assert Settings.load(config).model.name == "a"
    monkeypatch.setenv("REDRAFT_MODEL__PATH", "/models/b")
    assert Settings.load(config).model.name == "b"
    assert Settings.load(config, overrides({"model.path": "/models/c"})).model.name == "c"


def test_a_name_is_not_empty() -> None:
    with pytest.raises(ConfigError, match=r"model\.name"):
        Settings.load(None, overrides({"model.name": ""}))
