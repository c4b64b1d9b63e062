"""`redraft apply`: one edit to one file, through a service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from service.agreement import SURE, Agreement
from service.atomic_write import ChangedMeanwhile, replace_content
from service.client import (
    AppliedEdit,
    Client,
    ClientEdit,
    DraftOptions,
    EditCall,
    Instruction,
    SearchReplaceText,
    UnifiedDiff,
    UpdateSnippet,
)
from service.command_exit import NOT_APPLIED, USAGE, failure, own_service_flags, service_failures
from service.diff import unified_diff
from service.launch import service_at
from service.shown_path import shown_path


def apply(
    file: Annotated[Path, typer.Argument(help="The file to edit.")],
    update: Annotated[str | None, typer.Option(help="File with an update snippet.", metavar="SNIPPET|-")] = None,
    patch: Annotated[str | None, typer.Option(help="File with a unified diff.", metavar="FILE|-")] = None,
    blocks: Annotated[str | None, typer.Option(help="File with search/replace blocks.", metavar="FILE|-")] = None,
    instruction: Annotated[
        str | None, typer.Option(help="What to do in words, alone or beside one of the others.", metavar="TEXT")
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print a unified diff instead of the file.")] = False,
    in_place: Annotated[bool, typer.Option("--in-place", help="Write the result into FILE.")] = False,
    language: Annotated[str, typer.Option(help="By FILE's name when not given.")] = "",
    drafting: Annotated[bool, typer.Option("--drafting/--no-drafting", help="Draft by copying.")] = True,
    timeout: Annotated[float | None, typer.Option(help="Time limit of the call.", metavar="SECONDS")] = None,
    address: Annotated[
        str | None, typer.Option(help="A running service. Without it one is started and stopped.", metavar="HOST:PORT")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file of a service of one's own.", metavar="FILE")] = None,
    model: Annotated[str | None, typer.Option(help="Model of a service of one's own.", metavar="PATH")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no figures to standard error.")] = False,
) -> None:
    """Apply an edit to FILE and print the result.

    "-" reads the edit from standard input. FILE changes only with --in-place, in one step, and only on success.
    """
    if diff and in_place:
        raise failure(USAGE, "choose one of --diff and --in-place")
    flags = own_service_flags(address, config, model)
    edit = _edit(update, patch, blocks, instruction)
    before = _read(str(file))
    shown = shown_path(file)
    call = EditCall(
        path=shown,
        content=before,
        edit=edit,
        instruction="" if isinstance(edit, Instruction) else instruction or "",
        language=language,
        draft=DraftOptions(enabled=drafting),
    )
    if address is None and not quiet:
        typer.echo("starting a service of one's own; --address HOST:PORT asks a running one ...", err=True)
    applied = _apply(call, address, flags, timeout)
    if in_place:
        try:
            replace_content(file, before, applied.data)
        except (OSError, ChangedMeanwhile) as error:
            raise failure(NOT_APPLIED, str(error)) from error
    elif diff:
        _print(unified_diff(before.decode(), applied.text, shown).encode())
    else:
        _print(applied.data)
    if not quiet:
        typer.echo(_figures(applied, edit), err=True)


def _edit(update: str | None, patch: str | None, blocks: str | None, instruction: str | None) -> ClientEdit:
    match [(kind, source) for kind, source in (("u", update), ("p", patch), ("b", blocks)) if source is not None]:
        case [("u", source)]:
            return UpdateSnippet(_read_text(source))
        case [("p", source)]:
            return UnifiedDiff(_read_text(source))
        case [("b", source)]:
            return SearchReplaceText(_read_text(source))
        case [] if instruction is not None:
            return Instruction(instruction)
        case []:
            raise failure(USAGE, "there is no edit: give --update, --patch, --blocks or --instruction")
        case _:
            raise failure(USAGE, "choose one of --update, --patch and --blocks")


def _read(source: str) -> bytes:
    if source == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise failure(USAGE, f"cannot read {source}: {error.strerror}") from error


def _read_text(source: str) -> str:
    try:
        return _read(source).decode()
    except UnicodeDecodeError as error:
        raise failure(USAGE, f"{source} is not UTF-8 at byte {error.start}") from error


def _apply(call: EditCall, address: str | None, flags: list[str], timeout: float | None) -> AppliedEdit:
    with service_failures(), service_at(address, flags) as where, Client(where, timeout_seconds=timeout) as client:
        return client.apply(call)


_AGREEMENT: Final = {
    Agreement.MODEL_AND_PLAN: "as the edit's alignment predicts",
    Agreement.MODEL_ONLY: "not as the edit's alignment predicts: read it",
    Agreement.PLAN_ONLY: "by the edit's alignment alone, the model wrote another text: read it",
}


def _figures(applied: AppliedEdit, edit: ClientEdit) -> str:
    report = applied.report
    agreement = _AGREEMENT[applied.agreement]
    placed = ""
    if applied.plan_confidence < SURE and not isinstance(edit, Instruction):
        placed = f"; where it goes is uncertain (confidence {applied.plan_confidence:.2f}): check the place"
    return (
        f"{len(applied.hunks)} hunks, {agreement}{placed}; "
        f"{applied.output_tokens} tokens in {report.target_passes} target passes "
        f"({applied.tokens_per_pass:.1f} a pass), {applied.acceptance_rate:.0%} of the draft accepted, "
        f"{applied.timing.total:.2f} s"
    )


def _print(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
