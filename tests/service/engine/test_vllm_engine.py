"""The real engine: streaming, ends, aborts, failures, and the same output with drafting as without."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest
from tokenizers import Tokenizer

from drafts.core.types import DraftRegion, DraftReport, DraftRequest, SourceKind
from service.config import DraftingConfig, EngineConfig, ModelConfig
from service.engine.base import FinishReason, GenerateRequest, Output
from service.engine.vllm import VllmEngine, environment
from service.errors import EngineUnavailable

pytestmark = pytest.mark.engine

MAX_TOKENS = 150
K = 64


@dataclass(frozen=True)
class Answer:
    tokens: list[int]
    reason: FinishReason
    report: DraftReport
    outputs: list[Output]


def make_prompt(seed: int, length: int = 120) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(8, 200) for _ in range(length)]


def plan(predicted: Sequence[int], k: int = K, end_token: int | None = None) -> DraftRequest:
    regions = (DraftRegion(len(predicted), SourceKind.KEPT),) if predicted else ()
    return DraftRequest(predicted=predicted, regions=regions, max_draft_tokens=k, end_token=end_token)


async def ask(
    engine: VllmEngine,
    prompt: list[int],
    draft: DraftRequest | None = None,
    max_tokens: int = MAX_TOKENS,
    stop_token_ids: Sequence[int] = (),
    temperature: float = 0.0,
    seed: int | None = None,
) -> Answer:
    request = GenerateRequest("test", prompt, max_tokens, temperature, seed, stop_token_ids, draft)
    outputs = [output async for output in engine.generate(request)]
    last = outputs[-1]
    assert last.finish_reason is not None
    assert last.report is not None
    assert all(output.finish_reason is None and output.report is None for output in outputs[:-1])
    tokens = [token for output in outputs for token in output.token_ids]
    check_sums(last.report, len(tokens) + (last.finish_reason is FinishReason.STOP))
    return Answer(tokens, last.finish_reason, last.report, outputs)


def check_sums(report: DraftReport, emitted: int) -> None:
    assert report.output_tokens == emitted
    assert report.output_tokens == report.target_passes + report.accepted
    assert report.accepted + report.rejected <= report.drafted
    assert sum(report.draft_lengths.values()) == report.target_passes
    assert sum(k * passes for k, passes in report.draft_lengths.items()) == report.drafted
    for name in ("drafted", "accepted", "rejected"):
        assert sum(getattr(row, name) for row in report.regions) == getattr(report, name)


def altered(tokens: list[int], rng: random.Random) -> list[int]:
    """The tokens with a few insertions, deletions and replacements."""
    result = list(tokens)
    for _ in range(4):
        at = rng.randrange(len(result))
        result[at : at + rng.randrange(3)] = [rng.randrange(8, 200) for _ in range(rng.randrange(4))]
    return result


async def test_perfect_plan_saves_passes_and_changes_nothing(engine: VllmEngine) -> None:
    prompt = make_prompt(1)
    plain = await ask(engine, prompt)
    assert plain.report.target_passes == plain.report.output_tokens
    drafted = await ask(engine, prompt, plan(plain.tokens))
    assert (drafted.tokens, drafted.reason) == (plain.tokens, plain.reason)
    assert drafted.report.target_passes <= len(plain.tokens) / 32 + 3
    assert drafted.report.accepted > 0
    assert len(drafted.outputs) <= drafted.report.target_passes


@pytest.mark.parametrize("seed", range(3))
async def test_rubbish_changes_nothing_but_the_pass_count(engine: VllmEngine, seed: int) -> None:
    prompt = make_prompt(seed)
    plain = await ask(engine, prompt)
    rubbish = await ask(engine, prompt, plan(make_prompt(seed + 100, 200)))
    assert (rubbish.tokens, rubbish.reason) == (plain.tokens, plain.reason)


async def test_zero_draft_tokens_is_plain_decoding(engine: VllmEngine) -> None:
    prompt = make_prompt(2)
    plain = await ask(engine, prompt)
    zero = await ask(engine, prompt, plan(plain.tokens, k=0))
    assert zero.tokens == plain.tokens
    for report in (plain.report, zero.report):
        assert report.draft_lengths == {0: report.output_tokens}
        assert report.drafted == 0


@pytest.mark.parametrize("concurrency", [1, 4, 16])
async def test_same_output_in_mixed_company(engine: VllmEngine, concurrency: int) -> None:
    rng = random.Random(concurrency)
    prompts = [make_prompt(20 + i, 60 + 17 * i) for i in range(6)]
    plain = [await ask(engine, prompt) for prompt in prompts]
    kinds: list[Callable[[list[int]], DraftRequest | None]] = [
        lambda tokens: None,
        plan,
        lambda tokens: plan(altered(tokens, rng)),
        lambda tokens: plan(make_prompt(99, 150)),
        lambda tokens: plan(altered(tokens, rng), k=5),
        lambda tokens: plan((), k=16),
    ]
    gate = asyncio.Semaphore(concurrency)

    async def one(index: int) -> None:
        which = index % len(prompts)
        draft = kinds[(index // 2) % len(kinds)](plain[which].tokens)
        async with gate:
            answer = await ask(engine, prompts[which], draft)
        assert answer.tokens == plain[which].tokens, f"request {index}"
        assert answer.reason is plain[which].reason

    await asyncio.gather(*(one(index) for index in range(max(6, 2 * concurrency))))


@pytest.mark.parametrize("max_tokens", [1, 2, 20, 65, 66])
async def test_token_limit_inside_a_drafted_block(engine: VllmEngine, max_tokens: int) -> None:
    prompt = make_prompt(3)
    plain = await ask(engine, prompt)
    assert len(plain.tokens) > max_tokens, "the limit must come first"
    cut = await ask(engine, prompt, plan(plain.tokens), max_tokens=max_tokens)
    assert cut.tokens == plain.tokens[:max_tokens]
    assert cut.reason is FinishReason.LENGTH


@pytest.mark.parametrize("place", [0, 1, 10, 40])
async def test_stop_token_inside_a_drafted_block(engine: VllmEngine, place: int) -> None:
    prompt = make_prompt(3)
    plain = await ask(engine, prompt)
    stop = plain.tokens[place]
    first = plain.tokens.index(stop)
    for draft in (None, plan(plain.tokens)):
        cut = await ask(engine, prompt, draft, stop_token_ids=[stop])
        assert cut.tokens == plain.tokens[:first]
        assert cut.reason is FinishReason.STOP


@pytest.fixture(scope="session")
async def ended(engine: VllmEngine, engine_model: ModelConfig) -> tuple[list[int], Answer]:
    """A prompt whose answer the model itself ends, and not at once."""
    for prompt in ending_prompts(engine_model):
        answer = await ask(engine, prompt, max_tokens=200)
        if answer.reason is FinishReason.STOP and len(answer.tokens) > 10:
            return prompt, answer
    pytest.fail("the model ended none of its answers")


def ending_prompts(model: ModelConfig) -> Iterator[list[int]]:
    """Small files with a small edit, in the embedded model's own format; random tokens for a model without it."""
    tokenizer = Tokenizer.from_file(str(model.path / "tokenizer.json"))
    vocabulary = tokenizer.get_vocab()
    marks = [vocabulary[mark] for mark in ("<file>", "<edit>", "<out>") if mark in vocabulary]
    for index in range(20):
        if len(marks) < 3:
            yield make_prompt(index, 80)
            continue
        lines = [f"def task_{name}(value):\n    return value + {index}\n" for name in ("first", "second", "third")]
        file, edit = (tokenizer.encode(text, add_special_tokens=False).ids for text in ("\n".join(lines), lines[1]))
        yield [marks[0], *file, marks[1], *edit, marks[2]]


