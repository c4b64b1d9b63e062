"""What a draft token costs, as the proposer finds it from the engine's steps."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.drafts.conftest import Make, Target, kept, make_tokens


def test_cost_is_fitted_to_the_engine_s_own_steps(make_proposer: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("drafts.vllm_proposer.time.perf_counter", lambda: clock.now)
    proposer = make_proposer(fit_cost=True, cost_ratio=0.2)
    target = Target(proposer)
    for i in range(12):
        # Copies and inventions in turn, so that steps are of different widths.
        output = [*make_tokens(40, i), *make_tokens(10, 50 + i), *make_tokens(40, i)]
        target.add(f"r{i}", make_tokens(20, 90 + i), output, kept(output[:40]))
        while target.emitted[f"r{i}"] < len(output):
            target.step()
            clock.now += 0.010 * (1 + 0.03 * sum(map(len, target.drafts.values())))
        target.drop(f"r{i}")
    assert proposer.stats()["cost_ratio"] == pytest.approx(0.03, rel=0.05)


@pytest.mark.parametrize(("price", "drafts"), [(0.005, True), (0.4, False)])
def test_a_price_at_which_nobody_drafts_is_probed(
    make_proposer: Make, monkeypatch: pytest.MonkeyPatch, price: float, drafts: bool
) -> None:
    """Eight requests, a draft token at a quarter of a pass: nothing is worth drafting, and no step would tell."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("drafts.vllm_proposer.time.perf_counter", lambda: clock.now)
    proposer = make_proposer(fit_cost=True, cost_ratio=0.25)
    target = Target(proposer)
    outputs = [make_tokens(350, i) for i in range(8)]
    for i, output in enumerate(outputs):
        target.add(f"r{i}", make_tokens(20, 90 + i), output, kept(output))
    drafted = []
    while all(target.emitted[name] < 350 for name in target.names):
        target.step()
        drafted.append(sum(map(len, target.drafts.values())))
        clock.now += 0.010 * (1 + price * drafted[-1])
    assert max(drafted[:32]) == 0
    assert 0 < max(drafted[:40]) <= 8
    if drafts:
        assert sum(drafted) > 1000
    else:
        assert max(drafted) <= 8
        assert price * sum(drafted) <= 0.01 * len(drafted) + price * 8
