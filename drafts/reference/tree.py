"""A tree of candidates verified in one pass. Miao et al. 2024, "SpecInfer"; the mask: Cai et al. 2024, "Medusa"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from drafts.reference.loop import Output, Params, SpeculativeLoop, Statistics
from drafts.reference.stops import Stopper
from drafts.reference.types import Engine, Uniform, check_tokens, draw, seeded_uniform, token_tensor
from drafts.reference.verify import check_distributions, greedy_token

ROOT = -1


@dataclass(frozen=True, slots=True)
class Tree:
    """Candidates after the committed tokens: tokens int32 [N]; parents[i] < i, or ROOT.

    Raises ValueError when a parent does not come before its child, or siblings have the same token.
    """

    tokens: Tensor
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        check_tokens(self.tokens)
        if len(self.parents) != len(self.tokens):
            raise ValueError(f"{len(self.tokens)} tokens need as many parents, not {len(self.parents)}")
        if any(not ROOT <= parent < i for i, parent in enumerate(self.parents)):
            raise ValueError("a parent comes before its child")
        if len(set(zip(self.parents, self.tokens.tolist(), strict=True))) != len(self.parents):
            raise ValueError("siblings have different tokens")

    @classmethod
    def of(cls, chains: Sequence[Sequence[int]]) -> Tree:
        """The trie of several drafts; earlier drafts' branches are tried first."""
        nodes: dict[tuple[int, int], int] = {}
        for chain in chains:
            parent = ROOT
            for token in chain:
                parent = nodes.setdefault((parent, token), len(nodes))
        return cls(token_tensor([token for _, token in nodes]), tuple(parent for parent, _ in nodes))

    def children(self, node: int) -> list[int]:
        """The nodes under `node` (or ROOT), in order."""
        return [i for i, parent in enumerate(self.parents) if parent == node]

    def depths(self) -> list[int]:
        """Each node's distance from the root, from 1."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(1 if parent == ROOT else depths[parent] + 1)
        return depths

    def mask(self) -> Tensor:
        """bool [N, N]: whether node i sees node j: itself and its ancestors."""
        mask = torch.eye(len(self.parents), dtype=torch.bool)
        for i, parent in enumerate(self.parents):
            if parent != ROOT:
                mask[i] |= mask[parent]
        return mask

    def cut(self, depth: int) -> Tree:
        """The nodes down to `depth`."""
        kept = [i for i, d in enumerate(self.depths()) if d <= depth]
        place = {ROOT: ROOT, **{node: i for i, node in enumerate(kept)}}
        return Tree(self.tokens[torch.tensor(kept, dtype=torch.int64)], tuple(place[self.parents[i]] for i in kept))


@dataclass(frozen=True, slots=True)
class TreeVerdict:
    """The accepted path from the root down (node indices), and the target's own token after it."""

    path: list[int]
    token: int

    def emitted(self, tree: Tree) -> list[int]:
        return [*(int(tree.tokens[i]) for i in self.path), self.token]


class TreeEngine(Engine, Protocol):
    """An engine that scores a tree and keeps one path of it."""

    def forward_tree(self, pending: Tensor, tree: Tree) -> Tensor:
        """Feeds int32 `pending` [n], n >= 1, then the tree's N nodes, each seeing its ancestors only.

        Logits [N + 1, V]: after the last pending token, then after each node.
        """
        ...

    def keep(self, start: int, kept: Sequence[int]) -> None:
        """Of the cached positions from `start` on, keeps start + kept[i] in order."""
        ...


def verify_greedy(rows: Tensor, tree: Tree) -> TreeVerdict:
    """rows: logits [N + 1, V]; row 0 is the root's, row i + 1 node i's. Follows the argmax while a child has it."""
    _check(rows, tree)
    path: list[int] = []
    node = ROOT
    while True:
        token = greedy_token(rows[node + 1])
        child = next((i for i in tree.children(node) if int(tree.tokens[i]) == token), None)
        if child is None:
            return TreeVerdict(path, token)
        path.append(child)
        node = child


def verify_sampled(p: Tensor, tree: Tree, uniform: Uniform) -> TreeVerdict:
    """p: probabilities [N + 1, V], rows as in verify_greedy. Candidates are certain (one-hot), tried in order.

    A child is accepted with its probability under what is left of p; a rejected one is taken out of p, which is then
    normalized. Each child tried draws one uniform, the target's own token one more. The emitted tokens are distributed
    as the target's, exactly.
    """
    _check(p, tree)
    check_distributions("p", p)
    path: list[int] = []
    node = ROOT
    while True:
        row = p[node + 1].double().clone()
        accepted: int | None = None
        for child in tree.children(node):
            x = int(tree.tokens[child])
            if uniform() * float(row.sum()) < float(row[x]):
                accepted = child
                break
            row[x] = 0.0
        if accepted is None:
            return TreeVerdict(path, draw(row, uniform()))
        path.append(accepted)
        node = accepted


def _check(rows: Tensor, tree: Tree) -> None:
    if rows.dim() != 2 or rows.shape[0] != len(tree.tokens) + 1:
        raise ValueError(f"a tree of {len(tree.tokens)} nodes needs one row more, not a shape of {tuple(rows.shape)}")


def decode_tree(
    engine: TreeEngine,
    propose: Callable[[list[int]], Tree],
    params: Params,
    prompt: Sequence[int],
    *,
    stopper: Stopper | None = None,
) -> Output:
    """Decodes after `prompt` with a tree of candidates for each pass; params.k bounds the tree's depth.

    propose: from prompt and output so far to candidates. Penalties are not supported: ValueError. Other errors as in
    SpeculativeLoop.run. Statistics count nodes as drafted.
    """
    if params.penalties.any:
        raise ValueError("tree verification does not support penalties")
    stopper = stopper or Stopper()
    SpeculativeLoop(engine, None, params).check_prompt(prompt)
    engine.rewind(engine.offset)
    uniform = seeded_uniform(params.seed)
    room = min(params.max_tokens, engine.max_positions - len(prompt))
    committed, logprobs, statistics, reason = list(prompt), list[float](), Statistics(), None
    while reason is None:
        output = committed[len(prompt) :]
        tree = propose(committed).cut(min(params.k, room - len(output) - 1))
        logits = engine.forward_tree(token_tensor(committed[engine.offset :]), tree)
        if params.temperature == 0:
            verdict = verify_greedy(logits, tree)
        else:
            verdict = verify_sampled(torch.softmax(logits.double() / params.temperature, dim=1), tree, uniform)
        admitted = stopper.admit(output, verdict.emitted(tree))
        rows = [0, *(i + 1 for i in verdict.path)]
        logprobs += [
            float(torch.log_softmax(logits[r].double(), 0)[t]) for r, t in zip(rows, admitted.tokens, strict=False)
        ]
        engine.keep(len(committed), verdict.path)
        committed += admitted.tokens
        engine.rewind(engine.offset - (len(committed) - 1))
        statistics.drafted += len(tree.tokens)
        statistics.accepted += len(verdict.path)
        statistics.target_passes += 1
        statistics.draft_lengths.append(len(tree.tokens))
        reason = admitted.reason or ("length" if len(committed) - len(prompt) >= room else None)
    output = committed[len(prompt) :]
    return Output(token_tensor(output), logprobs, stopper.text(output), reason, statistics)
