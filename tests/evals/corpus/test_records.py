from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.corpus.records import (
    FIELDS,
    CorpusError,
    EditRecord,
    digest,
    load_corpora,
    load_records,
    read_records,
    write_records,
)

EDIT = EditRecord(
    id="owner/name@abc:src/a.py",
    repo="owner/name",
    commit="abc",
    path="src/a.py",
    language="python",
    license="MIT",
    instruction="",
    before="x = 1\r\n\u2028 # secret words\n",
    after="x = 2\r\n\u2028 # secret words",
)
OTHER = replace(EDIT, id="other", before="")
Record = dict[str, Any]


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.gz"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_records(path, [EDIT, OTHER])
    assert load_records(path) == (EDIT, OTHER)
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    write_records(tmp_path / "a.jsonl.gz", [EDIT])
    write_records(tmp_path / "b.jsonl.gz", [EDIT])
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_a_record_needs_no_digest_and_may_have_further_fields(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    record = EDIT.to_json() | {"stars": 7}
    del record["sha256"]
    path.write_text(json.dumps(record) + "\n\n" + json.dumps(OTHER.to_json()))
    assert load_records(path) == (EDIT, OTHER)


def test_several_corpora_are_read_as_one(tmp_path: Path) -> None:
    one, two, odd = (tmp_path / name for name in ("one.jsonl", "two.jsonl.gz", "odd.jsonl"))
    third = replace(EDIT, id="third")
    write_records(one, [EDIT, OTHER])
    write_records(two, [third, EDIT])
    assert load_corpora([one, two]) == (EDIT, OTHER, third)
    assert load_corpora([]) == ()
    write_records(odd, [replace(EDIT, after="another")])
    with pytest.raises(
        CorpusError, match=r"odd.jsonl: the record 'owner/name@abc:src/a.py' is another edit .*one.json"
    ):
        load_corpora([one, two, odd])


def _without(field: str) -> Callable[[Record], Record]:
    return lambda record: {name: value for name, value in record.items() if name != field}


def _with(field: str, value: object) -> Callable[[Record], Record]:
    return lambda record: record | {field: value}


@pytest.mark.parametrize("field", [name for name in FIELDS if name != "id"])
def test_a_missing_field_names_the_record(tmp_path: Path, field: str) -> None:
    assert f"has no {field};" in _refusal(tmp_path, _without(field))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_with("after", None), "after must be a string"),
        (_with("before", ["x"]), "before must be a string"),
        (_with("language", ""), "language must not be empty"),
        (_with("after", "\ud800"), "after holds half a surrogate pair"),
        (_with("after", EDIT.before), "no edit"),
        (_with("after", EDIT.after + " "), "SHA-256"),
        (_with("id", OTHER.id), "line 1 has the same id"),
    ],
)
def test_a_damaged_record_is_named(tmp_path: Path, damage: Callable[[Record], Record], message: str) -> None:
    assert message in _refusal(tmp_path, damage)


def _refusal(tmp_path: Path, damage: Callable[[Record], Record]) -> str:
    """The message for a corpus whose third line is damaged."""
    path = tmp_path / "c.jsonl"
    record = damage(dict(EDIT.to_json()))
    path.write_text("\n".join(json.dumps(r) for r in (OTHER.to_json(), replace(EDIT, id="x").to_json(), record)))
    with pytest.raises(CorpusError) as caught:
        load_records(path)
    message = str(caught.value)
    assert "c.jsonl, line 3" in message
    assert record["id"] in message
    assert "secret" not in message
    return message


def test_a_line_that_is_no_json_is_named_by_its_id_where_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    whole = json.dumps(EDIT.to_json())
    path.write_text(json.dumps(OTHER.to_json()) + "\n" + whole[: len(whole) // 2] + "\n" + whole + "\n")
    with pytest.raises(CorpusError, match=r"line 2 \(record \"owner/name@abc:src/a\.py\"\): this is no JSON"):
        load_records(path)


@pytest.mark.parametrize("line", [b"[]", b"7", b"\xff\xfe", b"{", b"[" * 100_000])
def test_a_line_that_is_no_record(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(json.dumps(OTHER.to_json()).encode() + b"\n" + line)
    with pytest.raises(CorpusError, match="line 2: "):
        load_records(path)


def test_a_damaged_gzip_file_is_named_where_it_breaks(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl.gz"
    write_records(path, [replace(EDIT, id=f"n{number}", after=f"{number}" * 99) for number in range(50)])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorpusError, match=r"c\.jsonl\.gz, line \d+: the gzip file ends early"):
        load_records(path)
    path.write_bytes(b"plain text")
    with pytest.raises(CorpusError, match="line 1: the gzip file"):
        load_records(path)


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n"))
    with pytest.raises(CorpusError, match="holds no records"):
        load_records(path)


def test_records_come_one_at_a_time_before_the_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps(EDIT.to_json()) + "\nnothing\n")
    records = read_records(path)
    assert next(records) == EDIT
    with pytest.raises(CorpusError, match="line 2"):
        next(records)


@pytest.mark.parametrize(("before", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2)])
def test_lines(before: str, lines: int) -> None:
    assert replace(EDIT, before=before).lines == lines


def test_the_digest_keeps_the_texts_apart() -> None:
    assert digest("a", "bc") != digest("ab", "c")
