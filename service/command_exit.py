"""How a command that calls the service ends when it fails: its exit status, and a line on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import typer

from service.errors import (
    BaseMismatch,
    DeadlineExceeded,
    EditNotApplicable,
    InvalidRequest,
    ModelNotFound,
    QuotaExceeded,
    RedraftError,
    ResultRejected,
    Unavailable,
)
from service.launch import LaunchError

NOT_APPLIED: Final = 1
USAGE: Final = 2
NO_SERVICE: Final = 3
BUG: Final = 70
INTERRUPTED: Final = 130  # as shells have it for SIGINT


def failure(status: int, message: str) -> typer.Exit:
    """To be raised; prints the message."""
    typer.echo(f"redraft: {message}", err=True)
    return typer.Exit(status)


def own_service_flags(address: str | None, config: Path | None, model: str | None) -> list[str]:
    """Flags of `redraft serve` for a service of one's own. Exits where an address says that there is to be none."""
    if address is not None and (config is not None or model is not None):
        raise failure(USAGE, "--config and --model are for a service of one's own: leave out --address")
    return [*(("--config", str(config)) if config else ()), *(("--model", model) if model else ())]


@contextmanager
def service_failures() -> Iterator[None]:
    """Turns what a client raises, or a service of one's own that does not start, into an exit."""
    try:
        yield
    except LaunchError as error:
        raise failure(NO_SERVICE, str(error)) from error
    except InvalidRequest as error:
        listed = "\n".join(f"  {v.field}: {v.description}" for v in error.violations)
        raise failure(USAGE, f"the request is not valid:\n{listed}") from error
    except ModelNotFound as error:
        raise failure(USAGE, error.message) from error
    except (EditNotApplicable, ResultRejected, BaseMismatch) as error:
        raise failure(NOT_APPLIED, f"{error.message} ({error.reason})") from error
    except (Unavailable, QuotaExceeded, DeadlineExceeded) as error:
        raise failure(NO_SERVICE, error.message) from error
    except RedraftError as error:
        raise failure(BUG, error.message) from error
