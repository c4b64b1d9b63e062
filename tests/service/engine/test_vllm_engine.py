"""The real engine on the example edits: the same output with drafting as without, ends, aborts, failures."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from drafts.core.types import DraftRegion, DraftReport, DraftRequest, SourceKind
from evals.example_edits import example_names
from service.engine.base import FinishReason, GenerateRequest, Output
from service.engine.vllm import VllmEngine
from service.prompts import RenderedPrompt

pytestmark = pytest.mark.engine

K = 64
# Output tokens where a test needs no whole answer.
PART = 150
BEGUN = 8


@dataclass(frozen=True)
class Answer:
    tokens: list[int]
    reason: FinishReason
    report: DraftReport
    outputs: list[Output]

    @property
    def accepted_last(self) -> int:
        """Draft tokens accepted in the last pass, at least: when several passes came as one output, less is certain."""
        passes = self.report.target_passes - (len(self.outputs) - 1)
        return len(self.outputs[-1].token_ids) + (self.reason is FinishReason.STOP) - passes

    @property
    def trimmed(self) -> int:
        """Draft tokens beyond the end of the output: neither accepted nor rejected."""
        return self.report.drafted - self.report.accepted - self.report.rejected


@dataclass(frozen=True)
class Case:
    """An example edit as the service asks for it, and its plain answer."""

    name: str
    rendered: RenderedPrompt
    max_tokens: int
    plain: Answer

    @property
    def prompt(self) -> Sequence[int]:
        return self.rendered.token_ids

    @property
    def tokens(self) -> list[int]:
        return self.plain.tokens

    async def ask(
        self, engine: VllmEngine, draft: DraftRequest | None, *, max_tokens: int = 0, stop: Sequence[int] = ()
    ) -> Answer:
        """max_tokens: 0 takes those of the plain answer."""
        return await ask(
            engine, self.prompt, draft, max_tokens or self.max_tokens, [*self.rendered.stop_token_ids, *stop]
        )

    def check_same(self, answer: Answer) -> None:
        """Fails with the first position at which the answer differs from the plain one."""
        position = first_difference(self.tokens, answer.tokens)
        assert position is None, f"{self.name}: drafting changed the output from token {position} on"
        assert answer.reason is self.plain.reason, self.name


def first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    for position, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return position
    return None if len(one) == len(other) else min(len(one), len(other))


def plan(predicted: Sequence[int], k: int = K, end_token: int | None = None) -> DraftRequest:
    regions = (DraftRegion(len(predicted), SourceKind.KEPT),) if predicted else ()
    return DraftRequest(predicted=predicted, regions=regions, max_draft_tokens=k, end_token=end_token)


def random_tokens(count: int, seed: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(300, 4000) for _ in range(count)]


async def ask(
    engine: VllmEngine,
    prompt: Sequence[int],
    draft: DraftRequest | None = None,
    max_tokens: int = PART,
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


@pytest.fixture(scope="session")
async def cases(engine: VllmEngine, example_prompts: dict[str, RenderedPrompt]) -> dict[str, Case]:
    """Every example, decoded plainly once, eight at a time."""
    gate = asyncio.Semaphore(8)

    async def decode(name: str, rendered: RenderedPrompt) -> Case:
        # Room for a model that writes more than the plan foresees; one that goes on and on is cut, the same each time.
        max_tokens = len(rendered.expected.token_ids) + 64
        async with gate:
            plain = await ask(engine, rendered.token_ids, None, max_tokens, rendered.stop_token_ids)
        return Case(name, rendered, max_tokens, plain)

    decoded = await asyncio.gather(*(decode(name, rendered) for name, rendered in example_prompts.items()))
    return {case.name: case for case in decoded}


@pytest.fixture(scope="session")
def by_length(cases: dict[str, Case]) -> list[Case]:
    return sorted(cases.values(), key=lambda case: len(case.prompt))


@pytest.fixture(scope="session")
def short(by_length: list[Case]) -> Case:
    return by_length[0]


@pytest.fixture(scope="session")
async def blocks(engine: VllmEngine, short: Case) -> list[range]:
    """Where the long accepted blocks lie in the output of the short example when its own answer is the plan.

    The last token of a block is the pass's own.
    """
    for _ in range(10):
        drafted = await short.ask(engine, plan(short.tokens))
        # On a busy machine vLLM hands out two passes as one output now and then.
        if len(drafted.outputs) == drafted.report.target_passes:
            break
    else:
        pytest.fail("the passes could not be told apart: is the machine overloaded?")
    found: list[range] = []
    start = 0
    for output in drafted.outputs:
        end = start + len(output.token_ids)
        if end - start >= 8:
            found.append(range(start, end))
        start = end
    assert len(found) >= 3
    return found


# ---- the same output ----


@pytest.mark.parametrize("name", example_names())
async def test_drafting_changes_no_token_of_an_example(engine: VllmEngine, cases: dict[str, Case], name: str) -> None:
    case = cases[name]
    assert case.plain.report.target_passes == case.plain.report.output_tokens
    drafted = await case.ask(engine, case.rendered.draft_request(K))
    case.check_same(drafted)
    assert drafted.report.accepted > 0


@pytest.mark.parametrize(("concurrency", "plain"), [(1, 2), (4, 8), (16, 8)])
async def test_same_output_in_mixed_company(
    engine: VllmEngine, by_length: list[Case], concurrency: int, plain: int
) -> None:
    """Every example as the service drafts it, and among them short ones that draft otherwise or not at all."""
    jobs: list[tuple[Case, DraftRequest | None]] = [(case, case.rendered.draft_request(K)) for case in by_length]
    jobs += [(case, None) for case in by_length[:plain]]
    jobs += [(case, plan(altered(case.tokens, seed), k=24)) for seed, case in enumerate(by_length[:4])]
    jobs += [(case, plan(other.tokens)) for case, other in itertools.pairwise(by_length[:4])]
    random.Random(concurrency).shuffle(jobs)
    gate = asyncio.Semaphore(concurrency)

    async def one(case: Case, draft: DraftRequest | None) -> None:
        async with gate:
            answer = await case.ask(engine, draft)
        case.check_same(answer)

    await asyncio.gather(*(one(case, draft) for case, draft in jobs))


def altered(tokens: list[int], seed: int) -> list[int]:
    """The tokens with a few insertions, deletions and replacements."""
    rng, result = random.Random(seed), list(tokens)
    for _ in range(8):
        at = rng.randrange(len(result))
        result[at : at + rng.randrange(3)] = random_tokens(rng.randrange(4), rng.randrange(1000))
    return result


async def test_perfect_plan_saves_passes(engine: VllmEngine, short: Case) -> None:
    drafted = await short.ask(engine, plan(short.tokens))
    short.check_same(drafted)
    assert drafted.report.target_passes <= len(short.tokens) / 32 + 3
    assert len(drafted.outputs) <= drafted.report.target_passes


@pytest.mark.parametrize("kind", ["wrong at every seventh token", "right start, random rest", "another example"])
async def test_rubbish_changes_nothing_but_the_pass_count(engine: VllmEngine, by_length: list[Case], kind: str) -> None:
    case, other = by_length[:2]
    noise = random_tokens(len(case.tokens), 1)
    predicted = {
        "wrong at every seventh token": [
            noise[i] if i % 7 == 6 and noise[i] != token else token for i, token in enumerate(case.tokens)
        ],
        "right start, random rest": [*case.tokens[:20], *noise[20:]],
        "another example": [*case.tokens[:5], *other.tokens],
    }[kind]
    rubbish = await case.ask(engine, plan(predicted))
    case.check_same(rubbish)
    assert rubbish.report.rejected > 0


async def test_zero_draft_tokens_is_plain_decoding(engine: VllmEngine, short: Case) -> None:
    zero = await short.ask(engine, plan(short.tokens, k=0))
    short.check_same(zero)
    for report in (short.plain.report, zero.report):
        assert report.draft_lengths == {0: report.output_tokens}
        assert report.drafted == 0


# ---- ends inside an accepted block ----


@pytest.mark.parametrize("place", ["after its first draft token", "in its middle", "before its last token"])
async def test_token_limit_inside_an_accepted_block(
    engine: VllmEngine, short: Case, blocks: list[range], place: str
) -> None:
    block = blocks[len(blocks) // 2]
    max_tokens = {
        "after its first draft token": block.start + 2,
        "in its middle": block.start + len(block) // 2,
        "before its last token": block.stop - 1,
    }[place]
    cut = await short.ask(engine, plan(short.tokens), max_tokens=max_tokens)
    assert first_difference(short.tokens[:max_tokens], cut.tokens) is None
    assert cut.reason is FinishReason.LENGTH
    assert cut.accepted_last > 0


@pytest.mark.parametrize("which", [0, -1])
async def test_stop_token_inside_an_accepted_block(
    engine: VllmEngine, short: Case, blocks: list[range], which: int
) -> None:
    inside = [at for block in blocks for at in block[1:-1] if short.tokens.index(short.tokens[at]) == at]
    assert inside, "no block holds a token that was not seen before it"
    at = inside[which]
    stop = [short.tokens[at]]
    plain, drafted = [await short.ask(engine, draft, stop=stop) for draft in (None, plan(short.tokens))]
    for cut in (plain, drafted):
        assert first_difference(short.tokens[:at], cut.tokens) is None
        assert cut.reason is FinishReason.STOP
    assert drafted.accepted_last > 0
    assert drafted.trimmed > 0, "the draft went on after the stop token"


async def test_end_of_text_inside_an_accepted_block(engine: VllmEngine, by_length: list[Case]) -> None:
    assert engine.end_token is not None
    ended = [case for case in by_length if case.plain.reason is FinishReason.STOP][:3]
    assert ended, "the model ended none of its answers"
    answers: list[Answer] = []
    for case in ended:
        # The plan goes on after the end: the target must stop all the same.
        beyond = await case.ask(engine, plan([*case.tokens, engine.end_token, *case.tokens]))
        case.check_same(beyond)
        answers.append(beyond)
        foreseen = await case.ask(engine, plan(case.tokens, end_token=engine.end_token))
        case.check_same(foreseen)
        assert foreseen.report.target_passes <= len(case.tokens) / 32 + 3
    # It may be a pass's own token by chance, but not in each of them.
    assert any(answer.accepted_last > 0 and answer.trimmed > 0 for answer in answers)


# ---- sampling ----


@pytest.mark.parametrize("drafting", [False, True])
async def test_sampled_output_repeats_with_its_seed(engine: VllmEngine, short: Case, drafting: bool) -> None:
    draft = plan(short.tokens) if drafting else None
    # As hot as vLLM allows, so that no model repeats itself by chance.
    first, second = [await ask(engine, short.prompt, draft, temperature=2.0, seed=7) for _ in range(2)]
    other = await ask(engine, short.prompt, draft, temperature=2.0, seed=8)
    assert first.tokens == second.tokens != other.tokens
    assert (first.report.drafted > 0) is drafting


async def test_nearly_greedy_sampling_accepts_the_greedy_tokens(engine: VllmEngine, short: Case) -> None:
    """At a temperature near 0 the greedy tokens have all the probability: a draft of them is accepted whole."""
    # The model chooses how an answer begins by a hair, and no temperature that vLLM allows is low enough for that.
    begun, rest = [*short.prompt, *short.tokens[:BEGUN]], short.tokens[BEGUN:]
    drafted = await ask(engine, begun, plan(rest), temperature=0.0001, seed=7)
    assert first_difference(rest[:PART], drafted.tokens) is None
    assert drafted.report.target_passes <= PART / 32 + 3


async def test_sampled_neighbours_change_nothing_for_greedy_requests(engine: VllmEngine, by_length: list[Case]) -> None:
    some = by_length[:6]
    answers = await asyncio.gather(
        *(case.ask(engine, plan(case.tokens)) for case in some),
        *(ask(engine, case.prompt, plan(case.tokens), temperature=1.0) for case in some),
    )
    for case, answer in zip(some, answers[: len(some)], strict=True):
        case.check_same(answer)


# ---- aborts, failures, limits ----


async def rows_held(engine: VllmEngine, expected: float) -> float:
    """Requests that the drafter holds, once they are `expected` or after five seconds."""
    held = -1.0
    for _ in range(100):
        held = (await engine.draft_stats())["rows"]
        if held == expected:
            break
        await asyncio.sleep(0.05)
    return held


async def test_closing_the_iterator_aborts_the_request(engine: VllmEngine, by_length: list[Case]) -> None:
    case = by_length[-1]
    held = (await engine.draft_stats())["rows"]
    answer = engine.generate(GenerateRequest("closed", case.prompt, case.max_tokens, draft=plan(case.tokens, k=1)))
    async for output in answer:
        assert output.finish_reason is None
        break
    assert (await engine.draft_stats())["rows"] == held + 1
    await answer.aclose()
    assert await rows_held(engine, held) == held


async def test_cancelling_the_task_aborts_the_request(engine: VllmEngine, by_length: list[Case]) -> None:
    case = by_length[-1]
    task = asyncio.create_task(case.ask(engine, plan(case.tokens, k=1)))
    assert await rows_held(engine, 1) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await rows_held(engine, 0) == 0


async def test_reports_are_given_out_once_and_not_kept(engine: VllmEngine, by_length: list[Case]) -> None:
    before = (await engine.draft_stats())["reports"]
    await asyncio.gather(*(case.ask(engine, plan(case.tokens), max_tokens=20) for case in by_length[:5]))
    assert (await engine.draft_stats())["reports"] == before
    assert (await engine.draft_stats())["rows"] == 0


async def test_healthy_while_it_runs(engine: VllmEngine) -> None:
    await engine.check_health()


@pytest.mark.parametrize(("prompt_length", "max_tokens"), [(0, 10), (10, 0), (10, 1_000_000)])
async def test_request_that_cannot_fit_is_refused(engine: VllmEngine, prompt_length: int, max_tokens: int) -> None:
    with pytest.raises(ValueError, match=r"max_model_len|at least one token"):
        await ask(engine, random_tokens(prompt_length, 1), max_tokens=max_tokens)


async def test_requests_are_drafted_up_to_the_model_s_limit(engine: VllmEngine, by_length: list[Case]) -> None:
    """Within k tokens of its limit vLLM leaves drafters out, and drafts zeros for the whole batch; but not ours."""
    assert engine.max_model_len == engine.llm.model_config.max_model_len
    room = 40
    case = by_length[0]
    filler = itertools.cycle(token for other in by_length[1:] for token in other.tokens)
    # The example's file, and after it as much of others as the context holds.
    head, tail = case.prompt[: case.rendered.original.end], case.prompt[case.rendered.original.end :]
    prompt = [*head, *itertools.islice(filler, engine.max_model_len - room - len(case.prompt)), *tail]
    assert len(prompt) == engine.max_model_len - room
    plain = await ask(engine, prompt, max_tokens=room)
    drafted = await ask(engine, prompt, plan(plain.tokens), max_tokens=room)
    assert plain.reason is FinishReason.LENGTH
    assert drafted.tokens == plain.tokens
    assert drafted.report.target_passes < plain.report.target_passes
