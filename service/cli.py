"""The `redraft` command: `serve`, `apply`, `batch`, and whatever other packages register under `redraft.commands`.

Exit status: 0 done; 1 the edit was not applied; 2 bad usage, configuration or request; 3 no service, no answer in
time, or, for `serve`, no port, an engine that did not start, or one that died: a supervisor should start it again; 70 a
bug.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
import typer.main
from typer.core import TyperGroup

from service import logs
from service.apply_command import apply
from service.batch_command import batch
from service.config import ConfigError, Settings
from service.errors import EngineUnavailable
from service.flags import merge

if TYPE_CHECKING:
    from service.server import Compose

COMMAND_GROUP: Final = "redraft.commands"


class _Commands(TyperGroup):
    """Our own commands, and those that other packages register; the latter are imported only when they are needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *sorted(_registered())]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        entry = _registered().get(cmd_name)
        if entry is None:
            return super().get_command(ctx, cmd_name)
        command = typer.main.get_command(entry.load())
        command.name = cmd_name
        return command


def _registered() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=COMMAND_GROUP)}


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Apply code edits with a language model, drafted by copying and verified by the model.",
)
app.command()(apply)
app.command()(batch)


@app.command()
def serve(
    config: Annotated[Path | None, typer.Option(help="A TOML file.", metavar="FILE")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.  [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="0 takes a free port.  [default: 50051]")] = None,
    model: Annotated[str | None, typer.Option(help="Directory of the model.", metavar="PATH")] = None,
    model_name: Annotated[
        str | None, typer.Option(help="What callers call the model.  [default: the directory's name]")
    ] = None,
    prompt_format: Annotated[
        str | None, typer.Option(help="How the model is asked: embedded, chat, updated_code or bare_file.")
    ] = None,
    drafting: Annotated[bool | None, typer.Option("--drafting/--no-drafting", help="Draft by copying.")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(help="console or json.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other setting, such as engine.max_num_seqs=8.", metavar="SECTION.KEY=VALUE"),
    ] = None,
) -> None:
    """Run the service until SIGTERM or SIGINT, then drain. Should the engine die, it ends with status 3.

    Settings come from the TOML file, then from REDRAFT_SECTION__KEY in the environment, then from these flags; the
    last wins.
    """
    named = {
        "server.host": host,
        "server.port": port,
        "model.path": model,
        "model.name": model_name,
        "model.prompt_format": prompt_format,
        "drafting.enabled": drafting,
        "log.level": log_level,
        "log.format": log_format,
    }
    try:
        settings = Settings.load(config, merge(named, set_ or ()))
    except ConfigError as error:
        typer.echo(f"redraft: {error}", err=True)
        raise typer.Exit(2) from error
    # These import the engine and the tokenizers: not for `redraft --help`.
    from service.compose import compose

    raise typer.Exit(run(settings, compose))


def run(settings: Settings, compose: Compose) -> int:
    """Serves until the end, and says why it failed. Returns the exit status."""
    logs.configure(settings.log)
    from service.prompts import TokenizerError
    from service.server import serve as serve_until_stopped
    from service.weights import WeightsError

    try:
        asyncio.run(serve_until_stopped(settings, compose))
    except (TokenizerError, WeightsError, ConfigError) as error:
        typer.echo(f"redraft: {error}", err=True)
        return 2
    except (OSError, EngineUnavailable) as error:
        typer.echo(f"redraft: {error}", err=True)
        return 3
    return 0


def main() -> None:
    app()


if __name__ == "__main__":
    main()
