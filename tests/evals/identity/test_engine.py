"""Identity on the real engine: what it keeps of its answers, and that an altered token is found with its margin."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from drafts.align.plan import UpdateSnippet
from evals.corpus.cases import Case
from evals.corpus.records import EditRecord
from evals.example_edits import load_examples
from evals.identity.decode import Decoder
from evals.identity.engine import RecordingEngine
from evals.identity.measure import Plan, measure
from service.config import DraftingConfig, EngineConfig, Settings
from service.engine.base import GenerateRequest, Output
from service.engine.vllm import VllmEngine
from service.prompts import load_prompt_format
from service.prompts.tokenization import TextTokenizer

pytestmark = pytest.mark.engine

SETTINGS = Settings(engine=EngineConfig(kv_cache_gib=1, cpu_threads=1), drafting=DraftingConfig(max_draft_tokens=64))


class Altering(VllmEngine):
    """Once `position` is set, the token there of every drafted output is another one: a drafter with a bug."""

    position: int | None = None

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Output]:
        seen = 0
        async with contextlib.aclosing(super().generate(request)) as outputs:
            async for output in outputs:
                tokens = list(output.token_ids)
                if (
                    self.position is not None
                    and request.draft is not None
                    and seen <= self.position < seen + len(tokens)
                ):
                    tokens[self.position - seen] ^= 1
                seen += len(tokens)
                yield replace(output, token_ids=tokens)


class AlteringRecorder(RecordingEngine, Altering):
    """The real engine, with the bug between it and what is recorded."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def recorder() -> AsyncIterator[AlteringRecorder]:
    engine = AlteringRecorder(SETTINGS)
    await engine.start()
    yield engine
    await engine.close()


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """The two shortest example edits."""
    examples = sorted(load_examples(), key=lambda example: len(example.original))
    records = [
        EditRecord(e.name, "r", "c", e.path, e.language, "MIT", "", e.original, e.expected)
        for e in examples
        if isinstance(e.edit, UpdateSnippet)
    ]
    edits = {example.name: example.edit for example in examples}
    return [Case(record, "update", edits[record.id]) for record in records[:2]]


async def test_real_outputs_are_identical_and_a_planted_bug_is_found(
    recorder: AlteringRecorder, cases: list[Case]
) -> None:
    prompt_format = load_prompt_format(SETTINGS.model.prompt_format, SETTINGS.model.path)
    decoder = Decoder(recorder, prompt_format, SETTINGS)
    text = TextTokenizer.load(SETTINGS.model.path).token_bytes

    drafted = (await decoder.decode(cases[0], drafted=True)).trace
    plain = (await decoder.decode(cases[0], drafted=False)).trace
    assert drafted.tokens == plain.tokens
    assert plain.drafts == ()
    assert len(plain.emitted) == len(plain.tokens) + 1  # a token a pass, and the end
    assert len(drafted.emitted) < len(plain.emitted) / 5
    widths = [drafted.pass_width(position) for position in range(len(drafted.tokens))]
    assert {plain.pass_width(position) for position in range(len(plain.tokens))} == {1}
    assert 16 < max(width for width in widths if width is not None) <= 65
    assert widths[0] == 1

    async def samples(plan: Plan) -> list[tuple[bool, bool | None, bool | None]]:
        found = []
        async for chunk in measure(cases, decoder, recorder, plan, text=text):
            found += [(s.difference is None, s.repeated, s.elsewhere) for s in chunk.samples]
            differences.extend(s.difference for s in chunk.samples if s.difference is not None)
        return found

    differences: list[object] = []
    assert await samples(Plan((2,), repeats=0)) == [(True, None, True)] * 2

    recorder.position = 40
    assert await samples(Plan((2,), repeats=0)) == [(False, None, True)] * 2
    async for chunk in measure(cases[:1], decoder, recorder, Plan((1,), repeats=0), text=text):
        difference = chunk.samples[0].difference
        assert difference is not None
        assert (difference.position, difference.pass_width) == (40, widths[40])
        assert difference.plain.token == plain.tokens[40]
        assert difference.drafted.token == plain.tokens[40] ^ 1
        assert difference.plain.likeliest is not None
        assert difference.plain.likeliest[0] == plain.tokens[40]
        assert difference.plain.margin is not None
        assert difference.plain.margin > 0
        # Asked again, the engine itself is right: the bug was planted behind it.
        assert difference.drafted.likeliest == difference.plain.likeliest
        assert difference.drafted.margin == pytest.approx(difference.plain.margin, abs=1e-3)
