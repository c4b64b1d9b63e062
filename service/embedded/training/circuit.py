"""Initial weights of the embedded model: an exact copy circuit, written into an ordinary OPT model.

Copying is previous-token heads followed by a match ("In-context Learning and Induction Heads", Olsson et al. 2022).
What is written here beyond that, so that the match is exact and long:

- A token's identity is a codeword of the extended binary Golay code: 4,096 words of 24 bits, any two of which differ
  in at least 8 places.
- Four tokens are hashed into one word by the exclusive or of their (differently permuted) words, which a ReLU layer
  computes exactly; one other token changes at least 8 of the 24 bits. Hashes of 4 + 4 + 8 tokens and the last token
  itself are the match's key: 16 tokens in 96 dimensions.
- `<keep>` has the zero word. The exclusive or of an odd number of words is then zero as well: a hash over an elision
  matches nothing and disturbs nothing, and a count of elisions makes up for it in the score.
- Positions are sinusoids in the residual stream (the position table is data, not learned), so a matched place is a
  value that can be carried on: "where was copied from 6, 16, 32 and 64 tokens ago, moved on by as much" is a prior
  of where to copy from now, and tells repeated passages apart.

Layers: 0 the last four tokens and their hash; 1 hashes 4, 8 and 12 back, and the segment (original, snippet, output);
2 first match in the original and in the snippet; 3 expected place; 4 match again with that prior, answer.
Everything not named is small and random, and training uses it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from transformers import OPTForCausalLM

from service.embedded.training.gains import Gain
from service.embedded.training.layout import (
    AGREEMENT,
    AGREEMENT_SHARE,
    AGREES,
    ANCHOR,
    BITS,
    CANDIDATE_VOTE,
    CHAIN,
    CHAIN_SLACK,
    EMBEDDING,
    FREQUENCIES,
    HEAD,
    HIDDEN,
    MATCH,
    ORIGINAL_VOTE,
    POSITIONS,
    PRIOR,
    PRIOR_FREQUENCIES,
    SEGMENT,
    SLOTS,
    SNIPPET_VOTE,
    SPREAD,
    THRESHOLD,
    WILD,
    WILD_FAR,
    SpecialIds,
    amplitudes,
    golay_words,
    model_config,
    position_codes,
    rotation,
)
from service.embedded.training.tokenizer import VOCABULARY


class CircuitBuilder:
    """Writes the circuit into a freshly initialised OPT model."""

    def __init__(self, special: SpecialIds, seed: int) -> None:
        torch.manual_seed(seed)
        self.special = special
        self.generator = torch.Generator().manual_seed(seed)
        self.model = OPTForCausalLM(model_config(special))
        self.decoder = self.model.model.decoder
        self.gains: list[Gain] = []

    def _gain(self, name: str, weight: Tensor, *index: int | slice | list[int]) -> None:
        """Declares weight[index], a part of a parameter or of a view of one, to be scaled as one by training."""
        self.gains.append(Gain.of(self.model, name, weight, *index))

    def build(self) -> OPTForCausalLM:
        with torch.no_grad():
            self._small_random()
            self._embeddings()
            self._layer0()
            self._layer1()
            self._layer2()
            self._layer3()
            self._layer4()
            self._balance()
        return self.model

    def _balance(self) -> None:
        """Makes every write into the residual stream sum to zero over its dimensions."""
        table = self.decoder.embed_positions.weight
        writers = [self.decoder.project_in.weight, table.T]
        for layer in self.decoder.layers:
            for linear in (layer.self_attn.out_proj, layer.fc2):
                writers += [linear.weight, linear.bias[:, None]]
        for writer in writers:
            writer[SLOTS.ballast] = 0
            writer[SLOTS.ballast] = -writer.sum(dim=0) / (SLOTS.ballast.stop - SLOTS.ballast.start)

    def _small_random(self) -> None:
        for layer in self.decoder.layers:
            for linear in (layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj, layer.fc1):
                linear.weight.normal_(0, 0.02)
                linear.weight[:, SLOTS.anchor] = 0
                linear.bias.zero_()
            for linear in (layer.self_attn.out_proj, layer.fc2):
                linear.weight.zero_()
                linear.bias.zero_()
        for layer, before, after in zip(self.decoder.layers, SPREAD, SPREAD[1:], strict=False):
            layer.self_attn_layer_norm.weight.fill_(before)
            layer.final_layer_norm.weight.fill_(after)
        self.decoder.final_layer_norm.weight.fill_(SPREAD[-1])

    def _permutation(self) -> Tensor:
        """A signed permutation of the bits, [24, 24]."""
        order = torch.randperm(BITS, generator=self.generator)
        sign = torch.randint(0, 2, (BITS,), generator=self.generator) * 2.0 - 1
        return torch.eye(BITS)[order] * sign[:, None]

    def _embeddings(self) -> None:
        s, words = self.special, golay_words()[torch.randperm(VOCABULARY, generator=self.generator)]
        identity, answer = words.clone(), words.clone()
        identity[[s.edit, s.out]] = words[s.file]
        identity[[s.keep, s.end]] = 0
        answer[[s.edit, s.out]] = words[s.end]
        answer[[s.keep, s.file, s.end]] = 0
        flags = torch.zeros(VOCABULARY, EMBEDDING - 2 * BITS).normal_(0, 0.05, generator=self.generator)
        flags[:, :5] = 0
        flags[s.edit, 0] = flags[s.out, 1] = flags[s.file, 2] = 1
        flags[[s.keep, s.edit], 3] = 1
        flags[s.end, 4] = 1
        self.decoder.embed_tokens.weight.copy_(torch.cat([identity, answer, flags], dim=1))

        self.permutations = [self._permutation() for _ in range(4)]
        into = torch.zeros(HIDDEN, EMBEDDING)
        into[SLOTS.identity, :BITS] = torch.eye(BITS)
        into[SLOTS.hash_query, :BITS] = self.permutations[0]
        into[SLOTS.answer_word, BITS : 2 * BITS] = torch.eye(BITS)
        for i, slot in enumerate((SLOTS.is_edit, SLOTS.is_out, SLOTS.is_file, SLOTS.is_gap, SLOTS.is_start)):
            into[slot, 2 * BITS + i] = 1
        # The start token's hashes are of odd sums, hence zero: as a key it has the score it is given and no other.
        for slot in (SLOTS.hash_query, SLOTS.hash_key, SLOTS.hash8_query, SLOTS.hash8_key):
            into[slot, 2 * BITS + 4] = 1
        free = slice(SLOTS.ballast.stop, HIDDEN)
        into[free, 2 * BITS + 5 :].normal_(0, 0.5, generator=self.generator)
        self.decoder.project_in.weight.copy_(into)

        table = torch.zeros(POSITIONS + 2, HIDDEN)
        table[2:, SLOTS.position] = position_codes(POSITIONS)
        table[2] = 0  # the start token has no place: offset heads score it zero
        table[:, SLOTS.anchor] = torch.tensor([ANCHOR, -ANCHOR])
        self.decoder.embed_positions.weight.copy_(table)

        out = torch.zeros(EMBEDDING, HIDDEN).normal_(0, 0.01, generator=self.generator)
        out[:, SLOTS.anchor] = 0
        out[:BITS] = 0
        out[:BITS, SLOTS.answer] = torch.eye(BITS)
        out[:BITS, SLOTS.candidate] = torch.eye(BITS) * CANDIDATE_VOTE
        self.decoder.project_out.weight.copy_(out)
        self._gain("answer", self.decoder.project_out.weight, slice(0, BITS), SLOTS.answer)
        self._gain("vote of the first match", self.decoder.project_out.weight, slice(0, BITS), SLOTS.candidate)
        head = torch.zeros(VOCABULARY, EMBEDDING)
        head[:, :BITS] = words * 0.4
        head[[s.file, s.edit, s.out, s.keep]] = 0
        head[:, BITS:].normal_(0, 0.02, generator=self.generator)
        self.model.lm_head.weight.copy_(head)

    def _head(self, layer: int, head: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Views of (q weight, k weight, q bias, v weight, out weight) of one head, cleared.

        q and k weights are [128, 512], out is [512, 128]. Attention divides scores by sqrt(128).
        """
        attention = self.decoder.layers[layer].self_attn
        rows = slice(head * HEAD, (head + 1) * HEAD)
        attention.q_proj.weight[rows].mul_(0.1)
        attention.k_proj.weight[rows].mul_(0.1)
        attention.v_proj.weight[rows] = 0
        attention.out_proj.weight[:, rows] = 0
        return (
            attention.q_proj.weight[rows],
            attention.k_proj.weight[rows],
            attention.q_proj.bias[rows],
            attention.v_proj.weight[rows],
            attention.out_proj.weight[:, rows],
        )

    def _offset_head(self, layer: int, head: int, offset: int) -> tuple[Tensor, Tensor]:
        """A head that attends to the token `offset` back. Returns (v weight, out weight)."""
        q, k, _, v, out = self._head(layer, head)
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

    def _layer0(self) -> None:
        p = self.permutations
        for head, offset in enumerate((1, 2, 3, 4)):
            v, out = self._offset_head(0, head, offset)
            self._carry(v, out, 0, SLOTS.identity, SLOTS.hash_key, p[offset - 1])
            if offset < 4:
                out[SLOTS.hash_query, :BITS] += p[offset]
            if offset == 1:
                out[SLOTS.previous, :BITS] += torch.eye(BITS)
            self._carry(v, out, BITS, SLOTS.is_gap, SLOTS.gaps_key)
        unit = self._exclusive_or(0, 0, SLOTS.hash_query, terms=4)
        self._exclusive_or(0, unit, SLOTS.hash_key, terms=4)

    def _exclusive_or(self, layer: int, unit: int, slot: slice, terms: int) -> int:
        """Replaces sums of `terms` +-1 bits by their exclusive or (1 for sums of -terms, -terms + 4, ...), in place.

        A trapezoid wave, flat around the sums that occur, so that small errors vanish; zero at the sums between.
        """
        fc1, fc2 = self.decoder.layers[layer].fc1, self.decoder.layers[layer].fc2
        knots = [(-terms - 1.0, -1.0)]  # takes the sum itself away
        for step in range(terms):
            slope = -2.0 if step % 2 == 0 else 2.0
            start = -terms + 2 * step
            knots += [(start + 0.5, slope), (start + 1.5, -slope)]
        for dim in range(slot.start, slot.stop):
            for knot, slope in knots:
                self._unit(fc1, fc2, unit, {dim: 1.0}, -knot)
                fc2.weight[dim, unit] = slope
                unit += 1
            fc2.bias[dim] = 1.0 + terms + 1.0
        return unit

    @staticmethod
    def _unit(fc1: torch.nn.Linear, fc2: torch.nn.Linear, unit: int, reads: dict[int, float], bias: float) -> None:
        fc1.weight[unit] = 0
        for dim, weight in reads.items():
            fc1.weight[unit, dim] = weight
        fc1.bias[unit] = bias
        fc2.weight[:, unit] = 0

    def _layer1(self) -> None:
        first, second = self._permutation(), self._permutation()
        for head, offset in enumerate((4, 8, 12)):
            v, out = self._offset_head(1, head, offset)
            query, key, gap = (
                (SLOTS.hash4_query, SLOTS.hash4_key, SLOTS.gaps4_key)
                if offset == 4
                else (SLOTS.hash8_query, SLOTS.hash8_key, SLOTS.gaps8_key)
            )
            matrix = {4: None, 8: first, 12: second}[offset]
            start = self._carry(v, out, 0, SLOTS.hash_query, query, matrix)
            start = self._carry(v, out, start, SLOTS.hash_key, key, matrix)
            self._carry(v, out, start, SLOTS.gaps_key, gap)
        _, k, q_bias, v, out = self._head(1, 3)
        q_bias[0] = math.sqrt(HEAD)
        k[0, SLOTS.is_file], k[0, SLOTS.is_edit], k[0, SLOTS.is_out] = 20.0, 40.0, 60.0
        start = self._carry(v, out, 0, SLOTS.is_file, SLOTS.in_original)
        start = self._carry(v, out, start, SLOTS.is_edit, SLOTS.in_snippet)
        self._carry(v, out, start, SLOTS.is_out, SLOTS.in_output)

        unit = self._exclusive_or(1, 0, SLOTS.hash8_query, terms=2)
        unit = self._exclusive_or(1, unit, SLOTS.hash8_key, terms=2)
        # wild: how much of a complete score the key's windows cannot give, because an elision lies in them or nearer.
        fc1, fc2 = self.decoder.layers[1].fc1, self.decoder.layers[1].fc2
        gaps = [SLOTS.gaps_key.start, SLOTS.gaps4_key.start, SLOTS.gaps8_key.start]
        for window, share in zip((1, 2, 3), WILD, strict=True):
            for bias, slope in ((0.0, share), (-1.0, -share)):
                self._unit(fc1, fc2, unit, dict.fromkeys(gaps[:window], 1.0), bias)
                fc2.weight[SLOTS.wild, unit] = slope
                self._gain(f"wild {window}", fc2.weight, SLOTS.wild, unit)
                unit += 1

    def _match(self, layer: int, head: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, int]:
        """A head whose score adds MATCH nats for each of (last token, 4, 4, 8 tokens) that agree."""
        q, k, q_bias, v, out = self._head(layer, head)
        pairs = (
            (SLOTS.identity, SLOTS.previous),
            (SLOTS.hash_query, SLOTS.hash_key),
            (SLOTS.hash4_query, SLOTS.hash4_key),
            (SLOTS.hash8_query, SLOTS.hash8_key),
        )
        start = 0
        for (query, key), nats in zip(pairs, MATCH, strict=True):
            q[start : start + BITS, query] = torch.eye(BITS) * (nats / BITS) * math.sqrt(HEAD)
            k[start : start + BITS, key] = torch.eye(BITS)
            self._gain(f"match {layer}.{head}.{start // BITS}", q, slice(start, start + BITS), query)
            start += BITS
        q_bias[start] = math.sqrt(HEAD)
        return q, k, q_bias, v, out, start

    def _original_bias(self, k: Tensor, row: int) -> None:
        k[row, SLOTS.in_original] = SEGMENT
        k[row, SLOTS.is_edit] = SEGMENT

    def _snippet_bias(self, layer: int, k: Tensor, row: int) -> None:
        k[row, SLOTS.in_snippet] = SEGMENT
        k[row, SLOTS.is_edit] = -SEGMENT
        k[row, SLOTS.is_out] = SEGMENT
        k[row, SLOTS.wild] = 1.0
        k[row, SLOTS.is_start] = SEGMENT + THRESHOLD  # "no match": its answer is nothing
        self._gain(f"threshold {layer}", k, row, SLOTS.is_start)

    def _layer2(self) -> None:
        _, k, _, v, out, row = self._match(2, 0)
        self._original_bias(k, row)
        start = self._carry(v, out, 0, SLOTS.answer_word, SLOTS.candidate)
        self._carry(v, out, start, SLOTS.position, SLOTS.place)
        _, k, _, v, out, row = self._match(2, 1)
        self._snippet_bias(2, k, row)
        start = self._carry(v, out, 0, SLOTS.answer_word, SLOTS.snippet_candidate)
        self._carry(v, out, start, SLOTS.position, SLOTS.snippet_place)
        # A place counts in the output only: place * g = relu(place + 2g - 1) - g for g in {0, 1}, place in [-1, 1].
        fc1, fc2 = self.decoder.layers[2].fc1, self.decoder.layers[2].fc2
        gate, unit = SLOTS.in_output.start, 0
        for dim in range(SLOTS.place.start, SLOTS.place.stop):
            self._unit(fc1, fc2, unit, {dim: 1.0, gate: 2.0}, -1.0)
            self._unit(fc1, fc2, unit + 1, {dim: 1.0}, 1.0)
            self._unit(fc1, fc2, unit + 2, {gate: 1.0}, 0.0)
            fc2.weight[dim, unit : unit + 3] = torch.tensor([1.0, -1.0, -1.0])
            fc2.bias[dim] = 1.0
            unit += 3

    def _layer3(self) -> None:
        offsets = (8, 16, 64)
        gaps = (SLOTS.gaps_key.start, SLOTS.gaps4_key.start, SLOTS.gaps8_key.start)
        for head, offset in enumerate(offsets):
            v, out = self._offset_head(3, head, offset)
            start = self._carry(v, out, 0, SLOTS.place, SLOTS.expected, rotation(offset) / len(offsets))
            if offset == 16:
                start = self._carry(v, out, start, SLOTS.snippet_place, SLOTS.snippet_expected, rotation(offset))
                v[start, gaps] = 1.0
                out[SLOTS.gaps16_key, start] = 1.0
        fc1, fc2 = self.decoder.layers[3].fc1, self.decoder.layers[3].fc2
        for unit, (bias, slope) in enumerate(((0.0, WILD_FAR), (-1.0, -WILD_FAR))):
            self._unit(fc1, fc2, unit, dict.fromkeys((*gaps, SLOTS.gaps16_key.start), 1.0), bias)
            fc2.weight[SLOTS.wild_far, unit] = slope
            self._gain("wild far", fc2.weight, SLOTS.wild_far, unit)
        # Is this token what the original's match said one token ago? Then a snippet only quotes here.
        # The score is the offset head's plus AGREEMENT for equal words (a third of it at most for unequal ones),
        # against the start token, which stands between the two.
        v, out = self._offset_head(3, 3, 1)
        attention, rows, row = self.decoder.layers[3].self_attn, 3 * HEAD, 3 * HEAD + 2 * FREQUENCIES
        attention.q_proj.weight[row : row + BITS, SLOTS.answer_word] = (
            torch.eye(BITS) * (AGREEMENT / BITS) * math.sqrt(HEAD)
        )
        attention.k_proj.weight[row : row + BITS, SLOTS.candidate] = torch.eye(BITS)
        attention.q_proj.bias[row + BITS] = math.sqrt(HEAD)
        attention.k_proj.weight[row + BITS, SLOTS.is_start] = float(amplitudes().sum()) + AGREEMENT_SHARE * AGREEMENT
        attention.v_proj.bias[rows] = 1.0
        v[0, SLOTS.is_start] = -1.0
        out[SLOTS.agrees, 0] = 1.0

    def _layer4(self) -> None:
        q, k, _, v, out, row = self._match(4, 0)
        self._original_bias(k, row)
        chosen = torch.linspace(0, FREQUENCIES - 1, PRIOR_FREQUENCIES).round().long()
        for i, f in enumerate(torch.cat([chosen, chosen + FREQUENCIES]).tolist()):
            q[row + 1 + i, SLOTS.expected.start + f] = PRIOR / PRIOR_FREQUENCIES * math.sqrt(HEAD)
            k[row + 1 + i, SLOTS.position.start + f] = 1
            self._gain(f"prior {f % FREQUENCIES}", q, row + 1 + i, SLOTS.expected.start + f)
        self._carry(v, out, 0, SLOTS.answer_word, SLOTS.answer, torch.eye(BITS) * ORIGINAL_VOTE)
        q, k, _, v, out, row = self._match(4, 1)
        self._snippet_bias(4, k, row)
        k[row, SLOTS.agrees] = -AGREES
        self._gain("agrees", k, row, SLOTS.agrees)
        k[row, SLOTS.wild_far] = 1.0
        k[row, SLOTS.is_start] += CHAIN - CHAIN_SLACK
        fast = 10
        for i, f in enumerate([*range(fast), *range(FREQUENCIES, FREQUENCIES + fast)]):
            q[row + 1 + i, SLOTS.snippet_expected.start + f] = CHAIN / fast * math.sqrt(HEAD)
            k[row + 1 + i, SLOTS.position.start + f] = 1
            self._gain(f"chain {f % FREQUENCIES}", q, row + 1 + i, SLOTS.snippet_expected.start + f)
        self._carry(v, out, 0, SLOTS.answer_word, SLOTS.answer, torch.eye(BITS) * SNIPPET_VOTE)
        self._gain("vote of the snippet", out, SLOTS.answer, slice(0, BITS))
