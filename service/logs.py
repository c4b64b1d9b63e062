"""Structured logs on standard error. What a caller sends is never logged: sizes, names of forms and codes are."""

from __future__ import annotations

import logging
import sys
import traceback

import structlog

from service.config import LogConfig


def configure(config: LogConfig, *, cache: bool = True) -> None:
    """Sets structlog up for this process. cache: keep loggers that were used once, which is faster and final."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if config.format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[config.level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=cache,
    )


def describe(error: BaseException) -> list[str]:
    """An exception and its causes: types and places. Their messages may hold a caller's text and are left out."""
    lines: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        lines.append(f"{type(current).__module__}.{type(current).__qualname__}")
        lines += [f"{f.filename}:{f.lineno} in {f.name}" for f in traceback.extract_tb(current.__traceback__)]
        current = current.__cause__ or current.__context__
    return lines
