"""What the copy circuit is made of: dimensions of the residual stream, words, position codes, and its numbers."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import OPTConfig

from service.embedded.training.tokenizer import VOCABULARY

HIDDEN, HEADS, LAYERS, FEED_FORWARD, EMBEDDING, POSITIONS = 512, 4, 6, 208, 64, 8192
HEAD = HIDDEN // HEADS
BITS, FAR_BITS, FREQUENCIES = 24, 12, 17

# Offsets of the far windows, of 16 tokens each.
FAR = (16, 32, 48)

# The embedding's dimension that says "the end", as an answer: the end's own word is zero.
END_FLAG = EMBEDDING - 1

# The constant pair's size: it dominates the norm of the residual, so LayerNorm is nearly a fixed scaling.
ANCHOR = 150.0


class Slots:
    """Dimensions of the residual stream, by what is written there."""

    def __init__(self) -> None:
        self._next = 0
        self.identity = self._take(BITS)
        self.answer_word = self._take(BITS)
        self.hash_query = self._take(BITS)  # tokens 0..3 back
        self.hash_key = self._take(BITS)  # tokens 1..4 back
        self.previous = self._take(BITS)
        self.hash4_query = self._take(BITS)  # tokens 4..7 back
        self.hash4_key = self._take(BITS)
        self.hash8_query = self._take(BITS)  # tokens 8..15 back
        self.hash8_key = self._take(BITS)
        self.far_query = tuple(self._take(FAR_BITS) for _ in FAR)  # tokens 16..31, 32..47 and 48..63 back
        self.far_key = tuple(self._take(FAR_BITS) for _ in FAR)
        self.position = self._take(2 * FREQUENCIES)
        self.place = self._take(2 * FREQUENCIES)  # where in the original the output's last tokens stand
        self.own_place = self._take(2 * FREQUENCIES)  # the same of a snippet's tokens
        self.expected = self._take(2 * FREQUENCIES)
        self.entry_place = self._take(2 * FREQUENCIES)  # own_place one token ago, at a part's first changed token only
        # Where own_place was, wiped in layer 4: the answer's word, and that it is the end.
        self.answer = slice(self.own_place.start, self.own_place.start + BITS + 1)
        self.anchor = self._take(2)
        self.is_edit, self.is_out, self.is_file, self.is_gap, self.is_start = (self._take(1) for _ in range(5))
        self.gaps_query = tuple(self._take(1) for _ in range(3 + len(FAR)))  # elisions in each window
        self.gaps_key = tuple(self._take(1) for _ in range(3 + len(FAR)))
        self.wild_query, self.wild_key = (self._take(1) for _ in range(2))
        self.odd_query, self.odd_key = (self._take(1) for _ in range(2))  # of a far window one word alone is there
        self.changed, self.quoted_before = (self._take(1) for _ in range(2))
        self.in_original, self.in_snippet, self.in_output = (self._take(1) for _ in range(3))
        self.ballast = self._take(26)  # keeps every write's mean at zero, so that LayerNorm's centring changes nothing
        if self._next > HIDDEN:
            raise ValueError(f"the circuit needs {self._next} dimensions, the model has {HIDDEN}")

    def _take(self, count: int) -> slice:
        self._next += count
        return slice(self._next - count, self._next)


SLOTS = Slots()


class SpecialIds(NamedTuple):
    """Token ids of the format's special tokens."""

    file: int
    edit: int
    out: int
    keep: int
    end: int


def code_words() -> Tensor:
    """8,192 words as +-1, float [8192, 24], closed under exclusive or; any two differ in at least 6 places.

    The double-error-correcting BCH code of length 31, shortened to 23 bits, with a parity bit (MacWilliams and Sloane,
    1977).
    """
    generator = 0b11101101001  # x^10 + x^9 + x^8 + x^6 + x^5 + x^3 + 1
    message = torch.arange(VOCABULARY)
    word = torch.zeros(VOCABULARY, dtype=torch.int64)
    for shift in range(13):
        word ^= (message >> shift & 1) * (generator << shift)
    bits = word[:, None] >> torch.arange(BITS - 1) & 1
    return torch.cat([bits, bits.sum(dim=1, keepdim=True) % 2], dim=1) * 2.0 - 1


def frequencies() -> Tensor:
    return torch.exp(torch.linspace(math.log(2.9), math.log(2 * math.pi / 16000), FREQUENCIES))


