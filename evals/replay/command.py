"""`redraft eval replay`."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from evals.corpus.records import CorpusError, EditRecord, load_records
from evals.environment import describe
from evals.example_edits import load_examples
from evals.json_file import write_json
from evals.replay.costs import COSTS
from evals.replay.drafters import UnknownDrafterError, parse_drafters
from evals.replay.forms import FORMS, UnknownFormError, parse_forms
from evals.replay.peers.base import PeerUnavailableError
from evals.replay.report import NOTE, SCHEMA, best_peers, rows, samples
from evals.replay.run import Replayed, run_replay
from evals.replay.table import show
from evals.replay.tokenizers import EMBEDDED, load_tokenizer
from service.config import EMBEDDED_MODEL_PATH
from service.prompts.tokenization import TokenizerError

_INTERRUPTED = 130
_FILE_WIDTH = 140


def replay(
    corpus: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Edits as JSON lines, also .gz. Without it, the examples in evals/examples."),
    ] = None,
    json_path: Annotated[
        Path | None, typer.Option("--json", metavar="OUT", help="Write the report with the counts of every edit here.")
    ] = None,
    forms: Annotated[str, typer.Option(metavar="NAMES", help=f"Comma-separated: {', '.join(FORMS)}.")] = (
        "update,diff,search-replace,instruction"
    ),
    drafters: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Comma-separated: none, ngram-K, suffix, lookup-N-K, whole-file, fixed-K, copy-K and more (see the "
            "error for a wrong name), or the groups default, peers, grid, ours, ablation.",
        ),
    ] = "default",
    tokenizer: Annotated[
        str, typer.Option(metavar="PATH", help="A tokenizer.json, a folder that holds one, or: embedded.")
    ] = EMBEDDED,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Our drafter whole, and without each of its parts.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Chooses the wording of elision markers; 0: the usual one.")] = 0,
    limit: Annotated[int, typer.Option(min=0, help="Only so many edits, evenly spread; 0 takes them all.")] = 0,
) -> None:
    """Feed recorded edits through drafters, ours and public ones, and count target passes. No model runs.

    Speed-ups are modelled: a pass costs 1 and g for each of its draft tokens. Exit status: 0; 2 for bad arguments, a
    bad corpus or a drafter whose package is missing; 130 when interrupted, with the edits done by then in table and
    file.
    """
    progress_console = Console(stderr=True, highlight=False)
    try:
        chosen_forms = parse_forms(forms)
        entrants = parse_drafters("ablation" if ablation else drafters)
        chosen_tokenizer = load_tokenizer(tokenizer)
        records = _spread(load_records(corpus) if corpus is not None else example_records(), limit)
        if json_path is not None:
            json_path.parent.mkdir(parents=True, exist_ok=True)
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=progress_console,
        ) as bar:
            task = bar.add_task("replay", total=len(chosen_forms) * len(records))
            replayed = run_replay(
                records,
                chosen_forms,
                entrants,
                chosen_tokenizer.tokenizer,
                seed=seed,
                advance=lambda form: bar.update(task, advance=1, description=form),
            )
    except (UnknownFormError, UnknownDrafterError, TokenizerError, CorpusError, PeerUnavailableError, OSError) as error:
        progress_console.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    made = rows(replayed, entrants)
    if json_path is not None:
        write_json(
            json_path,
            {
                "schema": SCHEMA,
                "kind": "replay",
                "note": NOTE,
                "complete": replayed.complete,
                "corpus": _corpus(corpus, records),
                "tokenizer": {"name": chosen_tokenizer.name, "sha256": chosen_tokenizer.sha256},
                "seed": seed,
                "costs": list(COSTS),
                "environment": describe(EMBEDDED_MODEL_PATH),
                "rows": [row.to_json() for row in made],
                "best_peers": best_peers(made),
                "forms": _forms(replayed),
                "samples": samples(replayed),
            },
        )
    # Into a file or a pipe tables go whole.
    show(made, replayed.edits, Console() if sys.stdout.isatty() else Console(width=_FILE_WIDTH))
    if not replayed.complete:
        progress_console.print("redraft: interrupted; the tables hold the edits that were done", markup=False)
        raise typer.Exit(_INTERRUPTED)


def example_records() -> tuple[EditRecord, ...]:
    """The example edits that redraft ships, as records of a corpus."""
    return tuple(
        EditRecord(
            id=example.name,
            repo="redraft",
            commit="examples",
            path=example.path,
            language=example.language,
            license="Apache-2.0",
            instruction=example.note,
            before=example.original,
            after=example.expected,
        )
        for example in load_examples()
    )


def _spread(records: tuple[EditRecord, ...], limit: int) -> tuple[EditRecord, ...]:
    if limit == 0 or limit >= len(records):
        return records
    return tuple(records[index * len(records) // limit] for index in range(limit))


def _corpus(path: Path | None, records: tuple[EditRecord, ...]) -> dict[str, Any]:
    digest = hashlib.sha256()
    for record in records:
        digest.update(f"{record.id}\0{record.before}\0{record.after}\0".encode())
    return {
        "file": "examples" if path is None else path.name,
        "file_sha256": None if path is None else hashlib.sha256(path.read_bytes()).hexdigest(),
        "records": len(records),
        "records_sha256": digest.hexdigest(),
    }


def _forms(replayed: Replayed) -> dict[str, Any]:
    return {
        form: {
            "edits": len(edits.ids),
            "tokens": sum(edits.tokens),
            "predicted_exactly": edits.exact,
            "not_expressible": edits.not_expressible,
        }
        for form, edits in replayed.edits.items()
    }
