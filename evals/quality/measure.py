"""Applies edits through the service's client, as its users do, and scores what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from evals.corpus.cases import Case
from evals.corpus.records import digest
from evals.quality.samples import QualitySample
from evals.quality.scorers import difference, no_result, score
from service.client import Client, DraftOptions
from service.errors import EditNotApplicable, InvalidRequest, RedraftError, ResultRejected

CALL_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class Job:
    """A case, and whether its edit changes nothing: then the file must come back as it was."""

    case: Case
    no_op: bool = False

    @property
    def key(self) -> tuple[str, str, bool]:
        return self.case.record.id, self.case.form, self.no_op


def measure(
    jobs: Sequence[Job], client: Client, *, concurrency: int, draft: DraftOptions | None = None
) -> Iterator[QualitySample]:
    """A sample as soon as its call is over; so many are in flight.

    An edit that the service refuses is an outcome. Raises the service's other errors: then it does not work at all.
    """
    waiting = iter(jobs)
    running: set[Future[QualitySample]] = set()
    with ThreadPoolExecutor(concurrency) as pool:
        try:
            while True:
                while len(running) < concurrency and (job := next(waiting, None)) is not None:
                    running.add(pool.submit(apply, job, client, draft or DraftOptions()))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def apply(job: Job, client: Client, draft: DraftOptions) -> QualitySample:
    """One call and its scores."""
    record = job.case.record
    expected = record.before if job.no_op else record.after
    status, data, tokens, passes, agreement = "OK", b"", 0, 0, None
    try:
        applied = client.apply(replace(job.case.call(), draft=draft), timeout_seconds=CALL_SECONDS)
    except (EditNotApplicable, InvalidRequest, ResultRejected) as error:
        status = _reason(error)
        scores = no_result(record.before, expected, record.language)
    else:
        data, tokens, passes = applied.data, applied.output_tokens, applied.report.target_passes
        scores, agreement = score(record.before, expected, data, record.language), applied.agreement
    return QualitySample(
        id=record.id,
        form=job.case.form,
        no_op=job.no_op,
        language=record.language,
        digest=digest(record.before, record.after),
        lines=record.lines,
        status=status,
        score=scores,
        output_tokens=tokens,
        target_passes=passes,
        difference=difference(expected, data) if status == "OK" else "",
        agreement=agreement,
    )


def _reason(error: RedraftError) -> str:
    """OVER_CONTEXT and the like say more than INVALID_REQUEST."""
    if isinstance(error, InvalidRequest) and len({violation.reason for violation in error.violations}) == 1:
        return error.violations[0].reason
    return error.reason
