"""Facts with a clock that the test moves: what follows from what happened, and nothing else."""

from __future__ import annotations

from contextlib import suppress

import pytest

from drafts.core.types import DraftReport
from service import request_facts
from service.request_facts import PhaseName, RequestFacts


class Failure(Exception):
    """What a request failed with."""


class Clock:
    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns

    def tick(self, milliseconds: int) -> None:
        self.ns += milliseconds * 1_000_000


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def facts(clock: Clock) -> RequestFacts:
    clock.tick(1000)
    return RequestFacts(clock=clock)


def generate(facts: RequestFacts, clock: Clock) -> None:
    """100 ms in the queue, 200 of prefill, then 3 tokens in 30 ms."""
    with facts.generating(prompt_tokens=50, max_tokens=99):
        assert facts.waits_for_engine
        clock.tick(300)
        facts.output(1, 0.1)
        assert not facts.waits_for_engine
        clock.tick(30)
        facts.output(3, 0.1)
        clock.tick(5)


def phases(facts: RequestFacts) -> list[tuple[str, int, int, bool]]:
    start = facts.started_ns
    return [
        (p.name.value, (p.start_ns - start) // 1_000_000, (p.end_ns - start) // 1_000_000, p.failed)
        for p in facts.phases()
    ]


def test_a_request_that_succeeds(facts: RequestFacts, clock: Clock) -> None:
    with facts.phase(PhaseName.ALIGN):
        clock.tick(10)
    clock.tick(2)
    generate(facts, clock)
    facts.report = DraftReport()
    with facts.phase(PhaseName.GUARD):
        clock.tick(4)
    facts.end("OK", "OK")
    clock.tick(1000)
    assert phases(facts) == [
        ("align", 0, 10, False),
        ("queue", 12, 112, False),
        ("prefill", 112, 312, False),
        ("decode", 312, 347, False),
        ("guard", 347, 351, False),
    ]
    assert facts.seconds == pytest.approx(0.351)
    assert facts.seconds_per_output_token == pytest.approx(0.010)
    assert (facts.output_tokens, facts.prompt_tokens, facts.max_tokens) == (4, 50, 99)
    assert not facts.waits_for_engine


def test_first_text_is_when_the_first_text_came(facts: RequestFacts, clock: Clock) -> None:
    assert facts.first_text_seconds is None
    clock.tick(70)
    facts.text()
    clock.tick(30)
    facts.text()
    assert facts.first_text_seconds == pytest.approx(0.07)


def test_a_request_that_fails_in_the_queue(facts: RequestFacts, clock: Clock) -> None:
    with suppress(Failure), facts.generating(50, 99):
        clock.tick(40)
        raise Failure
    assert phases(facts) == [("queue", 0, 40, True)]
    assert facts.queue_seconds is None
    assert facts.seconds_per_output_token is None
    assert not facts.waits_for_engine


def test_a_request_that_fails_while_decoding(facts: RequestFacts, clock: Clock) -> None:
    with suppress(Failure), facts.generating(50, 99):
        clock.tick(40)
        facts.output(1, 0.01)
        clock.tick(5)
        raise Failure
    assert phases(facts) == [("queue", 0, 10, False), ("prefill", 10, 40, False), ("decode", 40, 45, True)]
    assert facts.queue_seconds == pytest.approx(0.01)


def test_a_phase_that_fails(facts: RequestFacts, clock: Clock) -> None:
    with suppress(Failure), facts.phase(PhaseName.ALIGN):
        clock.tick(3)
        raise Failure
    assert phases(facts) == [("align", 0, 3, True)]


def test_the_engines_clock_may_run_ahead_of_ours(facts: RequestFacts, clock: Clock) -> None:
    """Then the prefill is empty: no phase begins before the last one has ended."""
    with facts.generating(50, 99):
        clock.tick(40)
        facts.output(1, 7.0)
    facts.report = DraftReport()
    assert phases(facts) == [("queue", 0, 40, False), ("prefill", 40, 40, False), ("decode", 40, 40, False)]


async def test_current_facts_are_those_of_the_task() -> None:
    nobody = request_facts.current()
    assert nobody is not request_facts.current()
    mine = RequestFacts("mine")
    request_facts.begin(mine)
    assert request_facts.current() is mine
