"""The training program: its circuit, its edits, its format, and the weights that it made."""

from __future__ import annotations

import copy
import itertools
import json
import random
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import OPTForCausalLM

from drafts.align import UpdateSnippet, plan_edit
from evals.example_edits import load_examples
from service.config import EMBEDDED_MODEL_PATH, PromptFormatName
from service.embedded.training.circuit import CircuitBuilder
from service.embedded.training.edits import EditSampler
from service.embedded.training.feedforward import exclusive_or, gated_exclusive_or
from service.embedded.training.gains import GainedModel
from service.embedded.training.layout import code_words, position_codes, rotation
from service.embedded.training.prompt import encode_edit, special_ids
from service.embedded.training.rendering import RenderedEdit
from service.embedded.training.sources import SourceError, fetch, read_packages, source_text
from service.embedded.training.train import Recipe, train
from service.prompts import load_prompt_format
from service.types import ApplyRequest, SourceFile
from service.weights import verify

MARKER = "# ... existing code ..."


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(EMBEDDED_MODEL_PATH / "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    return tokenizer


@pytest.fixture(scope="module")
def sampler() -> EditSampler:
    files: dict[str, list[str]] = {}
    for example in load_examples():
        files.setdefault(example.language, []).append(example.original)
    return EditSampler(files, seed=7)


def snippet_of(edit: RenderedEdit) -> str:
    marked = [MARKER] if edit.elided_start else []
    *inner, last = edit.pieces
    marked.append(f"\n{MARKER}\n".join([*inner, last if edit.elided_end else last.removesuffix("\n")]))
    if edit.elided_end:
        marked.append(MARKER)
    return "\n".join(marked) + "\n"


def test_words_are_far_apart_and_closed_under_exclusive_or() -> None:
    words = code_words()
    assert words.shape == (8192, 24)
    products = words @ words.T
    products.fill_diagonal_(-24)
    assert int(products.max()) == 24 - 2 * 6  # at least six places differ
    assert words[0].eq(-1).all()
    found = {tuple(word) for word in words.tolist()}
    generator = torch.Generator().manual_seed(0)
    for _ in range(100):
        one, other = words[torch.randperm(8192, generator=generator)[:2]]
        assert tuple((-one * other).tolist()) in found


def test_a_rotation_moves_a_position() -> None:
    codes = position_codes(200)
    assert torch.allclose(rotation(13) @ codes[100], codes[113], atol=1e-4)


def test_pieces_and_gaps_are_the_result(sampler: EditSampler) -> None:
    for _ in range(200):
        edit = sampler.draw(10, 60)
        at = 0
        for piece in edit.pieces:
            at = edit.after.find(piece.removesuffix("\n"), at)
            assert at >= 0
        assert edit.elided_start or edit.after.startswith(edit.pieces[0])
        assert edit.elided_end or edit.after.endswith(edit.pieces[-1])


def test_training_writes_the_format_that_is_served(tokenizer: Tokenizer, sampler: EditSampler) -> None:
    served = load_prompt_format(PromptFormatName.EMBEDDED, EMBEDDED_MODEL_PATH)
    compared = 0
    while compared < 40:
        edit = sampler.draw(10, 40)
        *inner, last = edit.pieces
        split = [piece.split("\n") for piece in (*inner, last if edit.elided_end else last.removesuffix("\n"))]
        edges = [line for lines in split for line in (lines[0], lines[-1])]
        if not all(line.strip() for line in edges):
            continue  # blank lines at a piece's edge: a snippet's text cannot tell them from the marker's own
        snippet = UpdateSnippet(snippet_of(edit))
        plan = plan_edit(edit.before, snippet, "python")
        if plan.predicted != edit.after:
            continue  # the plan gives the final newline
        file = SourceFile("a.py", edit.before.encode(), edit.before, "python")
        rendered = served.render(ApplyRequest("r", file, snippet), plan)
        sample = encode_edit(tokenizer, edit)
        assert list(rendered.token_ids) == sample.ids[: sample.answer]
        compared += 1


def answered(model: OPTForCausalLM, tokenizer: Tokenizer, edit: RenderedEdit) -> tuple[list[int], list[int]]:
    """(what the model takes for the result, given the right text so far; the right result)."""
    sample = encode_edit(tokenizer, edit)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([sample.ids])).logits[0]
    return logits[sample.answer - 1 : -1].argmax(-1).tolist(), sample.ids[sample.answer :]


@pytest.fixture(scope="module")
def circuit(tokenizer: Tokenizer) -> OPTForCausalLM:
    model = CircuitBuilder(special_ids(tokenizer), seed=0).build()
    model.eval()
    return model


def test_a_snippet_is_entered_at_its_place_and_left_there(circuit: OPTForCausalLM, tokenizer: Tokenizer) -> None:
    """Its first lines, alone, stand after every function of the file."""
    functions = [
        "def area(width, height):\n    return width * height\n",
        "def perimeter(sides):\n    total = sum(sides)\n    return total\n",
        "def greeting(name):\n    print('Hello, ' + name)\n",
        "def digest(path):\n    with open(path) as file:\n        return sha256(file.read())\n",
    ]
    before = "\n\n".join(functions)
    for at, (old, new) in enumerate(
        (
            ("width * height", "abs(width * height)"),
            ("sum(", "math.fsum("),
            ("'Hello, '", "'Dear '"),
            ("open(", "gzip.open("),
        )
    ):
        changed = functions[at].replace(old, new)
        after = "\n\n".join([*functions[:at], changed, *functions[at + 1 :]])
        piece = ("" if at == 0 else "\n") + changed + ("" if at == 3 else "\n\n" + functions[at + 1].split("\n")[0])
        found, right = answered(circuit, tokenizer, RenderedEdit(before, after, (piece,), at > 0, at < 3))
        assert found == right, old


def test_a_snippet_that_only_quotes_changes_nothing(circuit: OPTForCausalLM, tokenizer: Tokenizer) -> None:
    text = "\n".join(
        f"def f{i}(x):\n    y{i} = x + {i}\n    return y{i}\n" for i in random.Random(0).sample(range(99), 8)
    )
    lines = text.split("\n")
    for start, end in ((4, 5), (5, 12), (8, 10)):
        edit = RenderedEdit(text, text, ("\n".join(lines[start:end]),), elided_start=True, elided_end=True)
        found, right = answered(circuit, tokenizer, edit)
        assert found == right


def test_lines_are_deleted_and_appended(circuit: OPTForCausalLM, tokenizer: Tokenizer) -> None:
    lines = [
        f"{word} = load('{word}')" for word in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
    ]
    before = "\n".join(lines) + "\n"
    cut = [*lines[:3], *lines[5:]]
    middle = RenderedEdit(before, "\n".join(cut) + "\n", ("\n".join(cut[1:5]),), True, True)
    grown = [*lines, "print(alpha)"]
    bottom = RenderedEdit(before, "\n".join(grown) + "\n", ("\n".join(grown[-4:]) + "\n",), True, False)
    for edit in (middle, bottom):
        found, right = answered(circuit, tokenizer, edit)
        assert found == right


