"""The proposer on vLLM's arrays, for what an engine does too rarely to be tested there."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from drafts.core.types import DraftRegion, DraftReport, DraftRequest, SourceKind
from drafts.payload import encode
from drafts.text_tokens import TextTokens
from service.config import MAX_DRAFT_TOKENS, EngineConfig, ModelConfig
from service.engine.vllm import environment
from service.prompts.tokenization import TextTokenizer

K = 16
BUDGET = 40
MAX_MODEL_LEN = 512

Make = Callable[..., Any]


def make_tokens(count: int, seed: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(8, 200) for _ in range(count)]


def kept(predicted: list[int], k: int = K) -> DraftRequest:
    return DraftRequest(
        predicted=predicted, regions=(DraftRegion(len(predicted), SourceKind.KEPT),), max_draft_tokens=k
    )


@pytest.fixture(scope="session")
def make_proposer(engine_model: ModelConfig) -> Make:
    """Proposers on a real configuration of vLLM's, with no engine."""
    import os

    os.environ.update(environment(EngineConfig(kv_cache_gib=1)))
    from vllm.engine.arg_utils import EngineArgs

    from drafts.vllm_proposer import CopyProposer

    def make(k: int = K, **options: object) -> Any:
        arguments = EngineArgs(
            model=str(engine_model.path),
            max_model_len=MAX_MODEL_LEN,
            max_num_seqs=4,
            enforce_eager=True,
            speculative_config={
                "method": "custom_class",
                "model": "drafts.vllm_proposer.CopyProposer",
                "num_speculative_tokens": k,
            },
            additional_config={"redraft": {"max_batch_draft_tokens": BUDGET, **options}},
        )
        return CopyProposer(arguments.create_engine_config())

    return make


class Target:
    """A target that emits recorded outputs, over arrays laid out as vLLM's model runner lays them out."""

    def __init__(self, proposer: Any, *, bound: bool = True) -> None:
        self.proposer = proposer
        self.names: list[str] = []
        self.outputs: dict[str, list[int]] = {}
        self.emitted: dict[str, int] = {}
        self.drafts: dict[str, list[int]] = {}
        self.requests: dict[str, Any] = {}
        self.tokens = np.zeros((8, MAX_MODEL_LEN), dtype=np.int32)
        self.passes = 0
        if bound:
            proposer.bind(SimpleNamespace(requests=self.requests, input_batch=SimpleNamespace(req_ids=self.names)))

    def add(
        self,
        name: str,
        prompt: list[int],
        output: list[int],
        draft: DraftRequest | None = None,
        *,
        payload: dict[str, Any] | None = None,
        max_tokens: int = 400,
        stop: list[int] | None = None,
    ) -> None:
        from vllm import SamplingParams

        extra_args = payload if payload is not None else encode(draft, prompt, name)
        self.requests[name] = SimpleNamespace(
            prompt_token_ids=prompt,
            num_prompt_tokens=len(prompt),
            sampling_params=SamplingParams(
                max_tokens=max_tokens, stop_token_ids=stop, detokenize=False, extra_args=extra_args
            ),
        )
        self.names.append(name)
        self.outputs[name] = output
        self.emitted[name] = 0
        self.drafts[name] = []

    def drop(self, name: str) -> None:
        self.names.remove(name)
        del self.requests[name]

    def step(self, *, propose: bool = True, prefilling: tuple[str, ...] = ()) -> None:
        """One pass over the batch; with propose=False, vLLM leaves the proposer out, as near the model's length."""
        self.passes += 1
        sampled: list[list[int]] = []
        lengths = np.zeros(8, dtype=np.int32)
        for row, name in enumerate(self.names):
            rest = self.outputs[name][self.emitted[name] :]
            draft = self.drafts.get(name, [])
            count = 0
            while count < min(len(draft), len(rest) - 1) and draft[count] == rest[count]:
                count += 1
            new = [] if name in prefilling else rest[: count + 1]
            sampled.append(new)
            self.emitted[name] += len(new)
            known = [*self.requests[name].prompt_token_ids, *self.outputs[name][: self.emitted[name]]]
            self.tokens[row, : len(known)] = known
            lengths[row] = len(known)
        if propose:
            drafts = self.proposer.propose(sampled, lengths, self.tokens)
            assert len(drafts) == len(self.names)
            assert all(len(draft) <= K for draft in drafts)
            assert sum(map(len, drafts)) <= BUDGET
            assert all(type(token) is int for draft in drafts for token in draft)
            self.drafts = dict(zip(self.names, drafts, strict=True))
        else:
            self.drafts = {name: [] for name in self.names}

    def run(self, name: str) -> DraftReport:
        while self.emitted[name] < len(self.outputs[name]):
            self.step()
        report: DraftReport = self.proposer.take_reports([name])[name]
        assert report.output_tokens == report.target_passes + report.accepted
        return report


