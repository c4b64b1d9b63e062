"""The check that no measured text stands in the training corpus."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from service.embedded.training.overlap import find_overlap, line_ngrams, measured_texts, training_texts
from service.embedded.training.releases import RealEdit
from service.embedded.training.sources import write_rows

TEXT = "".join(f"value_{i} = compute({i})\n" for i in range(20))


def test_a_copy_is_found_whatever_its_indentation_and_blank_lines() -> None:
    copy = "".join(f"    {line.replace(' ', '   ')}\n\n    }}\n" for line in TEXT.splitlines())
    found = find_overlap([copy], {"a": TEXT})
    assert (found.texts, found.ngrams, found.shared, dict(found.touched)) == (1, 13, 13, {"a": 1.0})


def test_a_part_is_found_and_another_text_is_not() -> None:
    part = "".join(TEXT.splitlines(keepends=True)[:10])
    other = TEXT.replace("value", "other")
    found = find_overlap([part], {"a": TEXT, "b": other})
    assert found.shared == 3
    assert set(found.touched) == {"a"}
    assert "1 of 2 texts" in str(found)


def test_fewer_lines_in_a_row_are_no_overlap() -> None:
    lines = TEXT.splitlines(keepends=True)
    mixed = "".join(line + (f"between {i}\n" if i % 7 == 6 else "") for i, line in enumerate(lines))
    assert not find_overlap([mixed], {"a": TEXT}).touched


def test_short_texts_have_no_ngram() -> None:
    assert not line_ngrams("one\ntwo\n")
    assert find_overlap([TEXT], {"a": "one\ntwo\n"}).texts == 0
    with pytest.raises(ValueError, match="at least one line"):
        find_overlap([TEXT], {"a": TEXT}, lines=0)


def test_texts_are_read_from_folders_and_rows(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / "image").write_bytes(b"\xff\xfe\x00")
    with gzip.open(tmp_path / "rows.jsonl.gz", "wt", encoding="utf-8") as rows:
        rows.write(json.dumps({"before": TEXT, "lines": 20}) + "\n")
    texts = dict(measured_texts(tmp_path))
    assert texts == {str(tmp_path / "a.py"): TEXT, "rows.jsonl.gz:1:before": TEXT}


def test_both_versions_of_a_real_edit_are_training_texts(tmp_path: Path) -> None:
    corpus, edits = tmp_path / "corpus.jsonl.gz", tmp_path / "edits.jsonl.gz"
    write_rows(corpus, [{"language": "python", "text": "synthetic\n"}])
    edited = TEXT.replace("value_3 = compute(3)", "three = 3")
    write_rows(edits, [asdict(RealEdit("python", "a", "a.py", "MIT", TEXT, edited))])
    assert list(training_texts(corpus, edits)) == ["synthetic\n", TEXT, edited]
    assert list(training_texts(corpus, None)) == ["synthetic\n"]
    # Either version is enough: of 13 runs each, those with the changed line stand in one alone.
    for measured in (TEXT, edited):
        assert find_overlap(training_texts(None, edits), {"a": measured}).touched == {"a": 1.0}
