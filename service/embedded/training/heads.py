"""The circuit's kinds of attention heads: a fixed distance back, and where the same tokens stand."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from transformers import OPTForCausalLM

from service.embedded.training.gains import Gain
from service.embedded.training.layout import (
    FREQUENCIES,
    HEAD,
    MATCH,
    MATCH_BITS,
    SEGMENT,
    SHARPNESS,
    SLOTS,
    STOP,
    TAG_GAP,
    amplitudes,
    rotation,
)

# What a key's one is worth as a query's weight, in match heads.
NAT = SHARPNESS * math.sqrt(HEAD)
TAGS = (SLOTS.is_file, SLOTS.is_edit, SLOTS.is_out)


class HeadWriter:
    """Writes heads into an OPT model, and records which of their weights training scales."""

    def __init__(self, model: OPTForCausalLM) -> None:
        self.model = model
        self.decoder = model.model.decoder
        self.gains: list[Gain] = []

    def _gain(self, name: str, weight: Tensor, *index: int | slice | list[int]) -> None:
        """Declares weight[index], a part of a parameter or of a view of one, to be scaled as one by training."""
        self.gains.append(Gain.of(self.model, name, weight, *index))

    def _head(self, layer: int, head: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Views of (q weight, k weight, q bias, v weight, out weight) of one head.

        q and k weights are [128, 512], out is [512, 128]. Attention divides scores by sqrt(128).
        """
        attention = self.decoder.layers[layer].self_attn
        rows = slice(head * HEAD, (head + 1) * HEAD)
        return (
            attention.q_proj.weight[rows],
            attention.k_proj.weight[rows],
            attention.q_proj.bias[rows],
            attention.v_proj.weight[rows],
            attention.out_proj.weight[:, rows],
        )

    def _offset_head(self, layer: int, head: int, offset: int, stop: tuple[slice, ...] = ()) -> tuple[Tensor, Tensor]:
        """A head that attends to the token `offset` back. Returns (v weight, out weight).

        It attends to the start token, whose values are zero, where the counts in the slots `stop` come to one or more.
        """
        q, k, q_bias, v, out = self._head(layer, head)
        if stop:
            q[HEAD - 1, [slot.start for slot in stop]] = STOP * math.sqrt(HEAD)
            # The token itself is only a query where it is the last of its tags, which the others before it tell.
            q[HEAD - 1, [slot.start for slot in TAGS]] = -TAG_GAP * STOP * math.sqrt(HEAD)
            q_bias[HEAD - 1] = (float(amplitudes().sum()) - 0.5 * TAG_GAP * STOP) * math.sqrt(HEAD)
            k[HEAD - 1, SLOTS.is_start] = 1.0
        amplitude = amplitudes().repeat(2)
        q[: 2 * FREQUENCIES, SLOTS.position] = math.sqrt(HEAD) * amplitude[:, None] * rotation(-offset)
        k[: 2 * FREQUENCIES, SLOTS.position] = torch.eye(2 * FREQUENCIES)
        return v, out

    @staticmethod
    def _carry(v: Tensor, out: Tensor, start: int, source: slice, target: slice, matrix: Tensor | None = None) -> int:
        """Copies residual dims `source` of the attended token into `target`, through value dims from `start`."""
        width: int = source.stop - source.start
        v[start : start + width, source] = torch.eye(width)
        out[target, start : start + width] += torch.eye(width) if matrix is None else matrix
        return start + width

    def _match(
        self, layer: int, head: int, bits: tuple[int, ...] = MATCH_BITS, weight: float = 1.0
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, int]:
        """A head whose score adds MATCH nats for each window that agrees, times SHARPNESS and `weight`.

        `bits` of each word are compared.
        """
        q, k, q_bias, v, out = self._head(layer, head)
        pairs = (
            (SLOTS.identity, SLOTS.previous),
            (SLOTS.hash_query, SLOTS.hash_key),
            (SLOTS.hash4_query, SLOTS.hash4_key),
            (SLOTS.hash8_query, SLOTS.hash8_key),
            *zip(SLOTS.far_query, SLOTS.far_key, strict=True),
        )
        start = 0
        for window, ((query, key), nats, count) in enumerate(zip(pairs, MATCH, bits, strict=True)):
            for bit in range(count):
                q[start + bit, query.start + bit] = weight * nats / count * NAT
                k[start + bit, key.start + bit] = 1.0
                self._gain(f"match {layer}.{head}.{window}", q, start + bit, query.start + bit)
            start += count
        q_bias[start] = NAT
        return q, k, q_bias, v, out, start

    def _original_bias(self, k: Tensor, row: int) -> None:
        k[row, SLOTS.in_original] = SEGMENT
        k[row, SLOTS.is_edit] = SEGMENT
        k[row, SLOTS.is_file] = -SEGMENT

    def _place(
        self,
        q: Tensor,
        k: Tensor,
        row: int,
        name: str,
        reads: list[tuple[slice, float]],
        keys: slice,
        chosen: tuple[int, ...],
    ) -> None:
        """Adds nats for a key whose place is the expected one: `reads` are slots of the query with their nats."""
        for i, f in enumerate((*chosen, *(f + FREQUENCIES for f in chosen))):
            for slot, nats in reads:
                q[row + 1 + i, slot.start + f] = nats / len(chosen) * NAT
                self._gain(f"{name} {f % FREQUENCIES}", q, row + 1 + i, slot.start + f)
            k[row + 1 + i, keys.start + f] = 1
