"""The configuration files for public models: what can be checked without their weights."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from service.config import PromptFormatName, Settings
from service.drafter_config import CopyDrafterConfig

FOLDER = Path(__file__).parents[2] / "deploy" / "models"
FILES = sorted(FOLDER.glob("*.toml"))
GIB = 2**30


def test_there_are_models_from_1_5_to_32_billion_parameters() -> None:
    assert {path.stem for path in FILES} >= {"fastapply-1.5b", "fastapply-7b", "qwen2.5-coder-32b-instruct"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_loads_and_says_what_a_server_needs(path: Path) -> None:
    settings = Settings.load(path)
    assert settings.model.name == path.stem
    assert settings.model.prompt_format in (PromptFormatName.CHAT, PromptFormatName.UPDATED_CODE)
    assert settings.model.dtype == "bfloat16"
    assert settings.model.max_model_len is not None
    drafter = settings.drafting.drafter
    assert isinstance(drafter, CopyDrafterConfig)
    # Logits of every draft token: 152,064 entries in float32. More than 2 GiB of them would not be spare.
    assert drafter.max_batch_draft_tokens * 152_064 * 4 < 2 * GIB


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_names_its_weights_and_licence(path: Path) -> None:
    text = path.read_text()
    assert re.search(r"^# Weights: [\w.-]+/[\w.-]+ \(licence: [\w.-]+\)\.$", text, re.MULTILINE)
    assert f"deploy/models/{path.name}" in text
