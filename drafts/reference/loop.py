"""The speculative loop: draft, one target pass, verify, cut the cache back. k = 0 is plain decoding."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from drafts.reference.penalties import NO_PENALTIES, Penalizer, Penalties
from drafts.reference.stops import Stopper, StopReason
from drafts.reference.types import EMPTY, Engine, Proposal, ReferenceDrafter, Uniform, seeded_uniform, token_tensor
from drafts.reference.verify import Verdict, Verifier


@dataclass(frozen=True, slots=True)
class Params:
    """One request's decoding.

    max_tokens: output tokens, the bonus token included. k: draft tokens of a pass at most; 0 is plain decoding.
    temperature: 0 is greedy. seed: of the uniforms; without effect on greedy decoding. Raises ValueError out of range.
    """

    max_tokens: int
    k: int = 4
    temperature: float = 0.0
    penalties: Penalties = NO_PENALTIES
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if self.k < 0:
            raise ValueError(f"k must be at least 0, not {self.k}; 0 is plain decoding")
        if self.temperature < 0:
            raise ValueError(f"the temperature must be at least 0, not {self.temperature}; 0 is greedy")


@dataclass(slots=True)
class Statistics:
    """Counts of one request; draft_lengths: the draft tokens of each target pass, in order."""

    drafted: int = 0
    accepted: int = 0
    target_passes: int = 0
    draft_lengths: list[int] = field(default_factory=list)

    @property
    def acceptance_rate(self) -> float:
        """Accepted per drafted token; 0 when nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else 0.0


@dataclass(frozen=True, slots=True)
class Round:
    """What an observer sees after each round. committed: prompt and output so far."""

    committed: list[int]
    draft: list[int]
    verdict: Verdict
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class Output:
    """tokens: int32 [n]. logprobs: the target's own, natural logarithms of the model's distribution before
    temperature and penalties, one per token. text: cut at a stop string; None without a decoder."""

    tokens: Tensor
    logprobs: list[float]
    text: str | None
    reason: StopReason
    statistics: Statistics


class SpeculativeLoop:
    """Decodes one request after another on one engine. Leviathan et al. 2023, Chen et al. 2023.

    drafter: None proposes nothing. on_round: called after each round, when caches are cut back.
    """

    def __init__(
        self,
        engine: Engine,
        drafter: ReferenceDrafter | None,
        params: Params,
        *,
        stopper: Stopper | None = None,
        verifier: Verifier | None = None,
        penalizer: Penalizer | None = None,
        on_round: Callable[[Round], None] | None = None,
    ) -> None:
        self.engine = engine
        self.drafter = drafter
        self.params = params
        self.stopper = stopper or Stopper()
        self.verifier = verifier or Verifier()
        self.penalizer = penalizer or Penalizer()
        self.on_round = on_round

    def run(self, prompt: Sequence[int]) -> Output:
        """Decodes after `prompt`. Raises ValueError when it is empty, holds ids outside of the vocabulary or leaves
        no room in the model, and when the drafter proposes more than it was allowed."""
        steps = self.steps(prompt)
        step = next(steps)
        while True:
            try:
                step = steps.send(self.engine.forward(*step))
            except StopIteration as end:
                output: Output = end.value
                return output

    def steps(self, prompt: Sequence[int]) -> Generator[tuple[Tensor, int], Tensor, Output]:
        """`run` without the passes: yields what to feed (int32 [n]) and how many rows it needs, takes the logits."""
        engine, stopper = self.engine, self.stopper
        self.check_prompt(prompt)
        engine.rewind(engine.offset)
        uniform = seeded_uniform(self.params.seed)
        room = min(self.params.max_tokens, engine.max_positions - len(prompt))
        output: list[int] = []
        logprobs: list[float] = []
        statistics = Statistics()
        reason: StopReason | None = None
        if self.drafter is not None:
            self.drafter.start(prompt)
        while reason is None:
            proposal = self.propose(self.limit(room - len(output)))
            committed = [*prompt, *output]
            pending = self.pending(committed, engine.offset)
            fed = torch.cat([token_tensor(pending), proposal.tokens])
            logits = yield fed, len(proposal) + 1
            verdict = self.judge(logits, proposal, prompt, output, uniform)
            admitted = stopper.admit(output, verdict.emitted(proposal.tokens))
            own = torch.log_softmax(logits.double(), dim=1)
            logprobs += [float(own[i, token]) for i, token in enumerate(admitted.tokens)]
            output += admitted.tokens
            committed += admitted.tokens
            engine.rewind(self.surplus(engine.offset, committed))
            statistics.drafted += len(proposal)
            statistics.accepted += verdict.accepted
            statistics.target_passes += 1
            statistics.draft_lengths.append(len(proposal))
            reason = admitted.reason or ("length" if len(output) >= room else None)
            if self.drafter is not None:
                self.drafter.observe(admitted.tokens)
            if self.on_round is not None:
                self.on_round(Round(committed, proposal.tokens.tolist(), verdict, statistics))
        if self.drafter is not None:
            self.drafter.finish()
        return Output(token_tensor(output), logprobs, stopper.text(output), reason, statistics)

    def check_prompt(self, prompt: Sequence[int]) -> None:
        if not prompt:
            raise ValueError("the prompt is empty: give at least one token")
        if len(prompt) >= self.engine.max_positions:
            raise ValueError(
                f"a prompt of {len(prompt)} tokens leaves no room in a model of {self.engine.max_positions} positions"
            )
        if not all(0 <= token < self.engine.vocab_size for token in prompt):
            raise ValueError(f"a prompt token lies outside of the vocabulary of {self.engine.vocab_size}")

    def limit(self, remaining: int) -> int:
        """Draft tokens allowed when `remaining` tokens may still come out: the target's own token is one of them."""
        return min(self.params.k, remaining - 1)

    def propose(self, limit: int) -> Proposal:
        if self.drafter is None or limit == 0:
            return EMPTY
        proposal = self.drafter.propose(limit)
        if len(proposal) > limit:
            raise ValueError(f"the drafter proposed {len(proposal)} tokens where {limit} were allowed")
        return proposal

    def pending(self, committed: list[int], offset: int) -> list[int]:
        """The committed tokens that the target has not seen: the prompt at first, then the last round's own token."""
        return committed[offset:]

    def surplus(self, offset: int, committed: list[int]) -> int:
        """Positions to remove after a round. The last committed token stays out: it leads the next round."""
        return offset - (len(committed) - 1)

    def judge(
        self, logits: Tensor, proposal: Proposal, prompt: Sequence[int], output: Sequence[int], uniform: Uniform
    ) -> Verdict:
        """Verifies `proposal` against logits [m + 1, V]."""
        params = self.params
        rows = self.penalizer.rows(logits, params.penalties, prompt, output, proposal.tokens.tolist())
        if params.temperature == 0:
            return self.verifier.greedy(rows, proposal.tokens)
        p = torch.softmax(rows.double() / params.temperature, dim=1)
        return self.verifier.sampled(p, proposal.tokens, proposal.probabilities, uniform)
