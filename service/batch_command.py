"""`redraft batch`: many edits of many files, through one service and one call."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.console import Console
from rich.progress import Progress

from service.agreement import Agreement
from service.atomic_write import ChangedMeanwhile, replace_content
from service.batch_jobs import Job, JobsError, read_jobs
from service.client import AppliedEdit, BatchOutcome, Client, EditCall
from service.command_exit import INTERRUPTED, NOT_APPLIED, USAGE, failure, own_service_flags, service_failures
from service.diff import unified_diff
from service.launch import service_at
from service.shown_path import shown_path

_UNREADABLE, _NOT_WRITTEN = "UNREADABLE", "NOT_WRITTEN"
"""Beside the reasons of proto/README.md: failures on this side."""


def batch(
    jobs: Annotated[
        Path, typer.Argument(metavar="JOBS", help="JSON lines: file, and one of update, patch, blocks, instruction.")
    ],
    in_place: Annotated[bool, typer.Option("--in-place", help="Write each result into its file.")] = False,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write a line on each outcome here, as it comes.", metavar="OUT")
    ] = None,
    drafting: Annotated[bool, typer.Option("--drafting/--no-drafting", help="Draft by copying.")] = True,
    timeout: Annotated[float | None, typer.Option(help="Time limit of them all.", metavar="SECONDS")] = None,
    address: Annotated[
        str | None, typer.Option(help="A running service. Without it one is started and stopped.", metavar="HOST:PORT")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file of a service of one's own.", metavar="FILE")] = None,
    model: Annotated[str | None, typer.Option(help="Model of a service of one's own.", metavar="PATH")] = None,
) -> None:
    """Apply many edits, one a file, and print what changes as one unified diff.

    With --in-place each file is written as its result comes, in one step; a file whose edit fails stays as it is. Exit
    status: 0 when all were applied, 1 when some were not, 2 for bad jobs, 3 when there was no service, 130 when
    interrupted: what was written stays.
    """
    flags = own_service_flags(address, config, model)
    try:
        todo = read_jobs(jobs.read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError, JobsError) as error:
        raise failure(USAGE, f"{jobs}: {_what(error)}") from error
    console = Console(stderr=True, highlight=False)
    with ExitStack() as stack:
        try:
            report = None if json_path is None else stack.enter_context(json_path.open("w", encoding="utf-8"))
        except OSError as error:
            raise failure(USAGE, f"--json: {error}") from error
        run = _Run(todo, in_place=in_place, drafting=drafting, report=report, console=console)
        try:
            with service_failures(), service_at(address, flags) as where, Client(where) as client:
                run.through(client, timeout)
        except KeyboardInterrupt:
            run.summary()
            raise typer.Exit(INTERRUPTED) from None
        except typer.Exit:
            run.summary()
            raise
    run.summary()
    if run.failed:
        raise typer.Exit(NOT_APPLIED)


class _Run:
    """The jobs by number, and what has become of them so far."""

    def __init__(
        self, jobs: Sequence[Job], *, in_place: bool, drafting: bool, report: TextIO | None, console: Console
    ) -> None:
        self._jobs = jobs
        self._in_place = in_place
        self._drafting = drafting
        self._report = report
        self._console = console
        self._before: dict[int, bytes] = {}
        self._unreadable: list[tuple[int, str]] = []
        self._agreement: Counter[Agreement] = Counter()
        self.failed = 0

    def through(self, client: Client, timeout: float | None) -> None:
        with Progress(console=self._console, transient=True) as bar:
            task = bar.add_task("editing", total=len(self._jobs))
            with closing(client.batch(self._calls(), timeout_seconds=timeout)) as outcomes:
                for outcome in outcomes:
                    self._take(outcome)
                    bar.advance(task)
            for number, why in self._unreadable:
                self._fail(number, _UNREADABLE, why)

    def _calls(self) -> Iterator[tuple[str, EditCall]]:
        # Read as the service has room for them, by a thread of gRPC's: what fails here must not end the call.
        for number, job in enumerate(self._jobs):
            try:
                content = job.file.read_bytes()
            except OSError as error:
                self._unreadable.append((number, error.strerror or type(error).__name__))
                continue
            self._before[number] = content
            yield f"{number}", job.call(content, shown_path(job.file), drafting=self._drafting)

    def _take(self, outcome: BatchOutcome) -> None:
        number = int(outcome.item_id)
        before, result = self._before.pop(number), outcome.outcome
        if not isinstance(result, AppliedEdit):
            self._fail(number, result.reason, result.message)
            return
        file = self._jobs[number].file
        if self._in_place:
            try:
                replace_content(file, before, result.data)
            except (OSError, ChangedMeanwhile) as error:
                self._fail(number, _NOT_WRITTEN, _what(error))
                return
        else:
            sys.stdout.write(unified_diff(before.decode(), result.text, shown_path(file)))
            sys.stdout.flush()
        self._agreement[result.agreement] += 1
        if result.agreement is not Agreement.MODEL_AND_PLAN:
            self._console.print(f"{file}: not as the edit's alignment predicts: read it", markup=False, soft_wrap=True)
        self._write(number, "OK", agreement=result.agreement.value, hunks=len(result.hunks), sha256=result.sha256.hex())

    def _fail(self, number: int, reason: str, message: str) -> None:
        self.failed += 1
        self._console.print(f"{self._jobs[number].file}: {message} ({reason})", markup=False, soft_wrap=True)
        self._write(number, reason, message=message)

    def _write(self, number: int, outcome: str, **fields: object) -> None:
        if self._report is not None:
            record = {"file": str(self._jobs[number].file), "outcome": outcome, **fields}
            self._report.write(f"{json.dumps(record, ensure_ascii=False)}\n")
            self._report.flush()

    def summary(self) -> None:
        applied = self._agreement.total()
        doubtful = applied - self._agreement[Agreement.MODEL_AND_PLAN]
        left = len(self._jobs) - applied - self.failed
        self._console.print(
            f"{applied} of {len(self._jobs)} applied, {doubtful} of them not as predicted; {self.failed} failed"
            + (f"; {left} not done" if left else "")
        )


def _what(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    if isinstance(error, JobsError):
        return f"not jobs:\n{error}"
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