async def test_end_of_text_inside_a_drafted_block(engine: VllmEngine, ended: tuple[list[int], Answer]) -> None:
    prompt, plain = ended
    assert engine.end_token is not None
    # The plan goes on after the end: the target must stop all the same.
    drafted = await ask(engine, prompt, plan([*plain.tokens, engine.end_token, *make_prompt(5)]), max_tokens=1000)
    assert (drafted.tokens, drafted.reason) == (plain.tokens, FinishReason.STOP)
    saved = await ask(engine, prompt, plan(plain.tokens, end_token=engine.end_token), max_tokens=1000)
    assert (saved.tokens, saved.reason) == (plain.tokens, FinishReason.STOP)
    assert saved.report.target_passes <= len(plain.tokens) / 32 + 3


@pytest.mark.parametrize("drafting", [False, True])
async def test_sampled_output_repeats_with_its_seed(engine: VllmEngine, drafting: bool) -> None:
    prompt = make_prompt(4)
    plain = await ask(engine, prompt)
    draft = plan(plain.tokens) if drafting else None
    # As hot as vLLM allows, so that no model repeats itself by chance.
    first, second = [await ask(engine, prompt, draft, temperature=2.0, seed=7) for _ in range(2)]
    other = await ask(engine, prompt, draft, temperature=2.0, seed=8)
    assert first.tokens == second.tokens != other.tokens
    assert (first.report.drafted > 0) is drafting


