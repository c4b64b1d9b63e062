"""The latency benchmark: a fresh service per configuration and repeat, every example once, through gRPC.

Between two configurations only the settings of Configuration.environment differ. All run on vLLM's first model runner
with asynchronous scheduling off, which its custom proposers need, so that drafting alone makes the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from evals.call import call
from evals.configurations import Configuration, balanced_order
from evals.environment import describe
from evals.example_edits import ExampleEdit
from evals.report import LatencyReport
from evals.samples import Sample
from evals.warm_up import warm_up_edits
from service.client import Client, DraftOptions
from service.launch import launch

COMMON_ENVIRONMENT = {"VLLM_USE_V2_MODEL_RUNNER": "0", "REDRAFT_LOG__LEVEL": "warning"}
START_SECONDS = 600.0  # compiling takes half a minute on two cores, and longer on a busy machine

Progress = Callable[[str], None]


def measure(
    configurations: Sequence[Configuration],
    examples: Sequence[ExampleEdit],
    *,
    repeats: int,
    model: Path,
    progress: Progress,
    keep: Callable[[LatencyReport], None],
) -> LatencyReport:
    """Runs it all. The first configuration is the subject; the first without drafting is the reference for the outputs
    (the subject itself when there is none).

    keep: called after each process with what there is so far, so that a later failure loses nothing.

    Raises service.launch.LaunchError when a service does not start, and the service's own errors when it fails.
    """
    environment = describe(model)
    by_name = {configuration.name: configuration for configuration in configurations}
    order = list(balanced_order(list(by_name), repeats))
    subject = configurations[0].name
    reference = next((c.name for c in configurations if c.method == "none"), subject)
    report = LatencyReport(subject, reference, environment, ())
    for process, (repeat, name) in enumerate(order):
        progress(f"[{process + 1}/{len(order)}] {name}, repeat {repeat + 1} of {repeats}")
        samples = _one_process(by_name[name], examples, repeat=repeat, process=process, model=model)
        report = replace(report, samples=(*report.samples, *samples))
        keep(report)
    return report


def _one_process(
    configuration: Configuration, examples: Sequence[ExampleEdit], *, repeat: int, process: int, model: Path
) -> list[Sample]:
    """Each example once, in an order that turns with every repeat, so that none is always the coldest."""
    draft = DraftOptions(enabled=configuration.method != "none")
    variables = COMMON_ENVIRONMENT | {"REDRAFT_MODEL__PATH": str(model)} | configuration.environment()
    with launch(env=variables, start_seconds=START_SECONDS) as address, Client(address) as client:
        for edit in warm_up_edits():
            call(client, edit, draft)
        return [
            Sample(configuration.name, example.name, repeat, process, call(client, example, draft).measurement)
            for example in (examples if repeat % 2 == 0 else reversed(examples))
        ]
