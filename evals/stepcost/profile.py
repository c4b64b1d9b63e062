"""Step-time profiles: the time of a target pass by draft width, context and batch. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evals.stats import median

SCHEMA = 1


class StepCostError(ValueError):
    """What was asked for cannot be measured; the message says what to change."""


class ProfileError(ValueError):
    """Not a profile that can be used; the message names the file."""


def load_profile(path: Path) -> StepCostProfile:
    """Raises ProfileError, and OSError."""
    try:
        profile = StepCostProfile.from_json(json.loads(path.read_bytes()))
        profile.cost()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ProfileError(f"{path} is no step-cost profile that can be used: {error}") from None
    return profile


@dataclass(frozen=True, slots=True)
class Cell:
    """seconds: raw samples, each the time of one pass over `batch` requests with `draft_tokens` draft tokens each.

    context: tokens of each request in the cache when the first of these passes began.
    """

    draft_tokens: int
    context: int
    batch: int
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(list(self.seconds))


@dataclass(frozen=True, slots=True)
class Fit:
    """Least squares of seconds = c0 + c1 * draft tokens in the batch, over the medians of one context and batch.

    ratio: g = c1 / c0, what replay calls the cost. worst: the largest relative residual.
    """

    context: int
    batch: int
    c0: float
    c1: float
    worst: float

    @property
    def ratio(self) -> float:
        return self.c1 / self.c0


@dataclass(frozen=True, slots=True)
class StepCostProfile:
    """engine: vllm or torch. model: the shape that was measured. environment: see evals.environment.describe."""

    engine: str
    model: str
    environment: dict[str, Any]
    cells: tuple[Cell, ...]

    def fits(self) -> list[Fit]:
        """One for each (context, batch) with at least two widths."""
        groups: dict[tuple[int, int], list[Cell]] = {}
        for cell in self.cells:
            groups.setdefault((cell.context, cell.batch), []).append(cell)
        return [
            _fit(context, batch, cells)
            for (context, batch), cells in sorted(groups.items())
            if len({cell.draft_tokens for cell in cells}) > 1
        ]

    def cost(self) -> float:
        """g of one request at the smallest measured context: what a drafter takes a draft token to cost, in passes.

        Raises ValueError for a profile without two widths of one request.
        """
        for fit in self.fits():
            if fit.batch == min(cell.batch for cell in self.cells):
                return max(fit.ratio, 1e-6)
        raise ValueError("the profile has no two widths of one context and batch")

    def seconds(self, draft_tokens: int, *, context: int, batch: int = 1) -> float:
        """The time of a pass: linear between measured widths, the last slope beyond them, at the nearest batch and
        context. Raises ValueError for an empty profile.
        """
        if not self.cells:
            raise ValueError("the profile holds no measurement")
        nearest = min(
            {(cell.batch, cell.context) for cell in self.cells},
            key=lambda pair: (abs(pair[0] - batch), abs(pair[1] - context), pair),
        )
        chosen = sorted(
            (cell.draft_tokens, cell.median) for cell in self.cells if (cell.batch, cell.context) == nearest
        )
        widths, times = [width for width, _ in chosen], [time for _, time in chosen]
        if len(widths) > 1 and draft_tokens > widths[-1]:
            slope = (times[-1] - times[-2]) / (widths[-1] - widths[-2])
            return times[-1] + slope * (draft_tokens - widths[-1])
        return float(np.interp(draft_tokens, widths, times))

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "kind": "stepcost",
            "engine": self.engine,
            "model": self.model,
            "environment": self.environment,
            "rows": [{**asdict(fit), "ratio": fit.ratio} for fit in self.fits()],
            "cells": [asdict(cell) for cell in self.cells],
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> StepCostProfile:
        """Fits are computed again from the cells. Raises ValueError for another schema."""
        if record.get("schema") != SCHEMA or record.get("kind") != "stepcost":
            raise ValueError(f"not a step-cost profile of schema {SCHEMA}")
        cells = tuple(Cell(**{**cell, "seconds": tuple(cell["seconds"])}) for cell in record["cells"])
        return cls(record["engine"], record["model"], record["environment"], cells)


def _fit(context: int, batch: int, cells: Sequence[Cell]) -> Fit:
    tokens = np.array([cell.draft_tokens * batch for cell in cells], dtype=float)
    times = np.array([cell.median for cell in cells])
    # Relative errors count: an error of 1 ms in a pass of 5 ms matters more than in one of 50 ms.
    design = np.stack([np.ones_like(tokens), tokens], axis=1) / times[:, None]
    (c0, c1), *_ = np.linalg.lstsq(design, np.ones_like(times), rcond=None)
    worst = float(np.max(np.abs((c0 + c1 * tokens) / times - 1)))
    return Fit(context, batch, float(c0), float(c1), worst)
