"""A small model that drafts for a large one, its cache kept in step with a context that changes under it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from drafts.reference.tokenizers import Tokenizer, check_pair
from drafts.reference.types import EMPTY, Engine, Proposal, Uniform, draw, token_tensor
from drafts.reference.verify import greedy_token

DEFAULT_LENGTH = 4


class DraftModel:
    """Drafts on `engine`, at most `length` tokens at a time; 0: target only, and the engine never runs.

    eos: ids after which a draft ends; the draft holds the id. uniform: draws each token from the model's distribution
    at `temperature`, and the proposal carries the distributions [m, V]; None drafts greedily. Costs one pass of the
    draft engine per draft token, and one more after a full acceptance. Raises ValueError when length < 0 or the
    temperature is not above 0. Leviathan et al. 2023, Chen et al. 2023.
    """

    def __init__(
        self,
        engine: Engine,
        length: int = DEFAULT_LENGTH,
        *,
        eos: Collection[int] = (),
        uniform: Uniform | None = None,
        temperature: float = 1.0,
    ) -> None:
        if length < 0:
            raise ValueError(f"the draft length must be at least 0, not {length}; 0 means target only")
        if not temperature > 0:
            raise ValueError("the draft's temperature must be above 0; leave out `uniform` to draft greedily")
        self.engine = engine
        self.length = length
        self.eos = frozenset(eos)
        self.uniform = uniform
        self.temperature = temperature
        self.context: list[int] = []
        self._fed: list[int] = []

    @classmethod
    def paired(
        cls,
        engine: Engine,
        target_tokenizer: Tokenizer,
        draft_tokenizer: Tokenizer,
        length: int = DEFAULT_LENGTH,
        *,
        uniform: Uniform | None = None,
    ) -> DraftModel:
        """A draft model whose tokenizer was compared with the target's. Raises TokenizerMismatchError; runs neither."""
        check_pair(target_tokenizer, draft_tokenizer)
        eos = draft_tokenizer.eos_token_id
        return cls(engine, length, eos=() if eos is None else (eos,), uniform=uniform)

    def start(self, prompt: Sequence[int]) -> None:
        self.context = list(prompt)
        self._fed = []
        self.engine.rewind(self.engine.offset)

    def observe(self, tokens: Sequence[int]) -> None:
        """Takes the target's tokens and brings the cache to all of the context but its last token."""
        self.context.extend(tokens)
        if self.length:
            self._synchronize(len(self.context) - 1)

    def finish(self) -> None:
        self.start([])

    def propose(self, limit: int) -> Proposal:
        wanted = min(limit, self.length)
        if wanted <= 0:
            return EMPTY
        self._synchronize(len(self.context) - 1)
        chain: list[int] = []
        rows: list[Tensor] = []
        row = self._feed(self.context[-1:])
        while True:
            q = torch.softmax(row.double() / self.temperature, dim=0)
            chain.append(greedy_token(row) if self.uniform is None else draw(q, self.uniform()))
            rows.append(q)
            if len(chain) == wanted or chain[-1] in self.eos:
                return Proposal(token_tensor(chain), None if self.uniform is None else torch.stack(rows))
            row = self._feed(chain[-1:])

    def _synchronize(self, end: int) -> None:
        """Makes the cache hold context[:end]: what differs is removed, what is missing is fed."""
        common = 0
        while common < min(len(self._fed), end) and self._fed[common] == self.context[common]:
            common += 1
        self.truncate(common)
        missing = self.missing(common, end)
        if missing:
            self._feed(missing)

    def truncate(self, length: int) -> None:
        """Removes the cached positions from `length` on."""
        self.engine.rewind(len(self._fed) - length)
        del self._fed[length:]

    def missing(self, start: int, end: int) -> list[int]:
        """The tokens to feed so that the cache reaches `end`."""
        return self.context[start:end]

    def _feed(self, tokens: list[int]) -> Tensor:
        row = self.engine.forward(token_tensor(tokens), 1)[0]
        self._fed.extend(tokens)
        return row
