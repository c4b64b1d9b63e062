"""What an operator is told of a drafter that cannot work, before any engine starts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.config import EMBEDDED_MODEL_PATH, ConfigError, DraftingConfig, EngineConfig, ModelConfig
from service.drafter_config import (
    CopyDrafterConfig,
    DrafterConfig,
    DraftModelConfig,
    EagleDrafterConfig,
    MtpDrafterConfig,
    NgramDrafterConfig,
    NoDrafterConfig,
    SuffixDrafterConfig,
)
from service.engine.drafter_checks import DrafterError, MissingModel, MissingPackage, TokenizersDiffer, check_drafter
from service.engine.vllm import VllmEngine

Change = Callable[[dict[str, Any]], object]


def check(drafter: DrafterConfig, *, enabled: bool = True) -> None:
    check_drafter(ModelConfig(), DraftingConfig(enabled=enabled, drafter=drafter))


def edit(path: Path, change: Change) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A draft model's folder: the embedded model's own files, its weights replaced by a name."""
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(EMBEDDED_MODEL_PATH / name, tmp_path)
    edit(tmp_path / "config.json", lambda config: config.update(word_embed_proj_dim=config["hidden_size"]))
    (tmp_path / "model.safetensors").touch()
    return tmp_path


@pytest.mark.parametrize("drafter", [CopyDrafterConfig(), NgramDrafterConfig(), MtpDrafterConfig(), NoDrafterConfig()])
def test_drafters_without_parts_of_their_own_pass(drafter: DrafterConfig) -> None:
    check(drafter)


def test_a_draft_model_of_the_same_tokenizer_passes(small: Path) -> None:
    check(DraftModelConfig(path=small))
    check(EagleDrafterConfig(path=small))


def _swap(document: dict[str, Any]) -> None:
    vocabulary = document["model"]["vocab"]
    one, other = [name for name in vocabulary if name.isalpha()][:2]
    vocabulary[one], vocabulary[other] = vocabulary[other], vocabulary[one]


def _unmerge(document: dict[str, Any]) -> None:
    document["model"]["merges"].reverse()


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("tokenizer.json", _swap, "vocabularies"),
        ("tokenizer.json", _unmerge, "encodings of a probe text"),
        ("tokenizer_config.json", lambda d: d.update(eos_token="<out>"), "end-of-sequence ids"),
    ],
)
def test_another_tokenizer_is_refused(small: Path, name: str, change: Change, says: str) -> None:
    edit(small / name, change)
    with pytest.raises(TokenizersDiffer, match=rf"drafting\.drafter\.path .*{says}.*choose a draft model") as caught:
        check(DraftModelConfig(path=small))
    assert str(small) in str(caught.value)
    # A head has no tokenizer, and a drafter that is off is not looked at.
    check(EagleDrafterConfig(path=small))
    check(DraftModelConfig(path=small), enabled=False)
    check(DraftModelConfig(path=small, length=0))


def test_another_size_of_the_output_layer_is_refused(small: Path) -> None:
    edit(small / "config.json", lambda config: config.update(vocab_size=4224))
    with pytest.raises(DrafterError, match=r"4224 tokens .* one of 8192"):
        check(DraftModelConfig(path=small))


def test_a_projected_output_is_refused_where_vllm_would_die_of_it() -> None:
    with pytest.raises(DrafterError, match=r"word_embed_proj_dim is not hidden_size.*length to 1"):
        check(DraftModelConfig(path=EMBEDDED_MODEL_PATH))
    check(DraftModelConfig(path=EMBEDDED_MODEL_PATH, length=1))


@pytest.mark.parametrize("kind", ["draft_model", "eagle"])
@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: shutil.rmtree(folder), "is not a folder"),
        (lambda folder: (folder / "config.json").unlink(), "no readable config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), "no readable config.json"),
        (lambda folder: (folder / "config.json").write_text("[]"), "is not an object"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no weights"),
    ],
)
def test_a_folder_without_a_model_is_refused(
    small: Path, kind: str, spoil: Callable[[Path], object], says: str
) -> None:
    spoil(small)
    drafter = DraftModelConfig(path=small) if kind == "draft_model" else EagleDrafterConfig(path=small)
    with pytest.raises(MissingModel, match=says):
        check(drafter)


def test_a_model_without_a_tokenizer_is_refused(small: Path) -> None:
    (small / "tokenizer.json").unlink()
    (small / "tokenizer_config.json").unlink()
    with pytest.raises(MissingModel, match=r"no tokenizer: .* copy tokenizer\.json"):
        check(DraftModelConfig(path=small))
    (small / "tokenizer.json").write_text("{}")
    with pytest.raises(MissingModel, match=r"no tokenizer that transformers can load .* copy tokenizer\.json"):
        check(DraftModelConfig(path=small))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arctic_inference", None)  # as Python itself marks what cannot be imported
    monkeypatch.delitem(sys.modules, "arctic_inference.suffix_decoding", raising=False)
    with pytest.raises(MissingPackage, match=r"needs the package arctic-inference.*pip install 'redraft\[suffix\]'"):
        check(SuffixDrafterConfig())


async def test_the_engine_asks_before_it_starts(tmp_path: Path) -> None:
    drafting = DraftingConfig(drafter=DraftModelConfig(path=tmp_path / "none"))
    engine = VllmEngine(ModelConfig(), EngineConfig(), drafting)
    with pytest.raises(ConfigError, match="is not a folder"):
        await engine.start()


def test_the_command_says_it_and_ends_with_the_status_of_bad_configuration(tmp_path: Path) -> None:
    """In a process of its own: a server keeps its logger for good."""
    settings = ("drafting.drafter.kind=draft_model", f"drafting.drafter.path={tmp_path / 'none'}")
    command = [sys.executable, "-m", "service.cli", "serve", "--port", "0", "--set", "metrics.enabled=false"]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2, done.stderr
    assert "redraft: drafting.drafter.path" in done.stderr
    assert "Traceback" not in done.stderr
