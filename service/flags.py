"""Command-line flags as nested settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from service.config import ConfigError


def parse_set(assignments: Iterable[str]) -> dict[str, str]:
    """`SECTION.KEY=VALUE` strings as a mapping. Raises ConfigError."""
    values: dict[str, str] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or key.count(".") != 1:
            raise ConfigError(f"--set {key}: write SECTION.KEY=VALUE, for example engine.max_num_seqs=8")
        values[key] = value
    return values


def merge(named: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Settings from flags of their own and from `--set`; where both name one, the flag of its own wins.

    Raises ConfigError.
    """
    given = {dotted: value for dotted, value in named.items() if value is not None}
    return overrides({**parse_set(assignments), **given})


def overrides(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """{"a.b": 1, "a.c": None} as {"a": {"b": 1}}: flags that were not given leave no trace."""
    nested: dict[str, dict[str, Any]] = {}
    for dotted, value in values.items():
        if value is not None:
            section, _, key = dotted.partition(".")
            nested.setdefault(section, {})[key] = value
    return nested
