"""The embedded model's weights: an exact copy and merge circuit, written into an ordinary OPT model.

Copying is previous-token heads followed by a match ("In-context Learning and Induction Heads", Olsson et al. 2022).
What is written here beyond that, so that the match is exact and long, and the snippet is entered at its place:

- A token's identity is a codeword: 8,192 words of 24 bits, any two of which differ in at least 6 places.
- Tokens are hashed into such words by the exclusive or of their (differently permuted) words, which a ReLU layer
  computes exactly. The match's windows are the last token, tokens 0 to 3, 4 to 7 and 8 to 15 back, and three of
  sixteen tokens in fewer bits: 64 tokens.
- `<keep>` has the zero word, and the exclusive or of an odd number of words is then zero as well: a hash over an
  elision matches nothing. The windows beyond it are made zero, and a count of elisions makes up for all of them in the
  score, so that a snippet's part counts as matched when all of it, from its elision on, is. A text's tags stop the
  windows as an elision does, but for the two nearest: so a text's start is compared with a text's start.
- The norm of the residual stream is a constant pair's but for a thousandth, so that LayerNorm is a fixed scaling and
  the bits of a word stay within a few hundredths of one. Scores are sharp: a close second has no share.
- Positions are sinusoids in the residual stream (the position table is data, not learned), so a matched place is a
  value that can be carried on and compared.
- A snippet's token is a candidate in two cases. Up to the token before it the part only quotes the original, and with
  it no longer: then it is the part's first changed token, and counts where the output stands at the very place that is
  quoted. Or the part had changed before: then its text tells it from the original. As long as a part only quotes, the
  original answers; so a snippet that changes nothing is never entered.

Layers: 0 the last four tokens' hash; 1 hashes 4, 8 and 12 back, and the segment (original, snippet, output); 2 hashes
16, 32 and 48 back; 3 where the text stands in the original, and does it; 4 the place expected from 8, 16 and 64 tokens
ago, and where the token before stood; 5 answers: the original's, over it a part's first change, over both a part that
goes on.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from transformers import OPTForCausalLM

from service.embedded.training.feedforward import clear, exclusive_or, gated, gated_exclusive_or, step
from service.embedded.training.heads import NAT, TAGS, HeadWriter
from service.embedded.training.layout import (
    ANCHOR,
    BARRED,
    BITS,
    COMPLETE,
    EARLY,
    EMBEDDING,
    END_FLAG,
    ENTRY,
    ENTRY_AT_START,
    ENTRY_BITS,
    ENTRY_FREQUENCIES,
    ENTRY_MATCH,
    ENTRY_SLACK,
    ENTRY_VOTE,
    FAR,
    FAR_BITS,
    FREQUENCIES,
    HEAD,
    HIDDEN,
    LAST_BITS,
    LAST_SPREAD,
    LOGIT,
    MATCH,
    NEAR_SHARE,
    ORIGINAL_VOTE,
    POSITIONS,
    PRIOR,
    PRIOR_FREQUENCIES,
    PRIOR_OF_MATCH,
    QUOTE_SLACK,
    SEGMENT,
    SLOTS,
    SNIPPET_SLACK,
    SNIPPET_VOTE,
    SPREAD,
    START_FILL,
    TAG_GAP,
    WILD_UNIT,
    SpecialIds,
    code_words,
    model_config,
    position_codes,
    rotation,
)
from service.embedded.training.tokenizer import VOCABULARY


class CircuitBuilder(HeadWriter):
    """Writes the circuit into an OPT model."""

    def __init__(self, special: SpecialIds, seed: int) -> None:
        torch.manual_seed(seed)
        super().__init__(OPTForCausalLM(model_config(special)))
        self.special = special
        self.generator = torch.Generator().manual_seed(seed)

    def build(self) -> OPTForCausalLM:
        with torch.no_grad():
            self._blank()
            self._embeddings()
            self._layer0()
            self._layer1()
            self._layer2()
            self._layer3()
            self._layer4()
            self._layer5()
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

    def _blank(self) -> None:
        for layer in self.decoder.layers:
            for linear in (layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj, layer.fc1):
                linear.weight.zero_()
                linear.bias.zero_()
            for linear in (layer.self_attn.out_proj, layer.fc2):
                linear.weight.zero_()
                linear.bias.zero_()
        for layer, (before, after) in zip(self.decoder.layers, SPREAD, strict=True):
            layer.self_attn_layer_norm.weight.fill_(before)
            layer.final_layer_norm.weight.fill_(after)
        self.decoder.final_layer_norm.weight.fill_(LAST_SPREAD)

    def _permutation(self) -> Tensor:
        """A signed permutation of the bits, [24, 24]."""
        order = torch.randperm(BITS, generator=self.generator)
        sign = torch.randint(0, 2, (BITS,), generator=self.generator) * 2.0 - 1
        return torch.eye(BITS)[order] * sign[:, None]

    def _embeddings(self) -> None:
        s, words = self.special, code_words()[torch.randperm(VOCABULARY, generator=self.generator)]
        identity, answer = words.clone(), words.clone()
        identity[[s.edit, s.out]] = words[s.file]
        identity[[s.keep, s.end]] = 0
        answer[list(s)] = 0  # a tag answers with the end, by a flag of its own
        flags = torch.zeros(VOCABULARY, EMBEDDING - 2 * BITS)
        flags[s.edit, 0] = flags[s.out, 1] = flags[s.file, 2] = 1
        # Four tags are an elision: what stands before them is another text.
        flags[s.keep, 3] = 1
        flags[[s.file, s.edit, s.out], 3] = TAG_GAP
        flags[s.end, 4] = 1
        flags[s.end, END_FLAG - 2 * BITS] = 1  # read by the output only
        self.decoder.embed_tokens.weight.copy_(torch.cat([identity, answer, flags], dim=1))

        self.permutations = [self._permutation() for _ in range(4)]
        into = torch.zeros(HIDDEN, EMBEDDING)
        into[SLOTS.identity, :BITS] = torch.eye(BITS)
        into[SLOTS.hash_query, :BITS] = self.permutations[0]
        into[SLOTS.answer_word, BITS : 2 * BITS] = torch.eye(BITS)
        for i, slot in enumerate((SLOTS.is_edit, SLOTS.is_out, SLOTS.is_file, SLOTS.is_gap, SLOTS.is_start)):
            into[slot, 2 * BITS + i] = 1
        into[SLOTS.gaps_query[0], 2 * BITS + 3] = 1
        # The start token's hashes are of odd sums, hence zero: as a key it has the score it is given and no other.
        into[SLOTS.hash_query, 2 * BITS + 4] = into[SLOTS.hash_key, 2 * BITS + 4] = 1
        self.decoder.project_in.weight.copy_(into)

        table = torch.zeros(POSITIONS + 2, HIDDEN)
        table[2:, SLOTS.position] = position_codes(POSITIONS)
        table[2] = 0  # the start token has no place: offset heads score it zero
        # The start token is what other keys are measured against: it gets their norm, in a slot read from no key.
        table[2, SLOTS.expected] = START_FILL * (1 - 2.0 * (torch.arange(2 * FREQUENCIES) % 2))
        table[:, SLOTS.anchor] = torch.tensor([ANCHOR, -ANCHOR])
        self.decoder.embed_positions.weight.copy_(table)

        out = torch.zeros(EMBEDDING, HIDDEN)
        out[:BITS, SLOTS.answer][:, :BITS] = LOGIT * torch.eye(BITS)
        out[END_FLAG, SLOTS.answer.stop - 1] = LOGIT * BITS
        self.decoder.project_out.weight.copy_(out)
        self._gain("answer", self.decoder.project_out.weight, slice(None), SLOTS.answer)

    def _layer0(self) -> None:
        p = self.permutations
        for head, offset in enumerate((1, 2, 3, 4)):
            v, out = self._offset_head(0, head, offset)
            self._carry(v, out, 0, SLOTS.identity, SLOTS.hash_key, p[offset - 1])
            if offset < 4:
                out[SLOTS.hash_query, :BITS] += p[offset]
            if offset == 1:
                out[SLOTS.previous, :BITS] += torch.eye(BITS)
            self._carry(v, out, BITS, SLOTS.is_gap, SLOTS.gaps_key[0])
            if offset < 4:
                out[SLOTS.gaps_query[0], BITS] = 1.0
        unit = exclusive_or(self.decoder.layers[0], 0, SLOTS.hash_query, terms=4)
        exclusive_or(self.decoder.layers[0], unit, SLOTS.hash_key, terms=4)

    def _layer1(self) -> None:
        first, second = self._permutation(), self._permutation()
        for head, offset in enumerate((4, 8, 12)):
            v, out = self._offset_head(1, head, offset, stop=(SLOTS.gaps_query[0],))
            query, key, window = (
                (SLOTS.hash4_query, SLOTS.hash4_key, 1) if offset == 4 else (SLOTS.hash8_query, SLOTS.hash8_key, 2)
            )
            matrix = {4: None, 8: first, 12: second}[offset]
            start = self._carry(v, out, 0, SLOTS.hash_query, query, matrix)
            start = self._carry(v, out, start, SLOTS.hash_key, key, matrix)
            start = self._carry(v, out, start, SLOTS.gaps_query[0], SLOTS.gaps_query[window])
            start = self._carry(v, out, start, SLOTS.gaps_key[0], SLOTS.gaps_key[window])
        _, k, q_bias, v, out = self._head(1, 3)
        q_bias[0] = math.sqrt(HEAD)
        k[0, SLOTS.is_file], k[0, SLOTS.is_edit], k[0, SLOTS.is_out] = 20.0, 40.0, 60.0
        start = self._carry(v, out, 0, SLOTS.is_file, SLOTS.in_original)
        start = self._carry(v, out, start, SLOTS.is_edit, SLOTS.in_snippet)
        self._carry(v, out, start, SLOTS.is_out, SLOTS.in_output)
        # A window of eight tokens is there only where no elision and no tag is in it or nearer.
        own = {slot.start: TAG_GAP for slot in TAGS}
        unit = 0
        for word, gaps, odd, besides in (
            (SLOTS.hash8_query, SLOTS.gaps_query, SLOTS.odd_query, own),
            (SLOTS.hash8_key, SLOTS.gaps_key, SLOTS.odd_key, {}),
        ):
            gate = {gap.start: -1 / TAG_GAP for gap in gaps[:3]}
            gate.update({dim: weight / TAG_GAP for dim, weight in besides.items()})
            gate[SLOTS.is_start.start] = -1.0
            unit = gated_exclusive_or(self.decoder.layers[1], unit, word, 2, gate, 1.0)
            # Of the three words that make a far window the nearest is there alone: tags are in it, or an elision is
            # in the next. A one then keeps the sum even, and the window empty.
            inner = {gaps[0].start: 1 / TAG_GAP, **{dim: -weight / TAG_GAP for dim, weight in besides.items()}}
            unit = step(self.decoder.layers[1], unit, odd, inner, 0.0, 1.0)
            unit = step(self.decoder.layers[1], unit, odd, {gaps[0].start: 6.0}, 5.0, -1.0)
            unit = step(self.decoder.layers[1], unit, odd, {gaps[1].start: 6.0}, 5.0, 1.0)

    def _layer2(self) -> None:
        # Sixteen tokens in ten bits: bits of the three windows' words, no bit of a word twice in one far window.
        picks = torch.eye(BITS)[torch.stack([torch.randperm(BITS, generator=self.generator) for _ in range(3)])]
        for head, offset in enumerate(FAR):
            v, out = self._offset_head(2, head, offset, stop=SLOTS.gaps_query[:3])
            start = 0
            queries = (SLOTS.hash_query, SLOTS.hash4_query, SLOTS.hash8_query)
            keys = (SLOTS.hash_key, SLOTS.hash4_key, SLOTS.hash8_key)
            for slots, target, gaps, odd in (
                (queries, SLOTS.far_query, SLOTS.gaps_query, SLOTS.odd_query),
                (keys, SLOTS.far_key, SLOTS.gaps_key, SLOTS.odd_key),
            ):
                for slot, pick in zip(slots, picks, strict=True):
                    v[start : start + FAR_BITS, slot] += pick[:FAR_BITS]
                v[start : start + FAR_BITS, odd] = 1.0
                out[target[head], start : start + FAR_BITS] = torch.eye(FAR_BITS)
                start += FAR_BITS
                v[start, [slot.start for slot in gaps[:3]]] = 1.0
                out[gaps[3 + head], start] = 1.0
                start += 1
        unit = 0
        for slot in (SLOTS.far_query[0], *SLOTS.far_key):
            unit = exclusive_or(self.decoder.layers[2], unit, slot, terms=3)
        for window in (1, 2):
            gate = {gaps.start: -1 / TAG_GAP for gaps in SLOTS.gaps_query[3 : 3 + window]}
            unit = gated_exclusive_or(self.decoder.layers[2], unit, SLOTS.far_query[window], 3, gate, 1.0)
        self._wild(2, unit, "query")

    def _wild(self, layer: int, unit: int, name: str) -> None:
        """What of a complete score the windows of `name`, query or key, cannot give for an elision in them or nearer.

        A tag nearer is the same, and one in them from eight tokens back on.
        """
        gaps, wild = {
            "query": (SLOTS.gaps_query, SLOTS.wild_query),
            "key": (SLOTS.gaps_key, SLOTS.wild_key),
        }[name]
        writer = self.decoder.layers[layer]
        for window, nats in enumerate(MATCH[1:], 1):
            weights = {1: (6.0,), 2: (30.0, 6.0)}.get(window, (10.0,) * window)
            reads = {gap.start: weight for gap, weight in zip(gaps[:window], weights, strict=True)}
            if name == "query" and window > 1:
                reads.update({slot.start: -weights[0] * TAG_GAP for slot in TAGS})
            first = unit
            unit = step(writer, unit, wild, reads, 5.0 if window < 3 else 0.5, nats / WILD_UNIT)
            for i in range(first, unit):
                self._gain(f"wild {name} {window}", writer.fc2.weight, wild, i)

    def _layer3(self) -> None:
        _, k, _, v, out, row = self._match(3, 0)
        self._original_bias(k, row)
        self._carry(v, out, 0, SLOTS.position, SLOTS.place)
        # The same for a snippet's tokens, the earlier of like places first.
        _, k, _, v, out, row = self._match(3, 1)
        self._original_bias(k, row)
        k[row, SLOTS.position.stop - 1] = -EARLY
        self._carry(v, out, 0, SLOTS.position, SLOTS.own_place)
        # Does what the snippet says up to this token, from the elision before it on, stand nowhere in the original?
        # The start token wins then: its score is a complete one, less what elisions make impossible.
        q, k, _, v, out, row = self._match(3, 2)
        self._original_bias(k, row)
        k[row, SLOTS.is_start] = COMPLETE - QUOTE_SLACK
        q[row + 1, SLOTS.in_snippet] = SEGMENT * NAT
        q[row + 1, SLOTS.wild_query] = -WILD_UNIT * NAT
        k[row + 1, SLOTS.is_start] = 1.0
        self._carry(v, out, 0, SLOTS.is_start, SLOTS.changed)
        unit = gated(self.decoder.layers[3], 0, SLOTS.place, {SLOTS.in_output.start: 1.0})
        # A key's windows beyond an elision are empty. Of the original's keys none has one, so this can wait until here.
        for words, gaps in (
            (SLOTS.hash4_key, SLOTS.gaps_key[:1]),
            *((words, SLOTS.gaps_key[3 : 4 + window]) for window, words in enumerate(SLOTS.far_key)),
        ):
            gate = {gap.start: -1 / TAG_GAP for gap in gaps}
            unit = gated(self.decoder.layers[3], unit, words, gate, 1.0)
        self._wild(3, unit, "key")

    def _layer4(self) -> None:
        offsets = (8, 16, 64)
        for head, offset in enumerate(offsets):
            v, out = self._offset_head(4, head, offset)
            self._carry(v, out, 0, SLOTS.place, SLOTS.expected, rotation(offset) / len(offsets))
        v, out = self._offset_head(4, 3, 1)
        start = self._carry(v, out, 0, SLOTS.own_place, SLOTS.entry_place)
        v[start, SLOTS.in_snippet], v[start, SLOTS.changed] = 1.0, -1.0
        out[SLOTS.quoted_before, start] = 1.0
        v[start + 1, SLOTS.in_output] = 1.0
        out[SLOTS.changed, start + 1] = -1.0  # of the four <out> only the first is what a snippet ends with
        # A hunk's first changed token: the text before it is quoted, the text with it is not.
        gate = {SLOTS.quoted_before.start: 1.0, SLOTS.in_snippet.start: -1.0, SLOTS.changed.start: 1.0}
        unit = gated(self.decoder.layers[4], 0, SLOTS.entry_place, gate)
        clear(self.decoder.layers[4], unit, SLOTS.answer, reach=2.0)

    def _layer5(self) -> None:
        q, k, _, v, out, row = self._match(5, 0, LAST_BITS)
        self._original_bias(k, row)
        reads = [(SLOTS.place, PRIOR_OF_MATCH), (SLOTS.expected, PRIOR)]
        self._place(q, k, row, "prior", reads, SLOTS.position, PRIOR_FREQUENCIES)
        self._answer(v, out, SLOTS.is_edit, ORIGINAL_VOTE)
        # The snippet goes on: its text had changed before this token. The first <out> is its end.
        _, k, _, v, out, row = self._match(5, 1)
        k[row, SLOTS.in_snippet] = SEGMENT - BARRED
        k[row, SLOTS.is_edit] = -SEGMENT
        k[row, SLOTS.is_out] = SEGMENT
        k[row, SLOTS.changed] = BARRED
        k[row, SLOTS.quoted_before] = -BARRED
        k[row, SLOTS.wild_key] = WILD_UNIT
        # "No match": its answer is nothing. The start token itself is changed, and not quoted before.
        k[row, SLOTS.is_start] = SEGMENT + COMPLETE - SNIPPET_SLACK - 2 * BARRED
        self._gain("threshold", k, row, SLOTS.is_start)
        self._answer(v, out, SLOTS.is_out, SNIPPET_VOTE)
        self._gain("vote of the snippet", out, SLOTS.answer, slice(0, BITS + 1))
        # The snippet is entered: it changes with this token, and the output stands at the place that it quoted.
        q, k, _, v, out, row = self._match(5, 2, ENTRY_BITS, ENTRY_MATCH)
        k[row, SLOTS.in_snippet] = SEGMENT - 2 * BARRED
        k[row, SLOTS.changed] = k[row, SLOTS.quoted_before] = BARRED
        k[row, SLOTS.is_edit] = -SEGMENT
        k[row, SLOTS.is_out] = SEGMENT - BARRED
        k[row, SLOTS.wild_key] = ENTRY_MATCH * WILD_UNIT
        k[row, SLOTS.is_start] = SEGMENT + ENTRY_MATCH * COMPLETE + ENTRY - ENTRY_SLACK
        self._gain("entry's threshold", k, row, SLOTS.is_start)
        reads = [(SLOTS.place, ENTRY * NEAR_SHARE), (SLOTS.expected, ENTRY * (1 - NEAR_SHARE))]
        self._place(q, k, row, "entry", reads, SLOTS.entry_place, ENTRY_FREQUENCIES)
        q[HEAD - 1, SLOTS.wild_query] = -ENTRY_AT_START * WILD_UNIT * NAT
        k[HEAD - 1, SLOTS.is_start] = 1.0
        self._answer(v, out, SLOTS.is_out, ENTRY_VOTE)
        self._gain("vote of the entry", out, SLOTS.answer, slice(0, BITS + 1))

    def _answer(self, v: Tensor, out: Tensor, end: slice, vote: float) -> None:
        """The attended token's word, or the end where `end` is set, as the answer."""
        flag = SLOTS.answer.stop - 1
        start = self._carry(v, out, 0, SLOTS.answer_word, slice(SLOTS.answer.start, flag), vote * torch.eye(BITS))
        self._carry(v, out, start, end, slice(flag, flag + 1), vote * torch.eye(1))
