from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import pytest
import torch
from transformers import OPTForCausalLM

from drafts.reference.cache import PagedCache
from drafts.reference.engine import TorchEngine, page_pool
from drafts.reference.function_engine import FunctionEngine
from drafts.reference.loop import Params
from drafts.reference.parts import Parts
from drafts.reference.penalties import Penalties
from drafts.reference.stops import Stopper
from drafts.reference.tree import ROOT, Tree, decode_tree, verify_greedy, verify_sampled
from drafts.reference.types import token_tensor

PROMPT = [2, 3, 5, 7, 11, 13]
#        root
#      1      4
#    2   3    5
TREE = Tree.of([[1, 2], [1, 3], [4, 5]])


def test_a_trie_of_drafts() -> None:
    assert TREE.tokens.tolist() == [1, 2, 3, 4, 5]
    assert TREE.tokens.dtype == torch.int32
    assert TREE.parents == (ROOT, 0, 0, ROOT, 3)
    assert TREE.depths() == [1, 2, 2, 1, 2]
    assert TREE.children(ROOT) == [0, 3]
    assert TREE.mask().int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 0, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 1, 1],
    ]
    assert (TREE.cut(1).tokens.tolist(), TREE.cut(1).parents) == ([1, 4], (ROOT, ROOT))
    assert len(TREE.cut(0).tokens) == 0


def test_greedy_follows_the_argmax() -> None:
    rows = torch.zeros((6, 7))
    for row, token in enumerate([4, 0, 0, 0, 5, 6]):
        rows[row, token] = 1
    verdict = verify_greedy(rows, TREE)
    assert verdict.path == [3, 4]
    assert verdict.emitted(TREE) == [4, 5, 6]
    rows[0, 1] = 2  # now the first branch, whose row prefers 0
    assert verify_greedy(rows, TREE).emitted(TREE) == [1, 0]
    rows[0, 0] = 3
    assert verify_greedy(rows, TREE).emitted(TREE) == [0]


@pytest.mark.parametrize("candidates", [[], [3], [0, 1], [4, 0], [2, 4, 3]])
def test_sampled_is_exact(candidates: list[int]) -> None:
    """The first emitted token over all outcomes, as exact fractions; V = 5, and id 4 has p = 0."""
    numerators = [3, 1, 2, 6, 0]
    p = torch.tensor([numerators] * (len(candidates) + 1), dtype=torch.float64) / 12
    tree = Tree.of([[x] for x in candidates])
    # a uniform decides on parts of what is left of p: cells of that many parts are fine enough
    left, parts_left = list(numerators), []
    for x in candidates:
        parts_left.append(sum(left))
        left[x] = 0
    parts_left.append(sum(left))
    emitted = [Fraction(0)] * 5
    for cell in product(*(range(n) for n in parts_left)):
        values = iter([*((i + 0.5) / n for i, n in zip(cell, parts_left, strict=True)), 0.5])
        emitted[verify_sampled(p, tree, values.__next__).emitted(tree)[0]] += Fraction(1)
    assert [e / prod(parts_left) for e in emitted] == [Fraction(n, 12) for n in numerators]


def test_sampled_draws_one_uniform_for_each_candidate_tried() -> None:
    p = torch.tensor([[0.25, 0.25, 0.5]] * 3, dtype=torch.float64)
    for first, drawn, path in [(0.1, 2, [0]), (0.3, 3, [])]:
        values = [first, 0.9, 0.5]
        used = iter(values)
        verdict = verify_sampled(p, Tree.of([[0], [1]]), used.__next__)
        assert verdict.path == path
        assert len(list(used)) == len(values) - drawn


def engine(model: OPTForCausalLM, paged: bool = False) -> TorchEngine:
    return TorchEngine(model, PagedCache(page_pool(model, page_size=4)) if paged else None)