def test_lines_are_put_in_before_the_first_one_and_no_token_is_chosen_by_a_hair(
    circuit: OPTForCausalLM, tokenizer: Tokenizer
) -> None:
    """At a text's start, where windows are short, as after it: engines round differently."""
    lines = [f"{word} = load('{word}')" for word in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")]
    before = "\n".join(lines) + "\n"
    for first in ([], ["import os"], ["import os", "", "import sys"]):
        changed = [*first, lines[0], lines[1].replace("load", "read"), *lines[2:]]
        edit = RenderedEdit(before, "\n".join(changed) + "\n", ("\n".join(changed[: len(first) + 4]),), False, True)
        sample = encode_edit(tokenizer, edit)
        with torch.no_grad():
            logits = circuit(input_ids=torch.tensor([sample.ids])).logits[0, sample.answer - 1 : -1]
        best = logits.topk(2)
        assert best.indices[:, 0].tolist() == sample.ids[sample.answer :], first
        assert float((best.values[:, 0] - best.values[:, 1]).min()) > 2.0


def test_exclusive_or_of_bits(circuit: OPTForCausalLM) -> None:
    """Of all sums that two, three and four bits can have, and zero where one of them is zero."""
    layer = copy.deepcopy(circuit.model.decoder.layers[0])
    for terms in (2, 3, 4):
        with torch.no_grad():
            for linear in (layer.fc1, layer.fc2):
                linear.weight.zero_()
                linear.bias.zero_()
            assert exclusive_or(layer, 0, slice(7, 8), terms) == terms - 1
            for bits in itertools.product((-1.0, 1.0), repeat=terms):
                for known in (bits, (0.0, *bits[1:])):
                    x = torch.zeros(layer.fc1.in_features)
                    x[7] = sum(known)
                    result = float((x + layer.fc2(layer.fc1(x).relu()))[7])
                    assert result == pytest.approx(0.0 if 0.0 in known else (-1.0) ** known.count(-1.0))


def test_exclusive_or_is_switched_off_by_its_gate(circuit: OPTForCausalLM) -> None:
    layer = copy.deepcopy(circuit.model.decoder.layers[0])
    for terms in (2, 3):
        with torch.no_grad():
            for linear in (layer.fc1, layer.fc2):
                linear.weight.zero_()
                linear.bias.zero_()
            gated_exclusive_or(layer, 0, slice(7, 8), terms, {9: -1.0}, 1.0)
            for bits in itertools.product((-1.0, 1.0), repeat=terms):
                for flag in (0.0, 1.0, 4.0):
                    x = torch.zeros(layer.fc1.in_features)
                    x[7], x[9] = sum(bits), flag
                    result = float((x + layer.fc2(layer.fc1(x).relu()))[7])
                    assert result == pytest.approx(0.0 if flag else (-1.0) ** bits.count(-1.0))


def test_gains_of_one_change_nothing(tokenizer: Tokenizer) -> None:
    builder = CircuitBuilder(special_ids(tokenizer), seed=0)
    model = GainedModel(builder.build(), builder.gains)
    for name, weight in model.weights().items():
        assert torch.equal(weight, model.model.get_parameter(name))


def test_the_weights_are_what_the_program_makes_of_the_recipe(tokenizer: Tokenizer) -> None:
    record = json.loads((EMBEDDED_MODEL_PATH / "training.json").read_text())
    builder = CircuitBuilder(special_ids(tokenizer), record["recipe"]["seed"])
    model = GainedModel(builder.build(), builder.gains)
    with torch.no_grad():
        model.factors.copy_(torch.tensor([record["gains"][name] for name in model.names]))
        made = {**model.model.state_dict(), **model.weights()}
        del made["lm_head.weight"]  # tied
    shipped = load_file(EMBEDDED_MODEL_PATH / "model.safetensors")
    assert shipped.keys() == made.keys()
    for name, tensor in shipped.items():
        assert tensor.dtype == torch.float16
        assert torch.allclose(tensor.float(), made[name], rtol=2e-3, atol=1e-4), name


def test_the_program_lists_what_it_writes(tmp_path: Path) -> None:
    """Without training it needs no corpus; the service then takes the folder for what its list says."""
    train(Recipe(minutes=0), None, None, EMBEDDED_MODEL_PATH / "tokenizer.json", tmp_path, None)
    assert set(verify(tmp_path)) == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert json.loads((tmp_path / "training.json").read_text())["steps"] == 0
    shipped = verify(EMBEDDED_MODEL_PATH)
    assert verify(tmp_path)["config.json"] == shipped["config.json"]


def test_sources_are_pinned_and_permissive() -> None:
    packages = read_packages()
    assert len({package.file for package in packages}) == len(packages) > 50
    assert {language for package in packages for language in package.languages} >= {
        "python",
        "go",
        "rust",
        "java",
        "ruby",
    }
    for package in packages:
        assert len(package.sha256) == 64
        assert package.license.split(" ")[0] in {"MIT", "MIT-0", "BSD-3-Clause", "Apache-2.0"}


def test_another_archive_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    package = read_packages()[0]
    (tmp_path / package.file).write_bytes(b"something else")
    with pytest.raises(SourceError, match="was pinned"):
        fetch(package, tmp_path)


def test_only_hand_written_sources_are_taken() -> None:
    text = "".join(f"line {i} of a file that is long enough\n" for i in range(20))
    assert source_text("a.py", text.replace("\n", "\r\n").encode()) == text
    assert source_text("a.min.js", text.encode()) is None
    assert source_text("a.py", b"\xff" + text.encode()) is None
    assert source_text("a.py", ("x" * 300 + "\n" + text).encode()) is None
