"""Sizes of files that quality is told apart by. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple


class Size(NamedTuple):
    """Lines of the file before the edit, both ends included. high: None for no bound."""

    low: int
    high: int | None

    def __str__(self) -> str:
        if self.high is None:
            return f"over {self.low - 1} lines"
        return f"{self.low}-{self.high} lines" if self.low else f"up to {self.high} lines"


SIZES: Final = (Size(0, 50), Size(51, 100), Size(101, 150), Size(151, 200), Size(201, 400), Size(401, None))


def size_of(lines: int) -> Size:
    """The size of a file of so many lines."""
    return next(size for size in SIZES if size.high is None or lines <= size.high)