@pytest.mark.parametrize("paged", [False, True])
def test_one_pass_over_a_tree_equals_a_pass_over_each_path(tiny_opt: OPTForCausalLM, paged: bool) -> None:
    tested = engine(tiny_opt, paged)
    tested.forward(token_tensor(PROMPT[:3]), 1)
    rows = tested.forward_tree(token_tensor(PROMPT[3:]), TREE)
    paths: dict[int, list[int]] = {ROOT: []}
    for node, (token, parent) in enumerate(zip(TREE.tokens.tolist(), TREE.parents, strict=True)):
        paths[node] = [*paths[parent], token]
    for node, path in paths.items():
        alone = engine(tiny_opt).forward(token_tensor([*PROMPT, *path]), 1)
        torch.testing.assert_close(rows[node + 1], alone[0], rtol=1e-4, atol=1e-5)
    # the kept path lies as if it had been decoded
    tested.keep(len(PROMPT), [0, 2])
    assert tested.cache.lengths == (len(PROMPT) + 2,) * 2
    after = engine(tiny_opt).forward(token_tensor([*PROMPT, 1, 3, 8]), 1)
    torch.testing.assert_close(tested.forward(token_tensor([8]), 1), after, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("paged", [False, True])
def test_decoding_with_trees_equals_plain_decoding(tiny_opt: OPTForCausalLM, paged: bool) -> None:
    plain = Parts().loop(engine(tiny_opt), None, Params(30, 0)).run(PROMPT)
    text = [*PROMPT, *plain.tokens.tolist()]

    def propose(committed: list[int]) -> Tree:
        """A wrong branch, one that turns wrong, and the right one where the length is even."""
        right = text[len(committed) : len(committed) + 6]
        wrong = [(token + 1) % 24 for token in right]
        return Tree.of([wrong, [*right[:2], *wrong[2:]], right if len(committed) % 2 == 0 else wrong])

    tested = engine(tiny_opt, paged)
    output = decode_tree(tested, propose, Params(30, 4), PROMPT)
    assert output.tokens.tolist() == plain.tokens.tolist()
    assert output.logprobs == pytest.approx(plain.logprobs, abs=1e-3)
    assert output.statistics.target_passes < 15
    assert tested.offset == len(PROMPT) + 30 - 1


def test_end_of_sequence_within_a_tree() -> None:
    text = [1, 2, 3, 4, 5, 6]
    tested = FunctionEngine.reciting(text, 7)
    output = decode_tree(tested, lambda seen: Tree.of([text[len(seen) :]]), Params(9, 9), [1], stopper=Stopper(eos=[4]))
    assert (output.tokens.tolist(), output.reason) == ([2, 3], "eos")
    assert tested.cached == [1, 2]


def test_a_sampled_tree_decodes_as_the_target() -> None:
    """Two tokens over 600 seeds: all within four standard deviations of their probabilities."""
    steps = torch.tensor([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3], [0.25, 0.5, 0.25]], dtype=torch.float64)
    counts: Counter[tuple[int, ...]] = Counter()
    for seed in range(600):
        tested = FunctionEngine(lambda context: steps[context[-1]].log(), 3)
        params = Params(2, 1, temperature=1.0, seed=seed)
        output = decode_tree(tested, lambda _: Tree.of([[1], [2]]), params, [0])
        counts[tuple(output.tokens.tolist())] += 1
    for a, b in product(range(3), repeat=2):
        chance = float(steps[0, a] * steps[a, b])
        assert abs(counts[a, b] - 600 * chance) < 4 * (600 * chance * (1 - chance)) ** 0.5


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="siblings have different tokens"):
        Tree(token_tensor([1, 1]), (ROOT, ROOT))
    with pytest.raises(ValueError, match="before its child"):
        Tree(token_tensor([1, 2]), (1, ROOT))
    with pytest.raises(ValueError, match="as many parents"):
        Tree(token_tensor([1, 2]), (ROOT,))
    with pytest.raises(ValueError, match="needs one row more"):
        verify_greedy(torch.zeros((5, 7)), TREE)
    with pytest.raises(ValueError, match="does not support penalties"):
        decode_tree(FunctionEngine.reciting([1], 3), lambda _: TREE, Params(3, penalties=Penalties(1.5)), [1])
