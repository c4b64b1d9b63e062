"""What long commands share: the bar of progress, and the exit status when they are interrupted."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

INTERRUPTED: Final = 130  # as shells have it for SIGINT


def progress_bar(console: Console) -> Progress:
    """How many of how many, the time gone and the time left."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )
