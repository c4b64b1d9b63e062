"""The files of a model folder, checked against the list that was made with them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

LIST = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64}) [ *]([^/\\\s][^/\\\n]*)")


class WeightsError(RuntimeError):
    """The folder does not hold the files that its list names. The message says which, and what to do."""


def read_list(folder: Path) -> dict[str, str]:
    """File name -> SHA-256, from the folder's SHA256SUMS (the format of `sha256sum`); empty when it has none.

    Raises WeightsError when the list cannot be read.
    """
    path = folder / LIST
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise WeightsError(f"cannot read {path}: {error}") from error
    listed: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise WeightsError(f"{path}, line {number}: not a line of sha256sum; make it again with `sha256sum *`")
        listed[match[2]] = match[1]
    return listed


def verify(folder: Path) -> dict[str, str]:
    """Reads every listed file and returns the list. A folder without a list is taken as it is.

    Raises WeightsError for a file that is missing or differs.
    """
    listed = read_list(folder)
    for name, expected in listed.items():
        path = folder / name
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise WeightsError(f"cannot read {path}, which {LIST} names: {error.strerror}; install again") from error
        if found != expected:
            raise WeightsError(
                f"{path} is not the file that {LIST} names (SHA-256 {found[:12]}..., not {expected[:12]}...); install "
                "again, or correct the list if you changed the file on purpose"
            )
    return listed
