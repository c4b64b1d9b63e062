"""Prompt formats: how the loaded model is asked for an edited file, and how the file is cut out of its answer."""

from __future__ import annotations

from pathlib import Path

from service.config import PromptFormatName
from service.prompts.base import PromptFormat, RenderedPrompt
from service.prompts.tokenization import TokenizerError


def load_prompt_format(name: PromptFormatName, model_path: Path) -> PromptFormat:
    """The format `name` with the tokenizer of the model at `model_path`.

    Raises TokenizerError when the model does not fit the format.
    """
    if name is PromptFormatName.EMBEDDED:
        from service.prompts.embedded import EmbeddedFormat

        return EmbeddedFormat.load(model_path)
    # These import transformers, which takes seconds: only when they are asked for.
    if name is PromptFormatName.CHAT:
        from service.prompts.chat import ChatFormat

        return ChatFormat.load(model_path)
    if name is PromptFormatName.UPDATED_CODE:
        from service.prompts.updated_code import UpdatedCodeFormat

        return UpdatedCodeFormat.load(model_path)
    from service.prompts.bare_file import BareFileFormat

    return BareFileFormat.load(model_path)


__all__ = ["PromptFormat", "RenderedPrompt", "TokenizerError", "load_prompt_format"]
