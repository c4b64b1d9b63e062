"""`redraft eval corpus`: builds corpora of real edits, and says what one holds."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evals.corpus.datasheet import datasheet, markdown, render
from evals.corpus.filters import Limits
from evals.corpus.from_git import Advance, GitMiner, GitOptions
from evals.corpus.from_packages import PackageMiner, PackageOptions
from evals.corpus.git_plumbing import GitError, Repository
from evals.corpus.journal import cache_folder
from evals.corpus.lock import LockError, Pair, read_lock
from evals.corpus.records import CorpusError, EditRecord, load_records, write_records
from evals.corpus.registries import Registries
from evals.progress import progress_bar
from service import languages as known_languages
from service.atomic_write import write_whole
from service.command_exit import INTERRUPTED
from service.embedded.training.sources import Package, read_packages

app = typer.Typer(no_args_is_help=True, help="Build corpora of real edits, and see what one holds.")

Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="JSON lines; gzip if the name ends in .gz.")]
Languages = Annotated[str, typer.Option(metavar="NAMES", help="Comma-separated; empty takes all but plain text.")]
MaxEdits = Annotated[int, typer.Option(min=1, help="Stop at so many.")]
Seed = Annotated[int, typer.Option(help="Which edits, where there are more. The same seed gives the same ones.")]
MaxLines = Annotated[int, typer.Option(min=1, help="Leave out longer files.")]
MaxChanged = Annotated[
    float, typer.Option(min=0, max=1, help="Leave out edits that remove and add more than this share of the lines.")
]


@app.command("git")
def from_git(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A repository, or a folder in one.")],
    out: Out,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="As git reads dates: 2024-01-31, 2.years.")] = None,
    languages: Languages = "",
    max_edits: MaxEdits = 300,
    seed: Seed = 0,
    max_lines: MaxLines = 1000,
    max_changed: MaxChanged = 0.5,
) -> None:
    """Mine a history: commits that modify text files in place. Nothing is checked out, nothing is fetched.

    Left out: merges, renames, generated and vendored files, and what the limits say. Stopped, the same command goes
    on. Exit status: 0, also for fewer edits than asked for; 1 for none; 2 for bad arguments; 130 when interrupted.
    """
    console = Console(stderr=True, highlight=False)
    try:
        limits = Limits(_languages(languages), max_lines=max_lines, max_changed=max_changed)
        with _progress(console) as advance:
            miner = GitMiner(
                Repository(path), GitOptions(limits, since, max_edits, seed), cache_folder() / "corpus", advance
            )
            interrupted = _survive(miner.run)
    except (GitError, ValueError, OSError) as error:
        console.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    _finish(out, miner.records, miner.left_out, interrupted=interrupted)


@app.command("packages")
def from_packages(
    lockfile: Annotated[
        Path,
        typer.Argument(
            metavar="LOCKFILE", help="Pairs of releases, pinned; redraft's own: evals/corpus/packages.toml."
        ),
    ],
    out: Out,
    languages: Languages = "",
    max_edits: Annotated[int | None, typer.Option(min=1, help="Stop at so many.", show_default="all")] = None,
    per_language: Annotated[int, typer.Option(min=1, help="Edits of one language from one package.")] = 12,
    seed: Seed = 0,
    max_lines: MaxLines = 1000,
    max_changed: MaxChanged = 0.5,
    markdown_path: Annotated[
        Path | None, typer.Option("--datasheet", metavar="FILE", help="Write the datasheet as Markdown, too.")
    ] = None,
) -> None:
    """Build a corpus from pairs of released packages, fetched by pip and npm and checked against their pins.

    Archives are kept: stopped, the same command goes on. Exit status: 0; 1 when a package could not be had, with what
    the others gave in FILE; 2 for bad arguments; 130 when interrupted.
    """
    console = Console(stderr=True, highlight=False)
    try:
        limits = Limits(_languages(languages), max_lines=max_lines, max_changed=max_changed)
        pairs = read_lock(lockfile)
        options = PackageOptions(limits, max_edits, seed, per_language)
        with _progress(console) as advance:
            miner = PackageMiner(pairs, Registries(cache_folder() / "archives"), options, advance)
            interrupted = _survive(miner.run)
        if markdown_path is not None and miner.records and not interrupted:
            preface = _preface(lockfile, options, pairs)
            page = markdown(datasheet(miner.records), "A corpus of real edits from released packages", preface)
            write_whole(markdown_path, page.encode())
    except (LockError, ValueError, OSError) as error:
        console.print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    for reason in miner.failed.values():
        console.print(f"redraft: {reason}", markup=False)
    _finish(out, miner.records, miner.left_out, interrupted=interrupted)
    if markdown_path is not None:
        Console(highlight=False).print(f"The datasheet is in {markdown_path}.", markup=False, soft_wrap=True)
    raise typer.Exit(1 if miner.failed else 0)


def _preface(lockfile: Path, options: PackageOptions, pairs: Sequence[Pair]) -> list[str]:
    digest = hashlib.sha256(lockfile.read_bytes()).hexdigest()
    limits = options.limits
    trained = sorted(pair.repo for pair in pairs if _key(pair) in {_key(package) for package in read_packages()})
    return [
        f"Made by `redraft eval corpus packages {lockfile.name} --datasheet FILE` from {len(pairs)} pairs of releases, "
        "each archive pinned by version and SHA-256. An edit is a text file that is in both releases and not the "
        "same: what was changed between two releases, often by several commits, and without a word on why "
        "(`instruction` is empty). Only the lock file is shipped; whoever wants the corpus builds it, and gets the "
        "same one.",
        f"Left out: built, generated and vendored files, files of fewer than {limits.min_lines} or more than "
        f"{limits.max_lines} lines or over {limits.max_bytes} bytes, and edits that remove and add more than "
        f"{limits.max_changed:.0%} of the lines. At most {options.per_language} edits of a language from a package, "
        f"drawn by seed {options.seed}. Languages go by the files' names, so a C++ header called .h counts as c.",
        f"The embedded model was trained on {', '.join(trained)}: it has an easy time there."
        if trained
        else "None of the packages is among those that the embedded model was trained on.",
        f"SHA-256 of the lock file: `{digest}`.",
    ]


def _key(package: Pair | Package) -> tuple[str, str]:
    return package.registry, package.name.lower().replace("_", "-")


@app.command()
def show(corpus: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines, .gz by name.")]) -> None:
    """Check every record of a corpus, and print its datasheet. Exit status: 0; 2 for a file that is no corpus."""
    try:
        records = load_records(corpus)
    except (CorpusError, OSError) as error:
        Console(stderr=True, highlight=False).print(f"redraft: {error}", markup=False)
        raise typer.Exit(2) from None
    Console().print(render(datasheet(records)))


def _languages(names: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(known_languages.canonical(name.strip()) for name in names.split(",") if name.strip()))
    unknown = [name for name in found if name not in known_languages.KNOWN]
    if unknown:
        known = ", ".join(sorted(known_languages.KNOWN))
        raise ValueError(f"--languages: there is no {', '.join(unknown)}; use {known}")
    return found


@contextmanager
def _progress(console: Console) -> Iterator[Advance]:
    bar = progress_bar(console)
    tasks: dict[str, int] = {}

    def advance(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bar.add_task(what, total=total)
        bar.update(tasks[what], completed=done, total=total)  # type: ignore[arg-type]

    with bar:
        yield advance


def _survive(work: Callable[[], None]) -> bool:
    """Whether Ctrl-C cut the work off: what it has by then is kept."""
    try:
        work()
    except KeyboardInterrupt:
        return True
    return False


def _finish(out: Path, records: Sequence[EditRecord], left_out: Counter[str], *, interrupted: bool) -> None:
    console = Console(highlight=False)
    if left_out:
        counts = ", ".join(f"{reason} {count}" for reason, count in left_out.most_common())
        console.print(f"Changed files left out: {counts}.", markup=False)
    if not records:
        console.print("No edit was found; nothing was written. Looser limits or other languages may give some.")
        raise typer.Exit(INTERRUPTED if interrupted else 1)
    write_records(out, records)
    console.print(render(datasheet(records)))
    console.print(f"\n{len(records)} edits are in {out}.", markup=False, soft_wrap=True)
    if interrupted:
        console.print("Interrupted: the same command goes on from there.")
        raise typer.Exit(INTERRUPTED)
    console.print(f"Next: redraft eval quality --corpus {out} --json quality.json", markup=False, soft_wrap=True)
