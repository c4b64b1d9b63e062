"""The latency benchmark: a fresh service per configuration and repeat, every edit once at each load, through gRPC.

Between two configurations only the settings of Configuration.environment differ. All run on vLLM's first model runner
with asynchronous scheduling off, which its custom proposers need, so that drafting alone makes the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from evals.call import call
from evals.configurations import Configuration, balanced_order
from evals.example_edits import ExampleEdit
from evals.load import Load, drive
from evals.report import LatencyReport
from evals.samples import Sample
from evals.warm_up import warm_up_edits
from service.client import Client, DraftOptions
from service.launch import service_at
from service.request_class import LabelledClass, form_of, size_bucket
from service.types import RequestClass

COMMON_ENVIRONMENT = {"VLLM_USE_V2_MODEL_RUNNER": "0", "REDRAFT_LOG__LEVEL": "warning"}
START_SECONDS = 600.0  # compiling takes half a minute on two cores, and longer on a busy machine

Progress = Callable[[str], None]


def measure(
    report: LatencyReport,
    configurations: Sequence[Configuration],
    edits: Sequence[ExampleEdit],
    loads: Sequence[Load],
    *,
    repeats: int,
    model: Path,
    address: str | None = None,
    progress: Progress,
    keep: Callable[[LatencyReport], None],
) -> LatencyReport:
    """Runs it all, and adds to `report`, whose earlier samples stay.

    address: of a running service; then nothing is started, and configurations differ in the calls' options alone.
    keep: called after each process with what there is so far, so that a later failure loses nothing.
    Raises service.launch.LaunchError when a service does not start, and the service's own errors when it fails.
    """
    by_name = {configuration.name: configuration for configuration in configurations}
    order = list(balanced_order(list(by_name), repeats))
    first_process = 1 + max((sample.process for sample in report.samples), default=-1)
    first_repeat = 1 + max((sample.repeat for sample in report.samples), default=-1)
    for process, (repeat, name) in enumerate(order):
        progress(f"[{process + 1}/{len(order)}] {name}, repeat {repeat + 1} of {repeats}")
        run = partial(Sample, repeat=first_repeat + repeat, process=first_process + process)
        samples = _one_process(by_name[name], edits, loads, run, repeat=repeat, model=model, address=address)
        report = replace(report, samples=(*report.samples, *samples))
        keep(report)
    return report


def _one_process(
    configuration: Configuration,
    edits: Sequence[ExampleEdit],
    loads: Sequence[Load],
    sample: Callable[..., Sample],
    *,
    repeat: int,
    model: Path,
    address: str | None,
) -> list[Sample]:
    """Each edit once at each load, in an order that turns with every repeat, so that none is always the coldest."""
    draft = DraftOptions(enabled=configuration.method != "none", max_draft_tokens=configuration.max_draft_tokens)
    turned = list(edits if repeat % 2 == 0 else reversed(edits))
    samples: list[Sample] = []
    variables = COMMON_ENVIRONMENT | {"REDRAFT_MODEL__PATH": str(model)} | configuration.environment()
    with service_at(address, env=variables, start_seconds=START_SECONDS) as found, Client(found) as client:
        for edit in warm_up_edits():
            call(client, edit, draft)
        jobs = [lambda begin, edit=edit: call(client, edit, draft, begin=begin).measurement for edit in turned]
        for load in loads if repeat % 2 == 0 else reversed(loads):
            for edit, measured in zip(turned, drive(load, jobs, seed=repeat), strict=True):
                samples.append(
                    sample(
                        configuration=configuration.name,
                        example=edit.name,
                        measurement=measured,
                        load=load.name,
                        request_class="/".join(_class(edit).values),
                    )
                )
    return samples


def _class(edit: ExampleEdit) -> LabelledClass:
    size = size_bucket(len(edit.original.encode()))
    return LabelledClass(RequestClass.INTERACTIVE.value, form_of(edit.edit), size)
