"""`redraft eval replay`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from evals.corpus.records import CorpusError, EditRecord, load_records
from evals.example_edits import load_examples
from evals.json_file import write_json
from evals.replay.adversarial import AdversarialCorpusError, Adversary, verdicts
from evals.replay.document import describe_corpus, describe_replay
from evals.replay.drafters import UnknownDrafterError, parse_drafters
from evals.replay.forms import FORMS, UnknownFormError, parse_forms
from evals.replay.peers.base import PeerUnavailableError
from evals.replay.report import rows
from evals.replay.run import ReplayError, recorded_output, run_replay
from evals.replay.table import show
from evals.replay.tokenizers import EMBEDDED, load_tokenizer
from evals.stepcost.profile import ProfileError, load_profile
from service.command_exit import INTERRUPTED
from service.prompts.tokenization import TokenizerError

_BAD_INPUT = (
    UnknownFormError,
    UnknownDrafterError,
    TokenizerError,
    CorpusError,
    AdversarialCorpusError,
    PeerUnavailableError,
    ProfileError,
    OSError,
)
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
    profile: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The measured time of passes (`redraft eval stepcost`), besides the model."),
    ] = None,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Our drafter whole, and without each of its parts.")
    ] = False,
    adversarial: Annotated[
        bool,
        typer.Option("--adversarial", help="Outputs that have nothing to do with the edits: the worst that can come."),
    ] = False,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the wording of elision markers (0: the usual one) and of unrelated outputs.")
    ] = 0,
    limit: Annotated[int, typer.Option(min=0, help="Only so many edits, evenly spread; 0 takes them all.")] = 0,
) -> None:
    """Feed recorded edits through drafters, ours and public ones, and count target passes. No model runs.

    Speed-ups are modelled: a pass costs 1 and g for each of its draft tokens. Exit status: 0; 1 when our drafter is
    more than 3% slower than plain decoding on unrelated outputs; 2 for bad arguments, a bad corpus or a drafter whose
    package is missing; 130 when interrupted, with the edits done by then in table and file.
    """
    progress_console = Console(stderr=True, highlight=False)
    try:
        chosen_forms = parse_forms(forms)
        entrants = parse_drafters("ablation" if ablation else drafters)
        chosen_tokenizer = load_tokenizer(tokenizer)
        measured = None if profile is None else load_profile(profile)
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
                output=Adversary(records, seed).output if adversarial else recorded_output,
                advance=lambda form: bar.update(task, advance=1, description=form),
                profile=measured,
            )
    except _BAD_INPUT as error:
        progress_console.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    except ReplayError as error:
        progress_console.print(f"redraft: {error}", markup=False)
        raise typer.Exit(3) from None
    made = rows(replayed, entrants)
    found = verdicts(replayed) if adversarial else []
    if json_path is not None:
        source = describe_corpus(corpus, records) | {"outputs": "unrelated" if adversarial else "recorded"}
        document = describe_replay(replayed, made, source, chosen_tokenizer, seed=seed)
        if adversarial:
            document["adversarial"] = [verdict.to_json() for verdict in found]
        write_json(json_path, document)
    # Into a file or a pipe tables go whole.
    console = Console() if sys.stdout.isatty() else Console(width=_FILE_WIDTH)
    show(made, replayed.edits, console, unrelated=adversarial)
    for verdict in found:
        console.print(verdict.line(), markup=False, highlight=False, soft_wrap=True)
    if not replayed.complete:
        progress_console.print("redraft: interrupted; the tables hold the edits that were done", markup=False)
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if all(verdict.holds for verdict in found) else 1)


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
