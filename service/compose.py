"""Puts the real parts together: the one place that knows them all."""

from __future__ import annotations

from service.config import Settings
from service.engine.base import Engine
from service.servicer import ApplyPipeline


def compose(settings: Settings) -> tuple[Engine, ApplyPipeline]:
    """The engine, not yet started, and the pipeline over it."""
    raise NotImplementedError