async def test_nearly_greedy_sampling_accepts_the_greedy_tokens(engine: VllmEngine) -> None:
    """At a temperature near 0 the greedy tokens have all the probability: a draft of them is accepted whole."""
    prompt = make_prompt(4)
    plain = await ask(engine, prompt)
    drafted = await ask(engine, prompt, plan(plain.tokens), temperature=0.0001, seed=7)
    assert drafted.tokens == plain.tokens
    assert drafted.report.target_passes <= len(plain.tokens) / 32 + 3


async def test_sampled_neighbours_change_nothing_for_greedy_requests(engine: VllmEngine) -> None:
    prompts = [make_prompt(40 + i) for i in range(6)]
    plain = [await ask(engine, prompt) for prompt in prompts]
    answers = await asyncio.gather(
        *(ask(engine, prompt, plan(answer.tokens)) for prompt, answer in zip(prompts, plain, strict=True)),
        *(ask(engine, prompt, plan(prompt), temperature=1.0) for prompt in prompts),
    )
    assert [answer.tokens for answer in answers[: len(prompts)]] == [answer.tokens for answer in plain]


async def test_closing_the_iterator_aborts_the_request(engine: VllmEngine) -> None:
    prompt = make_prompt(6)
    held = (await engine.draft_stats())["rows"]
    answer = engine.generate(GenerateRequest("closed", prompt, 1500, draft=plan(make_prompt(7, 400))))
    async for output in answer:
        assert output.finish_reason is None
        break
    assert (await engine.draft_stats())["rows"] == held + 1
    await answer.aclose()
    for _ in range(100):
        if (await engine.draft_stats())["rows"] == held:
            break
        await asyncio.sleep(0.05)
    assert (await engine.draft_stats())["rows"] == held


async def test_cancelling_the_task_aborts_the_request(engine: VllmEngine) -> None:
    task = asyncio.create_task(ask(engine, make_prompt(8), plan(make_prompt(9)), max_tokens=1500))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(100):
        if (await engine.draft_stats())["rows"] == 0:
            break
        await asyncio.sleep(0.05)
    assert (await engine.draft_stats())["rows"] == 0


async def test_reports_are_given_out_once_and_not_kept(engine: VllmEngine) -> None:
    before = (await engine.draft_stats())["reports"]
    await asyncio.gather(*(ask(engine, make_prompt(30 + i), plan(make_prompt(31)), 20) for i in range(5)))
    assert (await engine.draft_stats())["reports"] == before
    assert (await engine.draft_stats())["rows"] == 0


async def test_healthy_while_it_runs(engine: VllmEngine) -> None:
    await engine.check_health()


@pytest.mark.parametrize(("prompt_length", "max_tokens"), [(0, 10), (10, 0), (10, 1_000_000)])
async def test_request_that_cannot_fit_is_refused(engine: VllmEngine, prompt_length: int, max_tokens: int) -> None:
    with pytest.raises(ValueError, match=r"max_model_len|at least one token"):
        await ask(engine, make_prompt(1, prompt_length), max_tokens=max_tokens)


async def test_longest_request_stays_clear_of_the_model_s_limit(engine: VllmEngine) -> None:
    """Within k tokens of its own limit vLLM drafts zeros for the whole batch: no request may get there."""
    room = 40
    prompt = make_prompt(1, engine.max_model_len - room)
    plain = await ask(engine, prompt, max_tokens=room)
    drafted = await ask(engine, prompt, plan(plain.tokens), max_tokens=room)
    assert drafted.tokens == plain.tokens
    assert drafted.report.target_passes < plain.report.target_passes


async def test_engine_that_was_not_started_is_unavailable(engine_model: ModelConfig) -> None:
    engine = VllmEngine(engine_model, EngineConfig(), DraftingConfig())
    with pytest.raises(EngineUnavailable, match="start"):
        await engine.check_health()
    with pytest.raises(EngineUnavailable, match="start"):
        await ask(engine, [1, 2, 3])
    await engine.close()


def test_environment_keeps_the_operator_s_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VLLM_CPU_KVCACHE_SPACE", "OMP_NUM_THREADS", "VLLM_CPU_OMP_THREADS_BIND"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
    monkeypatch.setenv("VLLM_USE_V2_MODEL_RUNNER", "1")
    variables = environment(EngineConfig(kv_cache_gib=3, cpu_threads=2))
    assert "VLLM_LOGGING_LEVEL" not in variables
    assert variables["VLLM_USE_V2_MODEL_RUNNER"] == "0"
    assert variables["VLLM_CPU_KVCACHE_SPACE"] == "3"
    assert variables["OMP_NUM_THREADS"] == "2"
