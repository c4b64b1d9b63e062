"""`redraft eval report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evals.corpus.records import CorpusError, load_corpora
from evals.html.build import build
from evals.html.run_files import RunFileError, read_runs
from evals.html.strips import MOST
from evals.json_file import write_json
from evals.replay.tokenizers import EMBEDDED, load_tokenizer
from service.atomic_write import write_whole
from service.prompts.tokenization import TokenizerError


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Files that `redraft eval ... --json` wrote.")],
    html: Annotated[Path, typer.Option("--html", metavar="OUT", help="The page: one file, no network needed.")],
    corpus: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="The corpora of the runs. Then the page holds the diffs of their edits."),
    ] = None,
    tokenizer: Annotated[
        str, typer.Option(metavar="PATH", help="The tokenizer of a replay run, as it was given there.")
    ] = EMBEDDED,
    strips: Annotated[
        int, typer.Option(min=0, help="Edits of a replay run that are shown pass by pass, the slowest first.")
    ] = MOST,
    json_path: Annotated[
        Path | None, typer.Option("--json", metavar="OUT", help="Also write the report that the page shows as JSON.")
    ] = None,
) -> None:
    """Show runs on one page: latency, drafters against each other, identity and quality.

    Two runs of one kind are compared, the second against the first. Exit status: 0, or 2 for a file that is no run or
    no corpus.
    """
    console, progress = Console(highlight=False), Console(stderr=True, highlight=False)
    try:
        made = build(
            read_runs(runs),
            load_tokenizer(tokenizer),
            load_corpora(corpus or ()),
            strip_edits=strips,
        )
        progress.print("Writing the page (the first seconds go into packing the plotting library) ...")
        from evals.html.render import page  # Altair takes a second to load, and is an extra: not for --help

        html.parent.mkdir(parents=True, exist_ok=True)
        write_whole(html, page(made).encode())
        if json_path is not None:
            json_path.parent.mkdir(parents=True, exist_ok=True)
            write_json(json_path, made.to_json())
    except ModuleNotFoundError as error:
        progress.print(f"redraft: the page needs {error.name}: pip install 'redraft[report]'", markup=False)
        raise typer.Exit(2) from None
    except (RunFileError, CorpusError, TokenizerError, OSError) as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    size = html.stat().st_size / 1e6
    console.print(f"The page is in {html} ({size:.1f} MB). Open it in a browser.", markup=False, soft_wrap=True)
    if corpus:
        console.print("It holds diffs of the corpus: share it as you would share that.", soft_wrap=True)
