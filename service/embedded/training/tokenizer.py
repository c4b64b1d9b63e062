"""Trains the embedded model's tokenizer: byte-level BPE of 8,192 entries, cut so that lines and indentation stay whole.

8,192 is the number of codewords that the circuit gives to tokens (see `layout.py`).
`python -m service.embedded.training.tokenizer --corpus corpus.jsonl.gz --out DIR`
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from service.embedded.training.sources import read_corpus

VOCABULARY = 8192
CHARACTERS_PER_LANGUAGE = 1_200_000
FILE, EDIT, OUT, KEEP, END = SPECIALS = ("<file>", "<edit>", "<out>", "<keep>", "<eos>")

# A newline with the indentation after it; an optional space plus letters and punctuation; single digits; blanks. A line
# break always starts a piece, so a text cut before one tokenizes as the whole does. Whole lines as pieces give a tenth
# fewer tokens, but three lines of context are then too few of them to tell a place.
PIECES = r"\n[ \t]*| ?[^\s\p{N}]+|\p{N}|[^\S\n]+"


def train_tokenizer(texts: Iterable[str]) -> Tokenizer:
    """Special tokens come first (ids 0 to 4), then the 256 bytes, then merges."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIALS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        max_token_length=32,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Writes tokenizer.json and the configuration that transformers and vLLM read beside it."""
    from transformers import PreTrainedTokenizerFast

    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=END,
        additional_special_tokens=[FILE, EDIT, OUT, KEEP],
        clean_up_tokenization_spaces=False,
    )
    fast.save_pretrained(folder)


def sample(files: dict[str, list[str]]) -> Iterator[str]:
    """Equal shares of every language, in the corpus's order."""
    for texts in files.values():
        lengths = itertools.accumulate(map(len, texts))
        yield from (text for text, total in zip(texts, lengths, strict=True) if total <= CHARACTERS_PER_LANGUAGE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1])
    options = parser.parse_args()
    save_tokenizer(train_tokenizer(sample(read_corpus(options.corpus))), options.out)


if __name__ == "__main__":
    main()