def test_longer_drafts_than_the_sampler_takes_are_refused_at_start(make_proposer: Make) -> None:
    from vllm.v1.sample.rejection_sampler import MAX_SPEC_LEN

    assert MAX_DRAFT_TOKENS == MAX_SPEC_LEN
    make_proposer(k=MAX_SPEC_LEN)
    with pytest.raises(ValueError, match=f"at most {MAX_SPEC_LEN} draft tokens"):
        make_proposer(k=MAX_SPEC_LEN + 1)


def test_named_row_follows_its_plan(make_proposer: Make) -> None:
    target = Target(make_proposer())
    output = make_tokens(100, 1)
    target.add("a", make_tokens(30, 2), output, kept(output))
    report = target.run("a")
    assert (report.output_tokens, report.target_passes) == (100, target.passes)
    assert target.passes <= 100 / K + 3


def test_rows_that_change_places_keep_their_plans(make_proposer: Make) -> None:
    target = Target(make_proposer())
    for i in range(3):
        output = make_tokens(60, i)
        target.add(f"r{i}", make_tokens(20, 50 + i), output, kept(output))
    target.step()
    target.step()
    target.names.reverse()
    target.drop("r1")
    reports = [target.run("r0"), target.run("r2")]
    assert all(report.target_passes <= 60 / (BUDGET // 3) + 4 for report in reports)
    assert all(report.rejected == 0 for report in reports)


def test_prefill_chunk_gets_no_draft(make_proposer: Make) -> None:
    target = Target(make_proposer())
    output = make_tokens(40, 1)
    target.add("a", make_tokens(30, 2), output, kept(output))
    target.step(prefilling=("a",))
    assert target.drafts["a"] == []
    target.step()
    assert target.drafts["a"] == output[1 : 1 + K]


def test_preempted_request_goes_on_where_it_was(make_proposer: Make) -> None:
    target = Target(make_proposer())
    output = make_tokens(80, 1)
    target.add("a", make_tokens(30, 2), output, kept(output))
    target.add("b", make_tokens(30, 3), make_tokens(80, 4), None)
    target.step()
    target.step()
    target.names.remove("a")  # preempted: still known to the runner, not in the batch
    target.step()
    target.names.append("a")
    target.step(prefilling=("a",))
    report = target.run("a")
    assert report.rejected == 0
    assert report.target_passes <= 80 / K + 4


def test_passes_that_vllm_did_not_show_are_caught_up(make_proposer: Make) -> None:
    target = Target(make_proposer())
    output = make_tokens(80, 1)
    target.add("a", make_tokens(30, 2), output, kept(output))
    target.step()
    for _ in range(5):
        target.step(propose=False)
    report = target.run("a")
    assert (report.output_tokens, report.target_passes) == (80, target.passes)
    assert report.rejected == 0


def test_batch_budget_is_shared(make_proposer: Make) -> None:
    target = Target(make_proposer())
    for i in range(4):
        output = make_tokens(60, i)
        target.add(f"r{i}", make_tokens(20, 50 + i), output, kept(output))
    target.step()
    assert [len(draft) for draft in target.drafts.values()] == [BUDGET // 4] * 4


def test_no_draft_beyond_the_token_limit(make_proposer: Make) -> None:
    target = Target(make_proposer())
    output = make_tokens(60, 1)
    target.add("a", make_tokens(20, 2), output[:10], kept(output), max_tokens=10)
    target.step()
    assert target.drafts["a"] == output[1:9]
    assert target.run("a").output_tokens == 10


def test_no_draft_beyond_the_model_s_length(make_proposer: Make) -> None:
    target = Target(make_proposer())
    output = make_tokens(60, 1)
    target.add("a", make_tokens(MAX_MODEL_LEN - 10, 2), output[:10], kept(output))
    target.step()
    assert target.drafts["a"] == output[1:9]


def test_tokens_after_a_stop_token_are_not_counted(make_proposer: Make) -> None:
    target = Target(make_proposer())
    output = make_tokens(30, 1)
    output[12] = 5
    target.add("a", make_tokens(20, 2), output, kept(output), stop=[5])
    target.step()
    target.step()
    assert target.emitted["a"] > 13
    assert target.drafts["a"] == []
    report = target.proposer.take_reports(["a"])["a"]
    assert (report.output_tokens, report.target_passes, report.accepted) == (13, 2, 11)


def test_request_without_payload_drafts_from_its_prompt(make_proposer: Make) -> None:
    target = Target(make_proposer())
    prompt = make_tokens(100, 1)
    target.add("a", prompt, prompt[20:90], payload={"redraft_key": "a"})
    report = target.run("a")
    assert report.target_passes < 70 / 4
    assert {row.kind for row in report.regions} == {SourceKind.ORIGINAL}


def test_without_a_runner_rows_are_known_by_their_tokens(make_proposer: Make) -> None:
    target = Target(make_proposer(), bound=False)
    for i in range(3):
        prompt = make_tokens(100, i)
        target.add(f"r{i}", prompt, prompt[20:90])
    target.step()
    target.step()
    target.names.reverse()
    target.drop("r1")
    while any(target.emitted[name] < 70 for name in target.names):
        target.step()
    assert target.passes < 70 / 4
    # Three requests, whatever rows they were in.
    assert target.proposer.stats()["rows"] == 3


def test_without_a_runner_memory_is_bounded(make_proposer: Make) -> None:
    target = Target(make_proposer(), bound=False)
    for i in range(30):
        target.add(f"r{i}", make_tokens(20, i), make_tokens(5, 100 + i))
        target.step()
        target.drop(f"r{i}")
    assert target.proposer.stats()["rows"] <= 8


def test_forgotten_requests_are_forgotten_here_too(make_proposer: Make) -> None:
    target = Target(make_proposer())
    for i in range(5000):
        target.add(f"r{i}", [9, 10, 11], [12, 13], kept([12, 13]))
        target.step()
        target.drop(f"r{i}")
    stats = target.proposer.stats()
    assert stats["rows"] == 0
    assert stats["reports"] <= 4096


def test_text_in_other_tokens_is_still_followed(make_proposer: Make, engine_model: ModelConfig) -> None:
    tokenizer = TextTokenizer.load(engine_model.path)
    lines = [f"    total_{i} = compute(total_{i - 1}, rate={i}, limit=None)\n" for i in range(12)]
    predicted = tokenizer.encode_text("".join(lines))
    # The target writes the first line letter by letter.
    output = [token for letter in lines[0] for token in tokenizer.encode_text(letter)]
    output += tokenizer.encode_text("".join(lines[1:]))
    passes = []
    for loaded in (False, True):
        proposer = make_proposer()
        if loaded:
            proposer.load_model()
        target = Target(proposer)
        target.add("a", make_tokens(20, 2), output, kept(predicted))
        passes.append(target.run("a").target_passes)
    assert passes[1] < passes[0]


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


@pytest.mark.parametrize("name", ["redraft_predicted", "redraft_original_tokens", "redraft_edit_tokens"])
@pytest.mark.parametrize("beyond", [-1, 10**6, 2**40])
def test_ids_that_the_model_has_not_are_never_drafted(make_proposer: Make, name: str, beyond: int) -> None:
    target = Target(make_proposer())
    output = make_tokens(20, 1)
    target.add("a", make_tokens(20, 2), output, payload={"redraft_key": "a", name: [*output, beyond]})
    report = target.run("a")
    assert (report.drafted, report.target_passes) == (0, 20)
    assert target.proposer.stats()["failures"] == 1


def test_malformed_payload_costs_the_speed_up_and_nothing_else(
    make_proposer: Make, caplog: pytest.LogCaptureFixture
) -> None:
    target = Target(make_proposer())
    output = make_tokens(20, 1)
    target.add("bad", make_tokens(20, 2), output, payload={"redraft_key": "bad", "redraft_predicted": "secret text"})
    target.add("good", make_tokens(20, 3), output, kept(output))
    with caplog.at_level(logging.ERROR):
        good = target.run("good")
        bad = target.run("bad")
    assert good.target_passes < 5
    assert (bad.output_tokens, bad.target_passes) == (20, 20)
    assert target.proposer.stats()["failures"] == 1
    assert caplog.text.count("request bad") == 1
    (record,) = (record for record in caplog.records if record.name == "drafts.vllm_proposer")
    assert record.exc_info is None
    assert "payload.py:" in record.getMessage()
    assert "secret" not in caplog.text


@pytest.mark.parametrize("loaded", [True, False])
def test_predicted_text_is_followed_where_there_is_a_tokenizer(
    make_proposer: Make, engine_model: ModelConfig, loaded: bool
) -> None:
    proposer = make_proposer()
    if loaded:
        proposer.load_model()
    target = Target(proposer)
    text = "def area(width, height):\n    return width * height\n" * 3
    output = TextTokens((engine_model.path / "tokenizer.json").read_text())(text)
    payload = {"redraft_key": "a", "redraft_predicted_text": text, "redraft_confidence": 1}
    target.add("a", make_tokens(30, 2), output, payload=payload)
    report = target.run("a")
    assert report.rejected == 0
    assert report.target_passes == (-(-(len(output) - 1) // (K + 1)) + 1 if loaded else len(output))


def test_unknown_option_is_refused(make_proposer: Make) -> None:
    with pytest.raises(ValueError, match="cost_ration"):
        make_proposer(cost_ration=0.1)
