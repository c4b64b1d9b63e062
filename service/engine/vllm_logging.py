"""vLLM's logging, less the dump that holds what callers sent.

When a step fails, vLLM's engine core logs the whole scheduler output at ERROR: sampling parameters, and with them the
drafts that requests carry, and the draft tokens of the step. Those are callers' files. The dump is written in the
engine core's process, so it can only be turned off by the logging configuration that vLLM hands to its processes.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, MutableMapping
from functools import cache
from pathlib import Path
from typing import Any, Final

DUMP_LOGGER: Final = "vllm.logging_utils.dump_input"
CONFIG_VARIABLE: Final = "VLLM_LOGGING_CONFIG_PATH"
_LEVEL_VARIABLE: Final = "VLLM_LOGGING_LEVEL"
_CONFIGURE_VARIABLE: Final = "VLLM_CONFIGURE_LOGGING"


def configuration(level: str) -> dict[str, Any]:
    """For logging.config.dictConfig: everything of vLLM's to standard error from `level` on, but for the dump."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "vllm": {"format": "(%(processName)s pid=%(process)d) %(levelname)s %(asctime)s [%(name)s] %(message)s"}
        },
        "handlers": {"vllm": {"class": "logging.StreamHandler", "formatter": "vllm", "stream": "ext://sys.stderr"}},
        "loggers": {
            "vllm": {"handlers": ["vllm"], "level": level, "propagate": False},
            DUMP_LOGGER: {"handlers": [], "level": "CRITICAL", "propagate": False},
        },
    }


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """What to set so that vLLM reads the configuration, from a file that lives as long as this process.

    variables: as they will be when vLLM starts. An operator's own logging configuration wins, and answers for itself.
    """
    if CONFIG_VARIABLE in variables or variables.get(_CONFIGURE_VARIABLE) == "0":
        return {}
    path = Path(_folder().name) / "vllm-logging.json"
    level = variables.get(_LEVEL_VARIABLE, "WARNING").upper()
    path.write_text(json.dumps(configuration(level)), encoding="utf-8")
    return {CONFIG_VARIABLE: os.fspath(path)}


def remove(variables: MutableMapping[str, str]) -> None:
    """Removes the file and takes it out of the variables: no process reads it once the engine is closed.

    At the interpreter's end it goes by itself, but a process that is ended in the middle of a start has no such end.
    """
    if not _folder.cache_info().currsize:
        return
    folder = _folder()
    _folder.cache_clear()
    if Path(variables.get(CONFIG_VARIABLE, "")).parent == Path(folder.name):
        del variables[CONFIG_VARIABLE]
    folder.cleanup()


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="redraft-vllm-")
