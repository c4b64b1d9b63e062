"""Trains the embedded model: `python -m service.embedded.training.train --corpus corpus.jsonl.gz --out DIR`.

Starts from the copy circuit (or from `--resume DIR`, a checkpoint of an earlier run), and writes `model.safetensors`
in half precision, `config.json` and `training.json`. Runs on CPU or GPU; deterministic by seed as far as torch is.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import OPTForCausalLM

from service.embedded.training.circuit import CircuitBuilder
from service.embedded.training.edits import EditSampler
from service.embedded.training.prompt import Sample, encode_edit, special_ids
from service.embedded.training.sources import read_corpus

# Layers 0 and 1, the embeddings and the position table compute exact hashes: nothing to learn there.
FROZEN = ("embed_tokens", "embed_positions", "project_in", "layers.0.", "layers.1.")


@dataclass(frozen=True)
class Recipe:
    """tokens: per step, padding included. sizes: (share, least lines, most lines) of the files drawn."""

    minutes: float
    learning_rate: float = 3e-4
    warmup_steps: int = 50
    decay_share: float = 0.5
    tokens: int = 8192
    max_length: int = 7000
    sizes: tuple[tuple[float, int, int], ...] = ((0.5, 12, 60), (0.3, 60, 130), (0.2, 130, 260))
    seed: int = 0
    weight_decay: float = 0.0
    average: float = 0.99


def batches(sampler: EditSampler, tokenizer: Tokenizer, recipe: Recipe) -> Iterator[list[Sample]]:
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


def loss_of(model: OPTForCausalLM, batch: list[Sample], device: torch.device) -> tuple[Tensor, int, int, int]:
    """Mean cross-entropy over the answers; (loss, answer tokens, wrong tokens, exact answers)."""
    length = max(len(sample.ids) for sample in batch)
    ids = torch.zeros(len(batch), length, dtype=torch.long)
    answers = torch.zeros(len(batch), length, dtype=torch.bool)
    for row, sample in enumerate(batch):
        ids[row, : len(sample.ids)] = torch.tensor(sample.ids)
        answers[row, sample.answer : len(sample.ids)] = True
    ids, answers = ids.to(device), answers.to(device)
    # Padding stands after every answer, so the causal mask hides it.
    hidden = model.model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).last_hidden_state
    picked = answers[:, 1:]
    logits = model.lm_head(hidden[:, :-1][picked])
    target = ids[:, 1:][picked]
    wrong = logits.argmax(-1) != target
    rows = torch.arange(len(batch), device=device)[:, None].expand_as(picked)[picked]
    exact = len(batch) - len(set(rows[wrong].tolist()))
    return torch.nn.functional.cross_entropy(logits, target), len(target), int(wrong.sum()), exact


def train(recipe: Recipe, corpus: Path, tokenizer_path: Path, out: Path, resume: Path | None) -> None:
    torch.manual_seed(recipe.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = Tokenizer.from_file(str(tokenizer_path))
    tokenizer.encode_special_tokens = True
    if resume is None:
        model = CircuitBuilder(special_ids(tokenizer), recipe.seed).build()
    else:
        model = OPTForCausalLM.from_pretrained(resume, dtype=torch.float32)
    torch.nn.Module.to(model, device)
    for name, parameter in model.named_parameters():
        parameter.requires_grad = not any(part in name for part in FROZEN)
    learned = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    average = {name: parameter.detach().clone() for name, parameter in learned.items()}
    optimizer = torch.optim.AdamW(
        learned.values(), lr=recipe.learning_rate, betas=(0.9, 0.98), weight_decay=recipe.weight_decay
    )
    stream = batches(EditSampler(read_corpus(corpus), recipe.seed), tokenizer, recipe)

    begin, step, seen, saved = time.monotonic(), 0, 0, time.monotonic()
    window = [0, 0, 0, 0]  # answer tokens, wrong tokens, exact answers, answers
    out.mkdir(parents=True, exist_ok=True)
    while (elapsed := (time.monotonic() - begin) / 60) < recipe.minutes:
        share = elapsed / recipe.minutes
        rate = min(1.0, (step + 1) / recipe.warmup_steps) * min(1.0, (1 - share) / recipe.decay_share)
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * rate
        batch = next(stream)
        loss, tokens, wrong, exact = loss_of(model, batch, device)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned.values(), 1.0)
        optimizer.step()
        decay = min(recipe.average, (step + 1) / (step + 10))
        with torch.no_grad():
            for name, parameter in learned.items():
                average[name].lerp_(parameter, 1 - decay)
        step += 1
        seen += sum(len(sample.ids) for sample in batch)
        for i, value in enumerate((tokens, wrong, exact, len(batch))):
            window[i] += value
        if step % 10 == 0:
            print(
                f"step {step}  {elapsed:.1f} min  {seen / 1e6:.2f}M tokens  loss {loss.item():.4f}  "
                f"token errors {window[1] / window[0]:.5f}  exact {window[2] / window[3]:.3f}",
                flush=True,
            )
            window = [0, 0, 0, 0]
        if time.monotonic() - saved > 240:
            save(model, average, out, recipe, step, seen)
            saved = time.monotonic()
    save(model, average, out, recipe, step, seen)


def save(model: OPTForCausalLM, average: dict[str, Tensor], out: Path, recipe: Recipe, step: int, seen: int) -> None:
    """Writes the averaged weights in half precision."""
    live = {name: parameter.detach().clone() for name, parameter in model.named_parameters() if name in average}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in average:
                parameter.copy_(average[name])
        half = {name: tensor.to(torch.float16) for name, tensor in model.state_dict().items()}
        model.save_pretrained(out, state_dict=half)
        for name, parameter in model.named_parameters():
            if name in live:
                parameter.copy_(live[name])
    (out / "training.json").write_text(json.dumps({"recipe": asdict(recipe), "steps": step, "tokens": seen}, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, default=Path(__file__).parents[1] / "tokenizer.json")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--learning-rate", type=float, default=Recipe.learning_rate)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    recipe = Recipe(minutes=options.minutes, learning_rate=options.learning_rate, seed=options.seed)
    train(recipe, options.corpus, options.tokenizer, options.out, options.resume)


if __name__ == "__main__":
    main()
