"""Trains the embedded model's tokenizer: byte-level BPE of 4,096 entries, cut so that lines and indentation stay whole.

4,096 is the number of codewords of the Golay code that the circuit gives to tokens (see `circuit.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 4096
FILE, EDIT, OUT, KEEP, END = SPECIALS = ("<file>", "<edit>", "<out>", "<keep>", "<eos>")

# A newline with the indentation after it; an optional space plus letters; single digits; an optional space plus
# punctuation; blanks. A line break always starts a piece, so a text cut before one tokenizes as the whole does.
PIECES = r"\n[ \t]*| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|[^\S\n]+"


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
