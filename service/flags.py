"""Command-line flags as nested settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from service.config import ConfigError


def parse_set(assignments: Iterable[str]) -> dict[str, str]:
    """`SECTION.KEY=VALUE` strings as a mapping; a key may be nested once more. Raises ConfigError."""
    values: dict[str, str] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or key.count(".") not in (1, 2) or not all(key.split(".")):
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
    """{"a.b": 1, "a.c": None} as {"a": {"b": 1}}: flags that were not given leave no trace. Raises ConfigError when a
    setting and a part of it are both given."""
    nested: dict[str, dict[str, Any]] = {}
    for dotted, value in sorted(values.items()):
        if value is None:
            continue
        *sections, key = dotted.split(".")
        level: dict[str, Any] = nested
        for section in sections:
            level = level.setdefault(section, {})
            if not isinstance(level, dict):
                raise ConfigError(f"{dotted}: given together with a setting that it is a part of")
        level[key] = value
    return nested
