"""Puts the real parts together: the one place that knows them all."""

from __future__ import annotations

from service.config import Settings
from service.engine.base import Engine
from service.engine.vllm import VllmEngine
from service.pipeline import Pipeline
from service.prompts import load_prompt_format
from service.servicer import ApplyPipeline
from service.weights import verify


def compose(settings: Settings) -> tuple[Engine, ApplyPipeline]:
    """The engine, not yet started, and the pipeline over it. Raises WeightsError and TokenizerError."""
    verify(settings.model.path)
    prompt_format = load_prompt_format(settings.model.prompt_format, settings.model.path)
    engine = VllmEngine(settings.model, settings.engine, settings.drafting)
    return engine, Pipeline(engine, prompt_format, settings)
