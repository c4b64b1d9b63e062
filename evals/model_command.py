"""`redraft model`: what a model folder holds, and whether the service can work with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from evals.example_edits import ExampleEdit, UnknownExampleError, load_example, load_examples
from evals.json_file import write_json
from evals.latency import COMMON_ENVIRONMENT
from evals.model_check import Checked, check_model
from service.config import EMBEDDED_MODEL_PATH, PromptFormatName
from service.errors import RedraftError
from service.launch import LaunchError
from service.model_info import ModelFolderError, ModelInfo, read
from service.weights import WeightsError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)

_START_SECONDS = 1800.0  # large weights from a slow disk


@app.callback()
def model() -> None:
    """Look at a model, or try it."""


@app.command()
def info(
    path: Annotated[Path, typer.Argument(metavar="[PATH]", help="A model folder.")] = EMBEDDED_MODEL_PATH,
    card: Annotated[bool, typer.Option(help="Print its card (README.md) too.")] = True,
) -> None:
    """Print what the model is, verify its files against its SHA256SUMS, and print its card.

    Exit status: 0; 1 when a file is not what SHA256SUMS says; 2 when PATH is no model folder.
    """
    console, problems = Console(highlight=False), Console(stderr=True, highlight=False)
    try:
        found = read(path)
    except WeightsError as error:
        problems.print(f"redraft: {error}", markup=False)
        raise typer.Exit(1) from None
    except ModelFolderError as error:
        problems.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    console.print(_facts(found))
    if card and found.card is not None:
        console.print()
        console.print(Markdown(found.card))


@app.command()
def check(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A model folder.")],
    config: Annotated[Path | None, typer.Option(help="A configuration file of the service for it.")] = None,
    prompt_format: Annotated[
        PromptFormatName | None, typer.Option(help="How the model is asked.  [default: the configuration's, or chat]")
    ] = None,
    examples: Annotated[str, typer.Option(metavar="NAMES", help="Comma-separated; empty takes them all.")] = "",
    json_path: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Write the results here.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting of the service.", metavar="SECTION.KEY=VALUE")
    ] = None,
) -> None:
    """Start the service on the model and apply the shipped example edits, each with drafting and without.

    Exit status: 0 when every output was identical with drafting and without, and at least one result was right; 1
    otherwise; 2 for bad arguments; 3 when the service does not run on it.
    """
    console, progress = Console(highlight=False), Console(stderr=True, highlight=False)
    flags = ["--model", str(path)]
    if config is not None:
        flags += ["--config", str(config)]
    if prompt_format is not None or (config is None and path.resolve() != EMBEDDED_MODEL_PATH):
        flags += ["--prompt-format", (prompt_format or PromptFormatName.CHAT).value]
    for setting in set_ or ():
        flags += ["--set", setting]
    done: list[Checked] = []
    try:
        chosen = _examples(examples)
        read(path)
        for result in check_model(flags, chosen, env=COMMON_ENVIRONMENT, start_seconds=_START_SECONDS):
            done.append(result)
            progress.print(f"[{len(done)}/{len(chosen)}] {result.example}: {result.outcome}", markup=False)
    except (UnknownExampleError, ModelFolderError) as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    except (WeightsError, LaunchError, RedraftError) as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(3) from None
    if json_path is not None:
        json_path.parent.mkdir(parents=True, exist_ok=True)
        write_json(json_path, {"schema": 1, "kind": "model_check", "rows": [result.to_json() for result in done]})
    console.print(_results(done))
    right = sum(result.right for result in done)
    identical = sum(result.identical for result in done)
    console.print(f"{right} of {len(done)} results right to the byte; {identical} of {len(done)} identical.")
    raise typer.Exit(0 if identical == len(done) and right else 1)


def _examples(names: str) -> tuple[ExampleEdit, ...]:
    if not names:
        return load_examples()
    return tuple(load_example(name.strip()) for name in dict.fromkeys(names.split(",")))


def _facts(found: ModelInfo) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    rows = [
        ("model", str(found.path)),
        ("architecture", found.architecture),
        ("parameters", f"{found.parameters:,}"),
        ("weights", f"{found.weight_bytes / 1e6:.1f} MB, {', '.join(found.dtypes)}"),
        ("vocabulary", "unknown" if found.vocabulary is None else f"{found.vocabulary:,}"),
        ("context", "unknown" if found.context is None else f"{found.context:,} tokens"),
    ]
    if found.sha256:
        rows += [(f"sha256 {name}", f"{digest}  verified") for name, digest in found.sha256.items()]
    else:
        rows.append(("sha256", "not verified: the folder has no SHA256SUMS"))
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return table


def _results(done: list[Checked]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("example")
    for name in ("identical", "tokens", "tokens/pass", "time ratio"):
        table.add_column(name, justify="right")
    table.add_column("outcome", overflow="fold")
    for result in done:
        table.add_row(
            result.example,
            "yes" if result.identical else "no",
            f"{result.drafted.output_tokens}",
            f"{result.drafted.tokens_per_pass:.1f}",
            f"{result.plain.total_seconds / result.drafted.total_seconds:.2f}",
            Text(result.outcome),
        )
    return table
