"""Applies an example edit through the service's client, and times it."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass

from evals.example_edits import ExampleEdit
from evals.samples import Measurement
from service.client import AppliedEdit, Client, DraftOptions, EditCall
from service.errors import EditNotApplicable, ResultRejected

CALL_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Called:
    """text: the result, or what had come of it. failure: the service's message; None when the call succeeded."""

    measurement: Measurement
    text: str
    failure: str | None = None


def call(client: Client, example: ExampleEdit, draft: DraftOptions, *, begin: float | None = None) -> Called:
    """Streams one greedy call and measures it by this process's clock. begin: the time.perf_counter it counts from.

    An edit that the model cannot do or gets wrong is an outcome, with the status FAILED_PRECONDITION; every other
    error of the service (service/errors.py) is raised.
    """
    request = EditCall(
        path=example.path, content=example.original, edit=example.edit, language=example.language, draft=draft
    )
    chunks: list[bytes] = []
    first: float | None = None
    applied: AppliedEdit | None = None
    failure: str | None = None
    begin = time.perf_counter() if begin is None else begin
    try:
        for event in client.stream(request, timeout_seconds=CALL_SECONDS):
            if isinstance(event, AppliedEdit):
                applied = event
            else:
                first = time.perf_counter() - begin if first is None else first
                chunks.append(event.data)
    except (EditNotApplicable, ResultRejected) as error:
        failure = error.message
    total = time.perf_counter() - begin
    data = b"".join(chunks) if applied is None else applied.data
    text = data.decode(errors="replace")
    digest = hashlib.sha256(data).hexdigest()
    if applied is None:
        return Called(Measurement("FAILED_PRECONDITION", total, first, digest), text, failure)
    report = applied.report
    measurement = Measurement(
        status="OK",
        total_seconds=total,
        first_text_seconds=first,
        output_sha256=digest,
        prompt_tokens=applied.prompt_tokens,
        output_tokens=applied.output_tokens,
        target_passes=report.target_passes,
        drafted_tokens=report.drafted,
        accepted_tokens=report.accepted,
        rejected_tokens=report.rejected,
        drafter_seconds=report.drafter_ns / 1e9,
        matches_expected=text == example.expected,
        queue_seconds=applied.timing.queue,
    )
    return Called(measurement, text)
