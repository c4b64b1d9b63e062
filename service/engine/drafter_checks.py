"""Whether the configured drafter can work at all, looked at before the engine starts: vLLM would say it later, in
another process, or (of a wrong pair of tokenizers) not at all."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any, cast

from drafts.reference.tokenizers import Tokenizer, TokenizerMismatchError, check_pair
from service.config import ConfigError, DraftingConfig, ModelConfig
from service.drafter_config import DraftModelConfig, EagleDrafterConfig, SuffixDrafterConfig

_SETTING = "drafting.drafter"


class DrafterError(ConfigError):
    """The configured drafter cannot be used. The message names the setting, and says what to do."""


class MissingPackage(DrafterError):
    """The drafter needs a package that is not installed."""


class MissingModel(DrafterError):
    """The drafter's folder holds no model."""


class TokenizersDiffer(DrafterError):
    """The draft model's token ids mean other text than the target's."""


def check_drafter(model: ModelConfig, drafting: DraftingConfig) -> None:
    """Raises a DrafterError for a missing package, a folder without a model, and a draft model for another tokenizer.

    Reads files, and both tokenizers where there is a draft model: seconds, not for an event loop.
    """
    drafter = drafting.drafter
    if not drafting.enabled:
        return
    if isinstance(drafter, SuffixDrafterConfig):
        _check_package("arctic_inference.suffix_decoding", kind=drafter.kind, package="arctic-inference")
    if isinstance(drafter, DraftModelConfig | EagleDrafterConfig):
        config = _read_config(drafter.path, drafter.kind)
        if isinstance(drafter, DraftModelConfig) and drafter.length > 0:
            _check_tokenizers(model, drafter)
            _check_output_sizes(model, drafter, config)
            _check_hidden_sizes(drafter, config)


def _check_package(module: str, *, kind: str, package: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise MissingPackage(
            f"{_SETTING}.kind {kind} needs the package {package}, which cannot be imported ({error}): install it with "
            f"pip install 'redraft[{kind}]', or choose another kind"
        ) from error


def _read_config(path: Path, kind: str) -> dict[str, Any]:
    """The model's config.json. Raises MissingModel where there is no whole model."""
    if not path.is_dir():
        raise MissingModel(
            f"{_SETTING}.path {path} is not a folder: {kind} needs a model's folder on this machine; nothing is "
            "downloaded"
        )
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MissingModel(
            f"{_SETTING}.path {path} holds no readable config.json: is it the folder of a model in Hugging Face's "
            "layout?"
        ) from error
    if not isinstance(config, dict):
        raise MissingModel(f"{_SETTING}.path {path}: config.json is not an object")
    if not any(path.glob("*.safetensors")) and not any(path.glob("*.bin")):
        raise MissingModel(f"{_SETTING}.path {path} holds no weights (*.safetensors or *.bin): copy the whole model")
    return config


def _check_tokenizers(model: ModelConfig, drafter: DraftModelConfig) -> None:
    target = _load_tokenizer(model.path, "model.path")
    draft = _load_tokenizer(drafter.path, f"{_SETTING}.path")
    try:
        check_pair(target, draft)
    except TokenizerMismatchError as error:
        raise TokenizersDiffer(f"{_SETTING}.path {drafter.path} cannot draft for {model.path}: {error}") from error


def _load_tokenizer(path: Path, setting: str) -> Tokenizer:
    from transformers import AutoTokenizer

    advice = "a draft model comes with the target's tokenizer; copy tokenizer.json and tokenizer_config.json with it"
    if not any(path.glob("tokenizer*")):  # transformers would make an empty one
        raise MissingModel(f"{setting} {path} holds no tokenizer: {advice}")
    try:
        return cast(Tokenizer, AutoTokenizer.from_pretrained(path, local_files_only=True))
    except Exception as error:
        # What is raised depends on the kind of tokenizer that the files ask for.
        raise MissingModel(
            f"{setting} {path} holds no tokenizer that transformers can load ({type(error).__name__}): {advice}"
        ) from error


def _check_output_sizes(model: ModelConfig, drafter: DraftModelConfig, config: dict[str, Any]) -> None:
    """The same tokenizer does not make the output layers equal: some families pad them differently by size."""
    target, draft = _vocab_size(_read_target(model.path)), _vocab_size(config)
    if target is not None and draft is not None and target != draft:
        raise DrafterError(
            f"{_SETTING}.path {drafter.path} has an output layer of {draft} tokens and {model.path} one of {target}: "
            "vLLM needs them equal; choose another draft model, or kind copy, which needs none"
        )


def _check_hidden_sizes(drafter: DraftModelConfig, config: dict[str, Any]) -> None:
    """From the second draft token on, vLLM copies such a model's output into a buffer of another size, and dies."""
    hidden = config.get("hidden_size")
    if drafter.length > 1 and config.get("word_embed_proj_dim", hidden) != hidden:
        raise DrafterError(
            f"{_SETTING}.path {drafter.path} projects its output (word_embed_proj_dim is not hidden_size), with which "
            f"vLLM drafts one token at a time only: set {_SETTING}.length to 1, or choose another draft model"
        )


def _read_target(path: Path) -> dict[str, Any]:
    """Empty where it cannot be read: that is for the engine's own start to say."""
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


def _vocab_size(config: dict[str, Any]) -> int | None:
    text = config.get("text_config")
    found = config.get("vocab_size", text.get("vocab_size") if isinstance(text, dict) else None)
    return found if isinstance(found, int) else None
