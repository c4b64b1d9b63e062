"""What lines declare, in any language; and what is declared next to a place."""

from __future__ import annotations

import pytest

from drafts.align.declared import Declarations, declared, mentions
from drafts.align.lines import Lines


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("def area(shape):", {"area"}),
        ("    async def area(self):", {"area"}),
        ("import os", {"os"}),
        ("import os.path as files", {"files"}),
        ("from a.b import c, d as e", {"c", "e"}),
        ("from a import (", set()),
        ("import type { Plan, Region as Part } from './plan'", {"Plan", "Part"}),
        ("import React, { useState } from 'react'", {"React", "useState"}),
        ("import * as fs from 'fs'", {"fs"}),
        ("const { readFile, join: path } = require('fs')", {"readFile", "path"}),
        ("export const limit: number = 3;", {"limit"}),
        ("type Font = Readonly<{", {"Font"}),
        ("import java.util.List;", {"List"}),
        ("use std::io::{Read, Write};", {"Read", "Write"}),
        ("LIMIT = 3", {"LIMIT"}),
        ("    limit = 3", set()),
        ("limit == 3", set()),
        ('    "node-gyp": "9.4.0",', {"node-gyp:"}),
        ("  fontSize?: string;", {"fontSize:"}),
        ("    default:", set()),
        ("else:", set()),
        ("    return limit", set()),
        ("", set()),
    ],
)
def test_names_that_a_line_declares(line: str, names: set[str]) -> None:
    assert declared(line) == names


def test_a_name_is_mentioned_as_a_word_of_its_own() -> None:
    assert mentions("a = limit + 1", "limit")
    assert not mentions("a = limits + the_limit", "limit")


TEXT = Lines.of(
    "const log = require('log')\n"
    "const rm = require('rm')\n"
    "\n"
    "function f () {\n"
    "  const log = 1\n"
    "  f(log)\n"
    "}\n"
    "function g () {\n"
    "  g()\n"
    "}\n"
)


def test_the_lines_that_declare_a_name_are_found() -> None:
    found = Declarations(TEXT)
    assert [found.lines(name) for name in ("log", "rm", "f", "r")] == [[0, 4], [1], [3], []]


@pytest.mark.parametrize(
    ("name", "indent", "low", "high", "beside"),
    [
        ("log", 0, 1, 2, True),
        ("log", 0, 0, 2, False),  # It goes itself.
        ("log", 2, 5, 6, True),
        ("log", 2, 8, 8, False),  # Another block.
        ("log", 2, 1, 1, False),
        ("log", 0, 10, 10, True),
        ("rm", 0, 0, 1, True),  # After the lines.
    ],
)
def test_declared_beside_a_place_in_the_same_block(name: str, indent: int, low: int, high: int, beside: bool) -> None:
    assert Declarations(TEXT).beside(name, indent, low, high) is beside


def test_a_name_that_stands_everywhere_tells_nothing() -> None:
    assert Declarations(Lines.of("i = 0\n" + "f(i)\n" * 100)).lines("i") == []
