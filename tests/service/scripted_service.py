"""A whole service in which only the model is missing: its "answer" is what the alignment predicts, token by token.

Run as a program, it is `redraft serve` without vLLM: scripted_service.py ADDRESS_FILE SECONDS_A_TOKEN SECONDS_TO_START.
Its engine dies on SIGUSR1.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from service.cli import run
from service.config import Settings
from service.engine.base import Engine, GenerateRequest
from service.engine.scripted import Script, ScriptedEngine
from service.pipeline import Pipeline
from service.prompts import load_prompt_format
from service.servicer import ApplyPipeline


def predicted(request: GenerateRequest, delay: float = 0.0) -> Script:
    if request.draft is None:
        raise ValueError("there is no prediction without drafting")
    return Script(chunks=[[token] for token in request.draft.predicted], delay=delay)


class SlowStartEngine(ScriptedEngine):
    """Starts as vLLM does: in a thread that nobody can interrupt, with a process of its own."""

    seconds: float = 0.0

    async def start(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, setattr, self, "healthy", False)
        if self.seconds:
            child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(self.seconds,))
            child.start()
            print(f"child {child.pid}", flush=True)
            await asyncio.to_thread(time.sleep, self.seconds)


def composer(
    delay: float = 0.0, max_model_len: int = 32_768, seconds_to_start: float = 0.0
) -> Callable[[Settings], tuple[Engine, ApplyPipeline]]:
    def compose(settings: Settings) -> tuple[Engine, ApplyPipeline]:
        engine = SlowStartEngine(lambda request: predicted(request, delay), max_model_len=max_model_len)
        engine.seconds = seconds_to_start
        prompt_format = load_prompt_format(settings.model.prompt_format, settings.model.path)
        return engine, Pipeline(engine, prompt_format, settings)

    return compose


if __name__ == "__main__":
    flags = {"port": 0, "address_file": Path(sys.argv[1]), "stop_on_stdin_eof": True, "drain_seconds": 30}
    compose = composer(float(sys.argv[2]), seconds_to_start=float(sys.argv[3]))
    sys.exit(run(Settings.load(None, {"server": flags, "metrics": {"port": 0}}), compose))
