"""What the copy circuit is made of: dimensions of the residual stream, words, position codes, and its numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import OPTConfig

from service.embedded.training.tokenizer import VOCABULARY

HIDDEN, HEADS, LAYERS, FEED_FORWARD, EMBEDDING, POSITIONS = 512, 4, 6, 256, 64, 8192
HEAD = HIDDEN // HEADS
BITS, FAR_BITS, FREQUENCIES = 24, 10, 17

# Offsets of the far windows, of 16 tokens each.
FAR = (16, 32, 48)

# The constant pair's size: it dominates the norm of the residual, so LayerNorm is nearly a fixed scaling.
ANCHOR = 60.0


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
        self.answer = self._take(BITS)
        self.anchor = self._take(2)
        self.is_edit, self.is_out, self.is_file, self.is_gap, self.is_start = (self._take(1) for _ in range(5))
        self.gaps_query = tuple(self._take(1) for _ in range(3 + len(FAR)))  # elisions in each window
        self.gaps_key = tuple(self._take(1) for _ in range(3 + len(FAR)))
        self.wild_query, self.wild_key = (self._take(1) for _ in range(2))
        self.changed, self.quoted_before = (self._take(1) for _ in range(2))
        self.in_original, self.in_snippet, self.in_output = (self._take(1) for _ in range(3))
        self.ballast = self._take(16)  # keeps every write's mean at zero, so that LayerNorm's centring changes nothing
        if self._next > HIDDEN:
            raise ValueError(f"the circuit needs {self._next} dimensions, the model has {HIDDEN}")

    def _take(self, count: int) -> slice:
        self._next += count
        return slice(self._next - count, self._next)


SLOTS = Slots()


@dataclass(frozen=True)
class SpecialIds:
    """Token ids of the format's special tokens."""

    file: int
    edit: int
    out: int
    keep: int
    end: int


def golay_words() -> Tensor:
    """All 4,096 words of the extended binary Golay code as +-1, float [4096, 24] (MacWilliams and Sloane, 1977)."""
    generator = 0b110001110101  # x^11 + x^10 + x^6 + x^5 + x^4 + x^2 + 1
    words = torch.zeros(VOCABULARY, BITS)
    for message in range(VOCABULARY):
        word = 0
        for bit in range(12):
            if message >> bit & 1:
                word ^= generator << bit
        bits = [word >> i & 1 for i in range(23)]
        words[message] = torch.tensor([*bits, sum(bits) % 2], dtype=torch.float32) * 2 - 1
    return words


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
    (3.7755, 3.8269),
    (3.7883, 3.8269),
    (3.8137, 3.8606),
    (3.8286, 3.8453),
    (3.8398, 3.8550),
    (3.8440, 3.8496),
)
LAST_SPREAD = 3.85
START_FILL = 3.0

# Nats, for the last token, tokens 0..3, 4..7, 8..15, 16..31, 32..47 and 48..63 back: a nearer window outweighs the
# noise of the farther.
MATCH = (42.0, 34.0, 26.0, 18.0, 13.0, 10.0, 8.0)
COMPLETE = sum(MATCH)
# Bits of each window that the last layer's match compares, which has to share its head with a place.
LAST_BITS = (12, 24, 16, 12, 10, 10, 10)
# Nats for one unit of the slots `wild`, which must not make the residual stream much longer.
WILD_UNIT = 40.0
# A head that copies from a distance stops at an elision with so many nats.
STOP = 800.0
SEGMENT = 200.0
# Of like places in the original a snippet's part stands at the earlier: nats for 2,546 tokens, a radian of the slowest
# frequency.
EARLY = 12.0
# How much of a complete score may be missing where a snippet quotes the original.
QUOTE_SLACK = 7.0
PRIOR, PRIOR_OF_MATCH, PLACE_FREQUENCIES = 14.0, 6.0, 16
# Nats of a snippet's token: at its part's first change, times how near it is to the output's place (found now, and
# expected from before); after it; and while it only quotes. SNIPPET_BAR is what they have to come to.
ENTRY, NEAR_SHARE, CHANGED, QUOTED, SNIPPET_BAR = 100.0, 0.5, 60.0, 300.0, 45.0
ENTRY_COST, ENTRY_AT_START = 13.0, 0.4
ORIGINAL_VOTE, SNIPPET_VOTE = 1.0, 2.0


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
        tie_word_embeddings=False,
        bos_token_id=special.file,
        eos_token_id=special.end,
        pad_token_id=special.end,
    )
