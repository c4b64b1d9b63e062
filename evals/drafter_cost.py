"""`redraft eval drafter-cost`: what the copy drafter itself costs, by context length and batch size.

The recorded outputs of the example edits are replayed through the drafter class that serves, a batch in lockstep, with
its batch-wide cap on draft tokens. A sample is the processor time of one request and step: observe, propose, and in its
first step start. Long contexts are many examples in a row. Every other request has no plan, only the original file.

All rows have the same requests and look at the same places of them: a request joins the batch somewhere in its output
and leaves it again after some steps. So a wide batch, which emits few tokens a step, is not measured at the beginnings
of files only, nor a long context only where its first request goes.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from drafts.align import plan_edit
from drafts.core.copy_drafter import CopyDrafter
from drafts.core.step_budget import share
from drafts.core.step_cost import StepCost
from drafts.core.types import DraftNode, DraftRegion, DraftRequest, SourceKind
from evals.environment import describe
from evals.example_edits import load_examples
from evals.json_file import write_json
from service.config import EMBEDDED_MODEL_PATH, MAX_DRAFT_TOKENS
from service.prompts.base import expect
from service.prompts.tokenization import TextTokenizer

CONTEXTS = (1024, 4096, 32768)
BATCHES = (1, 16, 64)
MAX_BATCH_DRAFT_TOKENS = 1024
COST_RATIO = 0.05
_END = 2**31 - 1
# A request joins at one of so many places of its output, evenly spread, and leaves after so many steps.
_PLACES = 8
_STAY = 64


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request and the output that a target gave."""

    request: DraftRequest
    output: list[int]


@dataclass(slots=True)
class CostRow:
    """samples_ns: one for each request and step, in the order in which they were taken."""

    context: int
    batch: int
    samples_ns: list[int] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        p50, p99 = np.percentile(self.samples_ns, [50, 99]) / 1000
        return {
            "context": self.context,
            "batch": self.batch,
            "samples": len(self.samples_ns),
            "p50_us": round(float(p50), 2),
            "p99_us": round(float(p99), 2),
            "max_us": max(self.samples_ns) / 1000,
            "samples_ns": self.samples_ns,
        }


def recorded(tokenizer: TextTokenizer, max_draft_tokens: int) -> list[Recorded]:
    """Every example edit with its plan, then every one with nothing but the original."""
    planned, plain = [], []
    for example in load_examples():
        plan = plan_edit(example.original, example.edit, example.language)
        answer = expect(tokenizer, replace(plan, confidence=0.0), example.language, end_token=_END)
        original = tokenizer.encode_text(example.original)
        request = DraftRequest(
            predicted=answer.token_ids,
            regions=answer.regions,
            nodes=answer.nodes,
            original=original,
            max_draft_tokens=max_draft_tokens,
            end_token=_END,
            newline_tokens=tokenizer.newline_tokens,
            token_bytes=tokenizer.token_bytes,
        )
        output = tokenizer.encode_text(example.expected)
        planned.append(Recorded(request, output))
        kept = (DraftRegion(len(original), SourceKind.KEPT),)
        plain.append(Recorded(replace(request, predicted=original, regions=kept, nodes=()), output))
    return [*planned, *plain]


def joined(parts: Sequence[Recorded], context: int, start: int) -> Recorded:
    """One request of about `context` tokens: parts in a row, from number `start` on."""
    predicted: list[int] = []
    original: list[int] = []
    output: list[int] = []
    regions: list[DraftRegion] = []
    nodes: list[DraftNode] = []
    index = start
    while len(predicted) < context:
        part = parts[index % len(parts)]
        shift = len(predicted)
        regions += [DraftRegion(region.end + shift, region.kind) for region in part.request.regions]
        nodes += [DraftNode(node.start + shift, node.end + shift) for node in part.request.nodes]
        predicted += part.request.predicted
        original += part.request.original
        output += part.output
        index += 1
    request = replace(
        parts[0].request, predicted=predicted, regions=tuple(regions), nodes=tuple(nodes), original=original
    )
    return Recorded(request, [*output, _END])


