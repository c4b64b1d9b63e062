"""Real edits in training: windows of them, mixed with synthetic ones, and a step of training on both."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from service.config import EMBEDDED_MODEL_PATH
from service.embedded.training.edits import EditSampler
from service.embedded.training.mixture import Mixture
from service.embedded.training.real_edits import RealEditSampler
from service.embedded.training.releases import RealEdit
from service.embedded.training.rendering import Change, applied, changed_share, changes_between
from service.embedded.training.sources import write_rows
from service.embedded.training.train import Recipe, batches, open_sampler, train

LINES = [f"value_{i} = compute({i})" for i in range(120)]
CHANGES = [
    Change(10, 11, ("real_10 = None",)),
    Change(40, 43, ()),
    Change(90, 90, ("real_90 = 1", "real_91 = 2")),
    Change(100, 120, tuple(f"real_{i}" for i in range(100, 130))),  # too large for small windows
]
TOKENIZER = EMBEDDED_MODEL_PATH / "tokenizer.json"
SMALL = Recipe(minutes=0.001, tokens=600, batches_per_step=1, sizes=((1.0, 12, 20),), real_share=0.5)


def real_edit(lines: list[str], changes: list[Change]) -> RealEdit:
    after = applied(lines, changes)
    return RealEdit("python", "tried", "a.py", "MIT", "\n".join(lines) + "\n", "\n".join(after) + "\n")


@pytest.fixture
def data(tmp_path: Path) -> tuple[Path, Path]:
    """(a corpus, real edits), as the programs write them."""
    corpus, edits = tmp_path / "corpus.jsonl.gz", tmp_path / "edits.jsonl.gz"
    write_rows(corpus, [{"language": "python", "text": "\n".join(f"made_{i} = {i}" for i in range(50)) + "\n"}])
    write_rows(edits, [asdict(real_edit(LINES, CHANGES))])
    return corpus, edits


def test_changes_are_found_and_counted() -> None:
    after = applied(LINES, CHANGES)
    assert changes_between(LINES, after) == CHANGES
    assert changed_share(LINES, CHANGES) == pytest.approx((24 + 33) / (120 + 129))
    assert changed_share(LINES, []) == 0


def test_a_window_has_lines_in_a_row_and_the_changes_that_stand_in_it() -> None:
    sampler = RealEditSampler([real_edit(LINES, CHANGES)], seed=1)
    starts = set()
    counts = set()
    for _ in range(300):
        edit = sampler.draw(12, 60)
        before, after = edit.before.removesuffix("\n").split("\n"), edit.after.removesuffix("\n").split("\n")
        assert 12 <= len(before) <= 60
        start = LINES.index(before[0])
        assert before == LINES[start : start + len(before)]
        end = start + len(before)
        whole = [change for change in CHANGES if start <= change.start and change.end <= end]
        moved = [Change(change.start - start, change.end - start, change.lines) for change in whole]
        assert after == applied(before, moved)
        assert before != after
        shown = "\n".join(edit.pieces)
        assert all(line in shown for change in whole for line in change.lines)
        starts.add(start)
        counts.add(len(whole))
    assert 0 in starts
    assert len(starts) > 50
    assert counts >= {1, 2}


def test_a_short_file_is_drawn_whole() -> None:
    lines, changes = LINES[:30], CHANGES[:1]
    sampler = RealEditSampler([real_edit(lines, changes)], seed=0)
    for _ in range(20):
        edit = sampler.draw(60, 130)
        assert edit.before.removesuffix("\n") == "\n".join(lines)
        assert edit.after.removesuffix("\n") == "\n".join(applied(lines, changes))


@pytest.mark.parametrize("edits", [[], [real_edit(LINES, CHANGES[3:])]])
def test_edits_that_fit_no_window_are_refused(edits: list[RealEdit]) -> None:
    with pytest.raises(ValueError, match="none of the real edits fits into 12 to 20 lines"):
        RealEditSampler(edits, seed=0).draw(12, 20)


def test_languages_are_equally_likely() -> None:
    python = real_edit(LINES, CHANGES[:1])
    ruby = RealEdit(
        "ruby", "tried", "a.rb", "MIT", *(t.replace("value", "ruby") for t in (python.before, python.after))
    )
    sampler = RealEditSampler([python] * 30 + [ruby], seed=0)
    drawn = ["ruby" in sampler.draw(12, 60).before for _ in range(400)]
    assert 150 < sum(drawn) < 250


def test_a_mixture_takes_its_share_of_each() -> None:
    def real_ones(share: float) -> int:
        real = RealEditSampler([real_edit(LINES, CHANGES[:1])], seed=0)
        synthetic = EditSampler({"python": ["\n".join(f"made_{i} = {i}" for i in range(50))]}, seed=0)
        mixture = Mixture(real, share, synthetic, seed=0)
        return sum("compute(" in mixture.draw(12, 60).before for _ in range(200))

    assert real_ones(0) == 0
    assert real_ones(1) == 200
    assert 30 < real_ones(0.25) < 70
    with pytest.raises(ValueError, match="between 0 and 1"):
        real_ones(1.5)


def test_batches_hold_both_kinds_and_go_by_the_seed(data: tuple[Path, Path]) -> None:
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.encode_special_tokens = True

    def texts(recipe: Recipe, edits: Path | None) -> list[str]:
        drawn = itertools.islice(batches(open_sampler(recipe, data[0], edits), tokenizer, recipe), 20)
        return [tokenizer.decode(sample.ids) for batch in drawn for sample in batch]

    mixed = texts(SMALL, data[1])
    real = sum("real_" in one for one in mixed)
    assert 0.2 < real / len(mixed) < 0.8
    assert texts(SMALL, data[1]) == mixed
    assert not any("compute(" in one for one in texts(SMALL, None))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """On a busy machine threads that wait for one another take minutes for a step."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("one_thread")
def test_training_goes_on_from_its_own_record(data: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    train(SMALL, *data, TOKENIZER, first, None)
    record = json.loads((first / "training.json").read_text())
    assert record["recipe"]["real_share"] == 0.5
    assert record["steps"] >= 1
    assert set(record["gains"].values()) != {1.0}
    train(Recipe(minutes=0), None, None, TOKENIZER, second, first)
    assert json.loads((second / "training.json").read_text())["gains"] == record["gains"]
