"""Draft reports and other calls to the engine's workers: never waited for longer than they are worth."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import structlog

from drafts.core.types import DraftReport
from service import logs
from service.errors import EngineUnavailable

_log = structlog.get_logger("redraft")

_T = TypeVar("_T")

CALL_SECONDS = 20.0
"""A worker answers between two passes, and the prefill of another request may take seconds on a CPU."""
_LOOK_SECONDS = 0.5

Fetch = Callable[[list[str]], Awaitable[Mapping[str, DraftReport]]]


async def answer_or_give_up(
    call: Awaitable[_T],
    check_health: Callable[[], Awaitable[None]],
    *,
    seconds: float = CALL_SECONDS,
    look_seconds: float = _LOOK_SECONDS,
) -> _T:
    """The answer of a call to the engine. Raises EngineUnavailable when the call fails, when the engine dies under it
    (vLLM leaves such a call waiting for ever), and after `seconds`."""
    task = asyncio.ensure_future(call)
    end = asyncio.get_running_loop().time() + seconds
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=look_seconds)
            if not task.done():
                await check_health()
                if asyncio.get_running_loop().time() > end:
                    raise EngineUnavailable(f"the engine's workers did not answer within {seconds:g} s; try again")
        return task.result()
    except EngineUnavailable:
        raise
    except Exception as error:
        # vLLM hands on what a worker raised as a plain Exception, so there is no narrower type to catch.
        raise EngineUnavailable("a call to the engine's workers failed; its log says why") from error
    finally:
        task.cancel()


class ReportDesk:
    """Fetches reports in batches: requests that finish while a call is under way share the next one.

    A text is never lost for its report's sake: where none can be had, it is empty, and the log says so.
    """

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._waiting: dict[str, asyncio.Future[DraftReport]] = {}
        self._task: asyncio.Task[None] | None = None

    async def fetch(self, key: str) -> DraftReport:
        future = asyncio.get_running_loop().create_future()
        self._waiting[key] = future
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._serve())
        report: DraftReport = await future
        return report

    async def _serve(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, {}
            reports: Mapping[str, DraftReport] = {}
            try:
                reports = await self._fetch(list(batch))
            except Exception as error:  # noqa: BLE001
                # Whatever it is, it concerns figures only, and the texts they belong to are finished.
                _log.warning("draft reports lost", reports=len(batch), error=logs.describe(error))
            finally:
                for key, future in batch.items():
                    if not future.done():
                        future.set_result(reports.get(key, DraftReport()))
