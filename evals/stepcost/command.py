"""`redraft eval stepcost`: how long a target pass takes by draft width, context and batch, on this machine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from evals.environment import describe
from evals.json_file import write_json
from evals.stepcost.profile import Cell, StepCostError, StepCostProfile
from service.config import EMBEDDED_MODEL_PATH, MAX_DRAFT_TOKENS


class EngineName(StrEnum):
    VLLM = "vllm"
    TORCH = "torch"


def stepcost(
    config: Annotated[
        Path, typer.Option(metavar="MODEL_CONFIG", help="A config.json of Hugging Face's, or its folder.")
    ] = EMBEDDED_MODEL_PATH,
    json_path: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Write the profile here.")] = None,
    engine: Annotated[EngineName, typer.Option(help="torch where vLLM does not run.")] = EngineName.VLLM,
    widths: Annotated[
        str, typer.Option(help="Draft tokens of a request in a pass.")
    ] = "0,1,2,4,8,16,32,64,128,256,512",
    contexts: Annotated[str, typer.Option(help="Tokens in the cache.")] = "256,2048,6144",
    batches: Annotated[str, typer.Option(help="Requests in a pass.")] = "1,4",
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Passes of each kind.")] = 12,
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16.")] = "float32",
    tensor_parallel: Annotated[int, typer.Option(min=1, help="vLLM: GPUs.")] = 1,
    eager: Annotated[bool, typer.Option(help="vLLM: run eagerly, as the service does by default.")] = True,
) -> None:
    """Measure target passes of a model with made-up weights: no download is needed.

    At most 512 draft tokens of a request are verified in a pass of vLLM; wider ones are measured on torch. The file
    goes to `redraft eval replay --profile`. Exit status: 0; 2 for bad arguments.
    """
    progress = Console(stderr=True, highlight=False)
    try:
        wide, deep, broad = (_numbers(text, least) for text, least in ((widths, 0), (contexts, 1), (batches, 1)))
        if engine is EngineName.VLLM and max(wide) > MAX_DRAFT_TOKENS:
            raise ValueError(
                f"--widths: at most {MAX_DRAFT_TOKENS} draft tokens are verified in a pass; use --engine torch"
            )
        if dtype not in ("float32", "bfloat16", "float16"):
            raise ValueError(f"--dtype: {dtype!r} is none of float32, bfloat16, float16")
        file = config / "config.json" if config.is_dir() else config
        if not file.is_file():
            raise ValueError(f"--config: {file} is not there")
        if json_path is not None:
            json_path.parent.mkdir(parents=True, exist_ok=True)
    except (ValueError, OSError) as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    # Wide before narrow would be as good: what matters is that slow drift does not look like an effect of the width.
    grid = [(k, context, batch) for batch, context, k in itertools.product(broad, deep, wide)]
    environment = {**describe(file.parent), "dtype": dtype, "eager": eager, "tensor_parallel": tensor_parallel}
    profile = StepCostProfile(engine.value, file.parent.name if config.is_dir() else file.stem, environment, ())
    try:
        with Progress(console=progress, transient=True) as bar:
            task = bar.add_task("measuring", total=len(grid))
            for cell in _cells(engine, file, grid, repeats, dtype, tensor_parallel, eager):
                profile = StepCostProfile(profile.engine, profile.model, environment, (*profile.cells, cell))
                if json_path is not None:
                    write_json(json_path, profile.to_json())
                bar.advance(task)
    except StepCostError as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    _show(profile, Console())
    if json_path is not None:
        progress.print(f"Profile: {json_path}. Next: redraft eval replay --profile {json_path}", markup=False)


def _cells(
    engine: EngineName,
    file: Path,
    grid: list[tuple[int, int, int]],
    repeats: int,
    dtype: str,
    tensor_parallel: int,
    eager: bool,
) -> Iterator[Cell]:
    if engine is EngineName.TORCH:
        from evals.stepcost.torch_steps import measure as on_torch

        return on_torch(file, grid, repeats=repeats, dtype=dtype)
    from evals.stepcost.vllm_steps import measure as on_vllm

    return on_vllm(file, grid, repeats=repeats, dtype=dtype, tensor_parallel=tensor_parallel, eager=eager)


def _numbers(text: str, least: int) -> list[int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{text!r} is not a comma-separated list of numbers") from None
    if min(found) < least:
        raise ValueError(f"{min(found)} is below {least}")
    return list(dict.fromkeys(found))


def _show(profile: StepCostProfile, console: Console) -> None:
    table = Table(title=f"Time of a target pass: {profile.model} on {profile.engine}", title_justify="left", box=None)
    for name in ("context", "batch", "no draft, ms", "a draft token, ms", "g", "worst misfit"):
        table.add_column(name, justify="right")
    for fit in profile.fits():
        table.add_row(
            f"{fit.context}",
            f"{fit.batch}",
            f"{fit.c0 * 1e3:.2f}",
            f"{fit.c1 * 1e3:.3f}",
            f"{fit.ratio:.4f}",
            f"{fit.worst:.0%}",
        )
    console.print(table)
    console.print("g: a draft token's time in passes without drafts, from a line through the medians of each width.")
