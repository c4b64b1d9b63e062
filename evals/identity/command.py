"""`redraft eval identity`."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from evals.corpus.cases import Case, cases
from evals.corpus.records import CorpusError, EditRecord, digest, load_corpora
from evals.corpus.selection import EmptySelectionError, Selection, select
from evals.environment import describe
from evals.identity.decode import Decoder
from evals.identity.engine import RecordingEngine
from evals.identity.measure import Plan, decodings, measure
from evals.identity.report import IdentityReport, render
from evals.json_file import write_json
from evals.progress import progress_bar
from evals.replay.forms import FORMS, parse_forms
from evals.run_file import corpus_note, corpus_options, resume
from service.command_exit import INTERRUPTED
from service.config import ConfigError, Settings
from service.errors import RedraftError
from service.flags import merge


def identity(
    corpus: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="Of `redraft eval corpus`; given again, edits of several corpora."),
    ],
    json_path: Annotated[Path, typer.Option("--json", metavar="OUT", help="The report, written as the run goes on.")],
    forms: Annotated[str, typer.Option(help=f"Comma-separated: {', '.join(FORMS)}.")] = "update",
    concurrency: Annotated[str, typer.Option(help="Comma-separated: requests in flight.")] = "1,8",
    languages: Annotated[str, typer.Option(metavar="NAMES", help="Comma-separated; empty takes all.")] = "",
    max_lines: Annotated[
        int | None, typer.Option(min=1, help="Leave out longer files: short ones are soon done.")
    ] = None,
    max_edits: Annotated[int | None, typer.Option(min=1, help="Draw so many by the seed, from all corpora.")] = None,
    repeats: Annotated[
        int | None,
        typer.Option(min=0, help="Decode only the first so many twice without drafting.", show_default="all"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the edits and the markers' wordings.")] = 0,
    model: Annotated[str | None, typer.Option(metavar="DIR", help="Another model.")] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="A TOML file, as for serve.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Any setting, as for serve.")
    ] = None,
) -> None:
    """Decode every edit with and without drafting on one engine, and compare token for token.

    Run it again with the same OUT to go on, or to add edits, forms or concurrencies. Exit status: 0 when all outputs
    were identical, 1 when some differ, 2 for bad arguments, 3 when the engine did not run, 130 when interrupted.
    """
    console, progress = Console(), Console(stderr=True, highlight=False)
    try:
        chosen_forms = parse_forms(forms)
        plan = Plan(_numbers(concurrency), repeats)
        settings = Settings.load(config, merge({"model.path": model}, set_ or ()))
        _check(settings, plan)
        records = load_corpora(corpus)
        selection = Selection(tuple(filter(None, languages.split(","))), max_lines, max_edits, seed)
        chosen = select(records, selection)
        json_path.parent.mkdir(parents=True, exist_ok=True)
        report = _begin(json_path, settings, seed)
        report.complete = False
        report.corpus = corpus_note(corpus, len(records)) | {"selection": selection.to_json(), "chosen": len(chosen)}
        todo = _todo(report, chosen, chosen_forms, plan, seed)
    except (ValueError, CorpusError, EmptySelectionError, ConfigError, OSError) as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    interrupted = False
    try:
        asyncio.run(_run(report, todo, plan, settings, json_path, progress))
        report.complete = True
    except KeyboardInterrupt:
        interrupted = True
    except RedraftError as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(3) from None
    finally:
        gc.collect()  # vLLM's client complains when the interpreter's exit collects it
    write_json(json_path, report.to_json())
    console.print(render(report))
    console.print(f"\nThe report is in {json_path}.", markup=False, highlight=False, soft_wrap=True)
    if interrupted:
        console.print("Interrupted: the same command goes on from there.")
        raise typer.Exit(INTERRUPTED)
    console.print(
        f"Next: redraft eval quality {corpus_options(corpus)} --json quality.json",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    raise typer.Exit(0 if all(row.identical.rate == 1 for row in report.rows) else 1)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(dict.fromkeys(int(number) for number in text.split(",")))
    except ValueError:
        raise ValueError(f"--concurrency {text}: write numbers with commas between, such as 1,8") from None
    if min(numbers) < 1:
        raise ValueError(f"--concurrency {text}: there is at least one request in flight")
    return numbers


def _check(settings: Settings, plan: Plan) -> None:
    method = settings.drafting.method
    if not settings.drafting.enabled or method != "copy":
        raise ValueError(
            f"the drafter is {method if settings.drafting.enabled else 'off'}: both sides are decoded on one engine, "
            "so identity needs the drafter that each request can switch off, which is copy"
        )
    most = max(*plan.concurrency, *plan.control.values())
    if most > settings.engine.max_num_seqs:
        raise ValueError(
            f"{most} requests in flight, but the engine runs {settings.engine.max_num_seqs} at a time: raise "
            "engine.max_num_seqs by --set, or lower --concurrency"
        )


def _begin(path: Path, settings: Settings, seed: int) -> IdentityReport:
    """A new report, or the one that the file holds already. Raises OtherRunError and OSError."""
    parts = settings.model_dump(mode="json", include={"model", "engine", "drafting"})
    environment = describe(settings.model.path)
    setup: dict[str, Any] = parts | {"weights_sha256": environment["model"]["weights_sha256"], "seed": seed}
    setup["packages"] = environment["packages"]
    return resume(path, IdentityReport(setup, {}, environment, settings.drafting.method), IdentityReport.from_json)


def _todo(
    report: IdentityReport, chosen: list[EditRecord], forms: tuple[str, ...], plan: Plan, seed: int
) -> dict[str, list[Case]]:
    digests = {record.id: digest(record.before, record.after) for record in chosen}
    todo: dict[str, list[Case]] = {}
    for form in forms:
        found, report.not_expressible[form] = cases(chosen, form, seed)
        done = report.done(form, digests, plan.concurrency)
        todo[form] = [case for case in found if case.record.id not in done]
    return todo


async def _run(
    report: IdentityReport,
    todo: dict[str, list[Case]],
    plan: Plan,
    settings: Settings,
    path: Path,
    console: Console,
) -> None:
    """Fills the report, and writes it after every chunk. Raises RedraftError."""
    # Tokenizers take a second to load: not for --help.
    from service.prompts import load_prompt_format
    from service.prompts.tokenization import TextTokenizer

    if not any(todo.values()):
        return
    console.print("Starting the engine ...")
    text = TextTokenizer.load(settings.model.path).token_bytes
    prompt_format = load_prompt_format(settings.model.prompt_format, settings.model.path)
    engine = RecordingEngine(settings)
    await engine.start()
    bar = progress_bar(console)
    try:
        decoder = Decoder(engine, prompt_format, settings)
        with bar:
            for form, left in todo.items():
                task = bar.add_task(f"decoding {form}", total=decodings(len(left), plan))
                chunks = measure(left, decoder, engine, plan, text=text, advance=lambda n, t=task: bar.advance(t, n))  # type: ignore[misc]
                async for chunk in chunks:
                    report.add(form, chunk.samples, chunk.refused)
                    write_json(path, report.to_json())
    finally:
        await engine.close()
