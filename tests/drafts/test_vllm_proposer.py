"""The proposer on vLLM's arrays, for what an engine does too rarely to be tested there."""

from __future__ import annotations

import logging

import pytest

from drafts.core.types import SourceKind
from drafts.text_tokens import TextTokens
from drafts.vllm_sampler import MOST_DRAFT_TOKENS
from service.config import MAX_DRAFT_TOKENS, VLLM_DRAFT_TOKENS, ModelConfig
from service.prompts.tokenization import TextTokenizer
from tests.drafts.conftest import BUDGET, MAX_MODEL_LEN, K, Make, Target, kept, make_tokens


def test_vllm_s_own_drafters_have_the_sampler_s_limit() -> None:
    from vllm.v1.sample.rejection_sampler import MAX_SPEC_LEN

    assert VLLM_DRAFT_TOKENS == MAX_SPEC_LEN
    assert MAX_DRAFT_TOKENS == MOST_DRAFT_TOKENS


def test_sampler_takes_drafts_as_long_as_the_proposer_s(make_proposer: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm.v1.sample import rejection_sampler

    monkeypatch.setattr(rejection_sampler, "MAX_SPEC_LEN", VLLM_DRAFT_TOKENS)
    make_proposer(k=VLLM_DRAFT_TOKENS)
    assert rejection_sampler.MAX_SPEC_LEN == VLLM_DRAFT_TOKENS
    make_proposer(k=300)
    assert rejection_sampler.MAX_SPEC_LEN == 512
    with pytest.raises(ValueError, match="at most 512 draft tokens"):
        make_proposer(k=MOST_DRAFT_TOKENS + 1)


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
