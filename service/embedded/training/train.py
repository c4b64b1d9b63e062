"""Trains the embedded model: `python -m service.embedded.training.train --corpus corpus.jsonl.gz --out DIR`.

With `--edits edits.jsonl.gz` every second edit is a real one (`--real-share`), else all are synthetic.

What is learned are the gains of the copy circuit (`circuit.py`): how many nats a match of each window is worth, the
bars, the prior of a place by frequency, the votes. Each is one factor over a block of weights, so a few hundred steps
are enough, and the circuit stays exact. Training all weights freely needs far more tokens than that before it
does better than it does harm.

Writes `model.safetensors` in half precision, `config.json`, `training.json` (recipe and gains; `--resume` goes on
from one) and `SHA256SUMS` of these and the tokenizer. With `--minutes 0` it writes the circuit with gains of one and
needs no corpus. Runs on CPU or GPU; deterministic by seed as far as torch is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from service.embedded.training.circuit import CircuitBuilder
from service.embedded.training.edits import EditSampler
from service.embedded.training.gains import GainedModel
from service.embedded.training.mixture import Mixture, Sampler
from service.embedded.training.prompt import Sample, encode_edit, special_ids
from service.embedded.training.real_edits import RealEditSampler
from service.embedded.training.releases import read_edits
from service.embedded.training.sources import read_corpus

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
SUMMED_FILES = ("config.json", "model.safetensors", *TOKENIZER_FILES)


@dataclass(frozen=True)
class Recipe:
    """tokens: per batch, padding included. sizes: (share, least lines, most lines) of the files drawn.

    real_share: of the edits drawn, those that are real ones. learning_rate: about how far a gain goes in a step; at
    8e-3 ten steps took the circuit out of the bounds in which it is exact.
    """

    minutes: float
    learning_rate: float = 1e-3
    warmup_steps: int = 5
    decay_share: float = 0.6
    tokens: int = 6144
    batches_per_step: int = 2
    max_length: int = 7000
    sizes: tuple[tuple[float, int, int], ...] = ((0.5, 12, 60), (0.3, 60, 130), (0.2, 130, 260))
    real_share: float = 0.0
    seed: int = 0


def open_sampler(recipe: Recipe, corpus: Path | None, edits: Path | None) -> Sampler:
    """corpus: None only for a sampler that is never asked. edits: None where the recipe takes no real ones."""
    synthetic = EditSampler(read_corpus(corpus) if corpus is not None else {}, recipe.seed)
    if edits is None:
        return synthetic
    return Mixture(RealEditSampler(read_edits(edits), recipe.seed), recipe.real_share, synthetic, recipe.seed)


def batches(sampler: Sampler, tokenizer: Tokenizer, recipe: Recipe) -> Iterator[list[Sample]]:
    """Samples of like length, `recipe.tokens` a batch at most."""
    shares = torch.tensor([share for share, _, _ in recipe.sizes])
    generator = torch.Generator().manual_seed(recipe.seed)
    while True:
        _, low, high = recipe.sizes[int(torch.multinomial(shares, 1, generator=generator))]
        batch: list[Sample] = []
        longest = 0
        while True:
            sample = encode_edit(tokenizer, sampler.draw(low, high))
            if len(sample.ids) > recipe.max_length:
                continue
            longest = max(longest, len(sample.ids))
            if batch and longest * (len(batch) + 1) > recipe.tokens:
                break
            batch.append(sample)
        yield batch


def loss_of(model: GainedModel, batch: list[Sample], device: torch.device) -> tuple[Tensor, int, int, int]:
    """Mean cross-entropy over the answers; (loss, answer tokens, wrong tokens, exact answers)."""
    length = max(len(sample.ids) for sample in batch)
    ids = torch.zeros(len(batch), length, dtype=torch.long)
    answers = torch.zeros(len(batch), length, dtype=torch.bool)
    for row, sample in enumerate(batch):
        ids[row, : len(sample.ids)] = torch.tensor(sample.ids)
        answers[row, sample.answer : len(sample.ids)] = True
    ids, answers = ids.to(device), answers.to(device)
    picked = answers[:, 1:]
    logits = model(ids, picked)
    target = ids[:, 1:][picked]
    wrong = logits.argmax(-1) != target
    rows = torch.arange(len(batch), device=device)[:, None].expand_as(picked)[picked]
    exact = len(batch) - len(set(rows[wrong].tolist()))
    return torch.nn.functional.cross_entropy(logits, target), len(target), int(wrong.sum()), exact


def train(
    recipe: Recipe, corpus: Path | None, edits: Path | None, tokenizer_path: Path, out: Path, resume: Path | None
) -> None:
    """corpus: None only where the recipe has no minutes. edits: None where it takes no real ones."""
    torch.manual_seed(recipe.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = Tokenizer.from_file(str(tokenizer_path))
    tokenizer.encode_special_tokens = True
    builder = CircuitBuilder(special_ids(tokenizer), recipe.seed)
    model = GainedModel(builder.build(), builder.gains)
    model.to(device)
    if resume is not None:
        earlier = json.loads((resume / "training.json").read_text())["gains"]
        with torch.no_grad():
            model.factors.copy_(torch.tensor([earlier[name] for name in model.names]))
    optimizer = torch.optim.Adam([model.factors], lr=recipe.learning_rate, betas=(0.9, 0.98))
    stream = batches(open_sampler(recipe, corpus, edits), tokenizer, recipe)

    begin, step, seen, saved = time.monotonic(), 0, 0, time.monotonic()
    window = [0, 0, 0, 0]  # answer tokens, wrong tokens, exact answers, answers
    out.mkdir(parents=True, exist_ok=True)
    while (elapsed := (time.monotonic() - begin) / 60) < recipe.minutes:
        share = elapsed / recipe.minutes
        rate = min(1.0, (step + 1) / recipe.warmup_steps) * min(1.0, (1 - share) / recipe.decay_share)
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * rate
        loss = 0.0
        optimizer.zero_grad(set_to_none=True)
        for _ in range(recipe.batches_per_step):
            batch = next(stream)
            part, *counts = loss_of(model, batch, device)
            (part / recipe.batches_per_step).backward()
            seen += sum(len(sample.ids) for sample in batch)
            loss += float(part.detach()) / recipe.batches_per_step
            for i, value in enumerate((*counts, len(batch))):
                window[i] += value
        torch.nn.utils.clip_grad_norm_([model.factors], 1.0)
        optimizer.step()
        step += 1
        if step % 5 == 0:
            print(
                f"step {step}  {elapsed:.1f} min  {seen / 1e6:.2f}M tokens  loss {loss:.4f}  "
                f"token errors {window[1] / window[0]:.5f}  exact {window[2] / window[3]:.3f}",
                flush=True,
            )
            window = [0, 0, 0, 0]
        if time.monotonic() - saved > 240:
            save(model, out, tokenizer_path, recipe, step, seen)
            saved = time.monotonic()
    save(model, out, tokenizer_path, recipe, step, seen)


def save(model: GainedModel, out: Path, tokenizer_path: Path, recipe: Recipe, step: int, seen: int) -> None:
    """Writes the model's folder, with the tokenizer's files copied into it where they come from another."""
    with torch.no_grad():
        state = {**model.model.state_dict(), **model.weights()}
        del state["lm_head.weight"]  # tied: the embedding itself
        gains = dict(zip(model.names, (round(factor, 5) for factor in model.factors.tolist()), strict=True))
        half = {name: tensor.to(torch.float16).contiguous().cpu() for name, tensor in state.items()}
    model.model.save_pretrained(out, state_dict=half)
    record = {"recipe": asdict(recipe), "steps": step, "tokens": seen, "gains": gains}
    (out / "training.json").write_text(json.dumps(record, indent=1) + "\n")
    for name in TOKENIZER_FILES:
        if tokenizer_path.parent.resolve() != out.resolve():
            shutil.copyfile(tokenizer_path.parent / name, out / name)
    lines = [f"{hashlib.sha256((out / name).read_bytes()).hexdigest()}  {name}\n" for name in sorted(SUMMED_FILES)]
    (out / "SHA256SUMS").write_text("".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="needed unless --minutes is 0")
    parser.add_argument("--edits", type=Path, help="real ones (releases.py); left out, all are synthetic")
    parser.add_argument("--real-share", type=float, default=0.5, help="of the edits drawn, where there are real ones")
    parser.add_argument("--tokenizer", type=Path, default=Path(__file__).parents[1] / "tokenizer.json")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--learning-rate", type=float, default=Recipe.learning_rate)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.corpus is None and options.minutes > 0:
        parser.error("--corpus is needed to train; --minutes 0 writes the circuit as it is")
    recipe = Recipe(
        minutes=options.minutes,
        learning_rate=options.learning_rate,
        real_share=options.real_share if options.edits is not None else 0.0,
        seed=options.seed,
    )
    train(recipe, options.corpus, options.edits, options.tokenizer, options.out, options.resume)


if __name__ == "__main__":
    main()