def measure(context: int, batch: int, parts: Sequence[Recorded], steps: int) -> CostRow:
    """`steps` steps of a batch; a request that leaves is followed by another."""
    half = len(parts) // 2
    kinds = (parts[:half], parts[half:])
    row = CostRow(context, batch)
    cost = StepCost(COST_RATIO)
    cost.batch_size = batch
    requests = itertools.cycle([joined(kinds[number % 2], context, number) for number in range(len(parts))])
    rng = random.Random(0)

    def join() -> _Slot:
        return _Slot(next(requests), cost, rng.randrange(_PLACES) / _PLACES)

    slots = [join() for _ in range(batch)]
    for _ in range(steps):
        times = [slot.step() for slot in slots]
        drafts = [len(slot.draft) for slot in slots]
        if sum(drafts) > MAX_BATCH_DRAFT_TOKENS:
            shares = share(drafts, MAX_BATCH_DRAFT_TOKENS)
            times = [ns + slot.cut(size) for ns, slot, size in zip(times, slots, shares, strict=True)]
        row.samples_ns += times
        slots = [join() if slot.leaves else slot for slot in slots]
    return row


class _Slot:
    """One request of the batch, and the drafter that serves it. Up to `place`, a share of the output, it was alone."""

    def __init__(self, request: Recorded, cost: StepCost, place: float) -> None:
        self._request = request.request
        self._output = request.output
        self._drafter = CopyDrafter(cost)
        self._at = 0
        self._steps = 0
        self.draft: list[int] = []
        batch, cost.batch_size = cost.batch_size, 1
        while self._at < int(place * len(self._output)):
            self.step()
        cost.batch_size = batch
        self._leave = self._steps + _STAY

    @property
    def leaves(self) -> bool:
        return self._at >= len(self._output) or self._steps >= self._leave

    def step(self) -> int:
        """One pass of the target, then the drafter's turn: its time in nanoseconds."""
        output, at, draft = self._output, self._at, self.draft
        accepted = 0
        while accepted < min(len(draft), len(output) - at - 1) and draft[accepted] == output[at + accepted]:
            accepted += 1
        emitted = output[at : at + accepted + 1]
        began = time.thread_time_ns()
        if not self._steps:
            self._drafter.start(self._request)
        self._drafter.observe(emitted)
        self.draft = self._drafter.propose(self._request.max_draft_tokens)
        spent = time.thread_time_ns() - began
        self._at += len(emitted)
        self._steps += 1
        return spent

    def cut(self, size: int) -> int:
        """Propose again within the request's share of the batch, in nanoseconds."""
        if size >= len(self.draft):
            return 0
        began = time.thread_time_ns()
        self.draft = self._drafter.propose(size)
        return time.thread_time_ns() - began


def drafter_cost(
    json_path: Annotated[
        Path | None, typer.Option("--json", metavar="OUT", help="Write the report with every raw sample here.")
    ] = None,
    steps: Annotated[int, typer.Option(min=10, max=100_000, help="Requests and steps to time, for each row.")] = 4000,
) -> None:
    """Time the copy drafter alone: contexts of 1k, 4k and 32k tokens, batches of 1, 16 and 64.

    Microseconds for each request and step, on the example edits in the embedded model's tokens.
    """
    parts = recorded(TextTokenizer.load(EMBEDDED_MODEL_PATH), MAX_DRAFT_TOKENS)
    environment = describe(EMBEDDED_MODEL_PATH)
    rows = []
    table = Table("context", "batch", "samples", "p50 µs", "p99 µs", "max µs")
    for context in CONTEXTS:
        for batch in BATCHES:
            row = measure(context, batch, parts, max(steps // batch, 1)).to_json()
            rows.append(row)
            table.add_row(*(f"{row[name]:g}" for name in ("context", "batch", "samples", "p50_us", "p99_us", "max_us")))
    if json_path is not None:
        json_path.parent.mkdir(parents=True, exist_ok=True)
        write_json(json_path, {"schema": 1, "environment": environment, "rows": rows})
    Console().print(table)
