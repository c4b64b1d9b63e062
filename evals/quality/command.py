"""`redraft eval quality`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from evals.corpus.cases import Case, cases
from evals.corpus.records import CorpusError, EditRecord, digest, load_corpora
from evals.corpus.selection import EmptySelectionError, Selection, select
from evals.environment import describe
from evals.json_file import write_json
from evals.progress import progress_bar
from evals.quality.measure import Job, measure
from evals.quality.no_op import no_op_edit
from evals.quality.report import QualityReport, render
from evals.replay.forms import FORMS, parse_forms
from evals.run_file import corpus_note, corpus_options, resume
from service.client import Client, DraftOptions
from service.command_exit import INTERRUPTED
from service.config import AgreementConfig, ConfigError, Settings
from service.errors import RedraftError
from service.flags import merge
from service.launch import LaunchError, service_at

_WRITE_EVERY = 8
_START_SECONDS = 600.0


def quality(
    corpus: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="Of `redraft eval corpus`; given again, edits of several corpora."),
    ],
    json_path: Annotated[Path, typer.Option("--json", metavar="OUT", help="The report, written as the run goes on.")],
    forms: Annotated[str, typer.Option(help=f"Comma-separated: {', '.join(FORMS)}.")] = "update",
    address: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="A running service. Without it one is started and stopped.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Calls in flight.")] = 4,
    drafting: Annotated[bool, typer.Option("--drafting/--no-drafting", help="Draft by copying.")] = True,
    languages: Annotated[str, typer.Option(metavar="NAMES", help="Comma-separated; empty takes all.")] = "",
    max_lines: Annotated[
        int | None, typer.Option(min=1, help="Leave out longer files: short ones are soon done.")
    ] = None,
    max_edits: Annotated[int | None, typer.Option(min=1, help="Draw so many by the seed, from all corpora.")] = None,
    no_ops: Annotated[int, typer.Option(min=0, help="Edits that change nothing, on so many of the files.")] = 40,
    seed: Annotated[int, typer.Option(help="Draws the edits and the markers' wordings.")] = 0,
    model: Annotated[str | None, typer.Option(metavar="DIR", help="Another model, without --address.")] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="A TOML file, as for serve.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Any setting, as for serve.")
    ] = None,
) -> None:
    """Apply every edit through the service, and compare with what its author made of the file.

    Run it again with the same OUT to go on, or to add edits or forms. Exit status: 0, whatever the quality; 2 for bad
    arguments, 3 when the service did not run, 130 when interrupted.
    """
    console, progress = Console(highlight=False), Console(stderr=True, highlight=False)
    try:
        chosen_forms = parse_forms(forms)
        settings = Settings.load(config, merge({"model.path": model}, set_ or ()))
        records = load_corpora(corpus)
        selection = Selection(tuple(filter(None, languages.split(","))), max_lines, max_edits, seed)
        chosen = select(records, selection)
        report = _begin(json_path, settings, address, seed, drafting)
        report.complete = False
        report.corpus = corpus_note(corpus, len(records)) | {"selection": selection.to_json(), "chosen": len(chosen)}
        todo = _todo(report, chosen, chosen_forms, seed, no_ops)
        json_path.parent.mkdir(parents=True, exist_ok=True)
    except (ValueError, CorpusError, EmptySelectionError, ConfigError, OSError) as error:
        progress.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    flags = [*(("--model", model) if model else ()), *(("--config", str(config)) if config else ())]
    flags += [flag for assignment in set_ or () for flag in ("--set", assignment)]
    interrupted = False
    try:
        if todo:
            if address is None:
                progress.print("Starting the service ...")
            service = service_at(address, flags, env={"REDRAFT_LOG__LEVEL": "warning"}, start_seconds=_START_SECONDS)
            with service as found, Client(found) as client, progress_bar(progress) as bar:
                task = bar.add_task("applying", total=len(todo))
                draft = DraftOptions(enabled=drafting)
                for count, sample in enumerate(measure(todo, client, concurrency=concurrency, draft=draft), start=1):
                    report.samples.append(sample)
                    bar.advance(task)
                    if count % _WRITE_EVERY == 0:
                        write_json(json_path, report.to_json())
        report.complete = True
    except KeyboardInterrupt:
        interrupted = True
    except (LaunchError, RedraftError) as error:
        progress.print(f"redraft: {error}", markup=False)
        write_json(json_path, report.to_json())
        raise typer.Exit(3) from None
    write_json(json_path, report.to_json())
    console.print(render(report))
    console.print(f"\nThe report is in {json_path}.", markup=False, soft_wrap=True)
    if interrupted:
        console.print("Interrupted: the same command goes on from there.")
        raise typer.Exit(INTERRUPTED)
    console.print(
        f"Next: redraft eval identity {corpus_options(corpus)} --json identity.json", markup=False, soft_wrap=True
    )


def _begin(path: Path, settings: Settings, address: str | None, seed: int, drafting: bool) -> QualityReport:
    """A new report, or the one that the file holds already. Raises OtherRunError and OSError."""
    environment = describe(settings.model.path)
    setup: dict[str, Any] = {"seed": seed, "drafting": drafting, "address": address}
    if address is None:
        # What to answer where model and plan differ decides the result; the default is left out, as in older files.
        chosen = {"agreement"} if settings.agreement != AgreementConfig() else set()
        setup["settings"] = settings.model_dump(mode="json", include={"model", "engine", "drafting"} | chosen)
        setup["weights_sha256"] = environment["model"]["weights_sha256"]
    drafter = "none" if not drafting else settings.drafting.method if address is None else "the service's"
    setup["configuration"] = f"{drafter}, {'own service' if address is None else 'given service'}"
    return resume(path, QualityReport(setup, {}, environment, drafter), QualityReport.from_json)


def _todo(report: QualityReport, chosen: list[EditRecord], forms: tuple[str, ...], seed: int, no_ops: int) -> list[Job]:
    digests = {record.id: digest(record.before, record.after) for record in chosen}
    done = report.done(digests)
    stale = {sample.id for sample in report.samples if sample.id in digests and sample.digest != digests[sample.id]}
    report.samples = [sample for sample in report.samples if sample.id not in stale]
    jobs: list[Job] = []
    for form in forms:
        found, report.not_expressible[form] = cases(chosen, form, seed)
        jobs += [Job(case) for case in found]
        for record in chosen[:no_ops]:
            edit = no_op_edit(record, form, seed)
            if edit is not None:
                jobs.append(Job(Case(record, form, edit), no_op=True))
    return [job for job in jobs if job.key not in done]
