"""What the copy circuit is made of: dimensions of the residual stream, words, position codes, and its numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import OPTConfig

from service.embedded.training.tokenizer import VOCABULARY

HIDDEN, HEADS, LAYERS, FEED_FORWARD, EMBEDDING, POSITIONS = 512, 4, 5, 512, 64, 8192
HEAD = HIDDEN // HEADS
BITS, FREQUENCIES = 24, 18

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
        self.position = self._take(2 * FREQUENCIES)
        self.place = self._take(2 * FREQUENCIES)
        self.expected = self._take(2 * FREQUENCIES)
        self.snippet_place = self._take(2 * FREQUENCIES)
        self.snippet_expected = self._take(2 * FREQUENCIES)
        self.candidate = self._take(BITS)
        self.snippet_candidate = self._take(BITS)
        self.answer = self._take(BITS)
        self.anchor = self._take(2)
        self.is_edit, self.is_out, self.is_file, self.is_gap, self.is_start = (self._take(1) for _ in range(5))
        self.gaps_key, self.gaps4_key, self.gaps8_key, self.gaps16_key = (self._take(1) for _ in range(4))
        self.wild, self.wild_far, self.agrees = (self._take(1) for _ in range(3))
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


# Standard deviation of the residual stream before layer 0, ..., after layer 4, as measured: LayerNorm's gain undoes it.
SPREAD = (3.781, 3.797, 3.824, 3.839, 3.849, 3.853)

# Nats, for the last token, tokens 0 to 3, 4 to 7 and 8 to 15 back: a nearer window outweighs the noise of the farther.
# An elision in a window, or nearer, gives the snippet's keys WILD instead; THRESHOLD is what counts as a match there.
MATCH = (42.0, 34.0, 26.0, 18.0)
WILD = (0.0, 12.0, 21.0)
THRESHOLD = sum(MATCH) - 10.0
SEGMENT, PRIOR, PRIOR_FREQUENCIES = 80.0, 14.0, 15
AGREEMENT, AGREEMENT_SHARE, AGREES = 60.0, 0.6, 4.0
# A snippet's place counts when 16 tokens ago it was the place 16 before; nearer to an elision than 32 it need not.
CHAIN, CHAIN_SLACK, WILD_FAR = 24.0, 6.0, 22.0
ORIGINAL_VOTE, SNIPPET_VOTE, CANDIDATE_VOTE = 1.0, 2.0, 0.2


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
