"""`redraft eval`: measurements of the service.

A command's module is imported when that command is asked for and not before: some take seconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

COMMANDS: Final = {
    "corpus": ("evals.corpus.commands:app", "Build corpora of real edits, and see what one holds."),
    "identity": (
        "evals.identity.command:identity",
        "Decode every edit with and without drafting on one engine, and compare token for token.",
    ),
    "latency": (
        "evals.latency_command:latency",
        "Time edits through the service, drafted in several ways and not drafted.",
    ),
    "quality": (
        "evals.quality.command:quality",
        "Apply every edit through the service, and compare with what its author made of the file.",
    ),
    "replay": (
        "evals.replay.command:replay",
        "Feed recorded edits through drafters, ours and public ones, and count target passes. No model runs.",
    ),
    "align": (
        "evals.alignment_command:align",
        "Align recorded edits with their files: how often the predicted text is the real result, and what it costs.",
    ),
    "drafter-cost": (
        "evals.drafter_cost:drafter_cost",
        "Time the copy drafter alone: contexts of 1k, 4k and 32k tokens, batches of 1, 16 and 64.",
    ),
    "stepcost": (
        "evals.stepcost.command:stepcost",
        "Measure target passes of a model with made-up weights: no download is needed.",
    ),
    "report": (
        "evals.html.command:report",
        "Show runs on one page: latency, drafters against each other, identity and quality.",
    ),
}
"""Name -> (where it is: a function with its options, or a typer.Typer; the first paragraph of its help)."""


def load(name: str) -> Any:
    """The command itself, imported."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command()(found)
        found = alone
    command = typer.main.get_command(found)
    command.name = name
    return command


class _Later(TyperCommand):
    """Stands for a command in the list of all; whoever runs it, or asks for its own help, gets the command itself."""

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        return load(str(self.name)).make_context(info_name, args, parent, **extra)


class _Commands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _Later(cmd_name, help=COMMANDS[cmd_name][1]) if cmd_name in COMMANDS else None


app = typer.Typer(cls=_Commands, add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)


@app.callback()
def evaluate() -> None:
    """Measure the service."""