def amplitudes() -> Tensor:
    """Weights of the frequencies in a head that attends a fixed number of tokens back; their sum is its score there."""
    return torch.where(frequencies() > 0.1, 16.0, 4.0)


def position_codes(count: int) -> Tensor:
    """Cosines then sines, [count, 64]."""
    angle = torch.arange(count, dtype=torch.float64)[:, None] * frequencies().double()
    return torch.cat([angle.cos(), angle.sin()], dim=1).float()


def rotation(offset: float) -> Tensor:
    """Matrix that maps the code of a position to the code of `position + offset`, [64, 64]."""
    angle = frequencies() * offset
    c, s = torch.diag(angle.cos()), torch.diag(angle.sin())
    return torch.cat([torch.cat([c, -s], dim=1), torch.cat([s, c], dim=1)])


# Standard deviation of the residual stream before each layer's attention and feed-forward, as measured: LayerNorm's
# gain undoes it.
SPREAD = (
    (9.3847, 9.4055),
    (9.3900, 9.4055),
    (9.4005, 9.4260),
    (9.4085, 9.4140),
    (9.4121, 9.4170),
    (9.4115, 9.4160),
)
LAST_SPREAD = 9.416
# What one bit of an answer that agrees is worth in the logits.
LOGIT = 0.4
START_FILL = 3.0

# Nats, for the last token, tokens 0..3, 4..7, 8..15, 16..31, 32..47 and 48..63 back: a nearer window outweighs the
# noise of the farther.
MATCH = (42.0, 34.0, 26.0, 18.0, 13.0, 10.0, 8.0)
COMPLETE = sum(MATCH)
# All scores of match heads are taken so many times, so that no close second has a share.
SHARPNESS = 4.0
# Bits of each window that are compared: without a place in the score, with one for the original, with one for entry.
MATCH_BITS = (18, 24, 24, 24, FAR_BITS, FAR_BITS, FAR_BITS)
LAST_BITS = (12, 24, 20, 16, 12, 10, 8)
ENTRY_BITS = (12, 24, 20, 16, 12, 12, 10)
# Nats for one unit of the slots `wild`, which must not make the residual stream much longer.
WILD_UNIT = 40.0
# What a tag adds to the count of elisions in a window; an elision adds one.
TAG_GAP = 0.2
# A head that copies from a distance stops at an elision or a tag: nats for a whole one.
STOP = 800.0
SEGMENT = 200.0
# Of like places in the original a snippet's part stands at the earlier: nats for 2,546 tokens, a radian of the slowest
# frequency.
EARLY = 12.0
# How much of a complete score may be missing where a snippet quotes the original.
QUOTE_SLACK = 2.5
PRIOR, PRIOR_OF_MATCH = 36.0, 6.0
# Frequencies that are compared: all but one for the prior, the higher ones for an entry's place.
PRIOR_FREQUENCIES = tuple(range(2, 14))
ENTRY_FREQUENCIES = tuple(range(10))
# A snippet's token whose text must have changed before, or just now, has a score of at least so much less otherwise.
BARRED = 250.0
# How much of a complete score may be missing where the snippet goes on.
SNIPPET_SLACK = 5.0
# At a part's first change: weight of the match, nats for the output's place (found now, and expected from before), how
# much of both may be missing, and what is added as long as no place is expected yet.
ENTRY_MATCH, ENTRY, NEAR_SHARE, ENTRY_SLACK = 2.0, 100.0, 0.6, 40.0
ENTRY_AT_START = (1 - NEAR_SHARE) * ENTRY / sum(MATCH[2:])
ORIGINAL_VOTE, ENTRY_VOTE, SNIPPET_VOTE = 1.0, 2.0, 4.0


def model_config(special: SpecialIds) -> OPTConfig:
    return OPTConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        ffn_dim=FEED_FORWARD,
        num_attention_heads=HEADS,
        max_position_embeddings=POSITIONS,
        word_embed_proj_dim=EMBEDDING,
        do_layer_norm_before=True,
        activation_function="relu",
        dropout=0.0,
        attention_dropout=0.0,
        layerdrop=0.0,
        tie_word_embeddings=True,
        bos_token_id=special.file,
        eos_token_id=special.end,
        pad_token_id=special.end,
    )
