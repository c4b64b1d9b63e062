"""The pipeline on the scripted engine and the embedded model's tokenizer."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from drafts.align import Edit, Instruction, SearchReplace, SearchReplaceBlock, UnifiedDiff, UpdateSnippet, plan_edit
from drafts.align.plan import Plan, Span
from evals.example_edits import ExampleEdit, load_examples
from service.agreement import Agreement
from service.config import EMBEDDED_MODEL_PATH, DraftingConfig, PromptFormatName, Settings
from service.engine.base import GenerateRequest
from service.engine.scripted import Script, ScriptedEngine
from service.errors import EditNotApplicable, EngineUnavailable, InvalidRequest, ResultRejected
from service.pipeline import Pipeline
from service.prompts import load_prompt_format
from service.prompts.base import Answer, RenderedPrompt, TokenSpan, expect
from service.prompts.cutters import WholeAnswer
from service.prompts.tokenization import TextTokenizer
from service.text_stream import TextStream
from service.types import (
    ApplyRequest,
    ApplyResult,
    DraftOptions,
    Hunk,
    Newline,
    RequestClass,
    Sampling,
    SourceFile,
    StopReason,
    TextChunk,
)

TOKENIZER = TextTokenizer.load(EMBEDDED_MODEL_PATH)
FORMAT = load_prompt_format(PromptFormatName.EMBEDDED, EMBEDDED_MODEL_PATH)
EOS = TOKENIZER.control_id("<eos>")
DATA = b"import os\r\n\r\n\r\ndef size(path):\r\n    return os.stat(path).st_size\r\n"
TEXT = DATA.decode().replace("\r\n", "\n")
EDIT = UpdateSnippet("# ... existing code ...\ndef size(path):\n    return os.path.getsize(path)  # caf\u00e9\n")
EDITED = TEXT.replace("os.stat(path).st_size", "os.path.getsize(path)  # caf\u00e9")
FILE = SourceFile("a.py", DATA, TEXT, "python", Newline.CRLF)


def request(
    edit: Edit = EDIT, *, file: SourceFile = FILE, sampling: Sampling | None = None, draft: DraftOptions | None = None
) -> ApplyRequest:
    return ApplyRequest("r1", file, edit, sampling=sampling or Sampling(), draft=draft or DraftOptions())


def script(text: str, *, step: int = 4, end: bool = True) -> Script:
    token_ids = TOKENIZER.encode_text(text) + ([EOS] if end else [])
    return Script([token_ids[at : at + step] for at in range(0, len(token_ids), step)])


def pipeline(engine: ScriptedEngine, settings: Settings | None = None) -> Pipeline:
    return Pipeline(engine, FORMAT, settings or Settings())


async def run(
    engine: ScriptedEngine, applied: ApplyRequest, settings: Settings | None = None
) -> tuple[list[bytes], ApplyResult]:
    chunks: list[bytes] = []
    results: list[ApplyResult] = []
    async for event in pipeline(engine, settings).apply(applied):
        if isinstance(event, TextChunk):
            assert not results
            chunks.append(event.data)
        else:
            results.append(event)
    (result,) = results
    return chunks, result


async def failure(engine: ScriptedEngine, applied: ApplyRequest) -> Exception:
    with pytest.raises((ResultRejected, InvalidRequest, EditNotApplicable, EngineUnavailable)) as caught:
        await run(engine, applied)
    return caught.value


@pytest.mark.parametrize("step", [1, 3, 1000])
async def test_applies_and_streams(step: int) -> None:
    engine = ScriptedEngine(script(EDITED, step=step))
    chunks, result = await run(engine, request())
    expected = EDITED.replace("\n", "\r\n").encode()
    assert result.data == b"".join(chunks) == expected
    assert all(chunks)
    start = DATA.index(b"    return")
    assert result.hunks == (Hunk(Span(start, len(DATA)), Span(start, len(expected))),)
    assert result.agreement is Agreement.MODEL_AND_PLAN
    assert result.plan.predicted == EDITED
    assert result.stop_reason is StopReason.END_OF_TEXT
    assert result.output_tokens == len(TOKENIZER.encode_text(EDITED))
    assert result.report.output_tokens == result.output_tokens + 1
    assert result.model == Settings().model.name
    (asked,) = engine.requests
    assert result.prompt_tokens == len(asked.prompt)
    assert asked.stop_token_ids == (EOS,)
    assert engine.aborted == []
    timing = result.timing
    assert 0 < timing.align <= timing.first_text <= timing.total


async def test_streams_before_the_end() -> None:
    chunks, _ = await run(ScriptedEngine(script(EDITED, step=1)), request())
    assert len(chunks) > 10


@pytest.mark.parametrize("example", load_examples(), ids=lambda example: example.name)
async def test_what_the_examples_expect_is_a_success(example: ExampleEdit) -> None:
    file = SourceFile(example.path, example.original.encode(), example.original, example.language)
    _, result = await run(ScriptedEngine(script(example.expected, step=50)), request(example.edit, file=file))
    assert result.data == example.expected.encode()
    assert result.hunks


async def test_says_when_the_model_differs_from_the_plan() -> None:
    other = EDITED.replace("# caf\u00e9", "# tea")
    _, result = await run(ScriptedEngine(script(other)), request())
    assert result.data == other.replace("\n", "\r\n").encode()
    assert result.agreement is Agreement.MODEL_ONLY


class AnyPlan:
    """A format that asks whatever the plan is worth, as those for instruct models do."""

    def render(self, applied: ApplyRequest, plan: Plan) -> RenderedPrompt:
        tokens = TOKENIZER.encode_text(applied.file.text)
        return RenderedPrompt(
            token_ids=tuple(tokens),
            original=TokenSpan(0, len(tokens)),
            edit=TokenSpan(len(tokens), len(tokens)),
            stop_token_ids=(EOS,),
            expected=expect(TOKENIZER, plan, end_token=EOS),
            new_answer=lambda: Answer(TextStream(TOKENIZER), WholeAnswer()),
        )


UNPLACEABLE = [
    UpdateSnippet("# ... existing code ...\nnowhere = to_be_found()\n# ... existing code ...\n"),
    UnifiedDiff("@@ -900 +900 @@\n-no such line\n+another\n"),
    SearchReplace((SearchReplaceBlock("no such text", "x"),)),
]


async def _answered(edit: Edit, text: str) -> ApplyResult:
    events = Pipeline(ScriptedEngine(script(text)), AnyPlan(), Settings()).apply(request(edit))
    results = [event async for event in events if isinstance(event, ApplyResult)]
    return results[0]


@pytest.mark.parametrize("edit", UNPLACEABLE, ids=lambda edit: type(edit).__name__)
async def test_an_edit_without_a_place_is_no_success_where_the_model_changes_nothing(edit: Edit) -> None:
    assert plan_edit(TEXT, edit, "python").confidence == 0
    with pytest.raises(EditNotApplicable) as caught:
        await _answered(edit, TEXT)
    assert caught.value.reason == "EDIT_NOT_PLACED"
    result = await _answered(edit, EDITED)
    assert result.hunks
    assert result.agreement is Agreement.MODEL_ONLY


async def test_an_instruction_has_no_prediction_to_agree_with() -> None:
    result = await _answered(Instruction("change nothing"), TEXT)
    assert result.hunks == ()
    assert result.agreement is Agreement.MODEL_ONLY


async def test_an_edit_that_is_there_already_is_a_success() -> None:
    block = "    return os.stat(path).st_size\n"
    result = await _answered(SearchReplace((SearchReplaceBlock(block, block),)), TEXT)
    assert result.hunks == ()
    assert result.agreement is Agreement.MODEL_AND_PLAN


async def test_hands_the_plan_to_the_drafter() -> None:
    engine = ScriptedEngine(script(EDITED))
    await run(engine, request())
    draft = engine.requests[0].draft
    assert draft is not None
    assert list(draft.predicted) == TOKENIZER.encode_text(EDITED)
    assert list(draft.original) == TOKENIZER.encode_text(TEXT)
    assert draft.end_token == EOS
    assert draft.newline_tokens == TOKENIZER.newline_tokens & {*engine.requests[0].prompt, *draft.predicted}
    assert draft.max_draft_tokens == Settings().drafting.max_draft_tokens


@pytest.mark.parametrize(
    ("options", "config", "expected"),
    [
        (DraftOptions(max_draft_tokens=5), DraftingConfig(), 5),
        (DraftOptions(max_draft_tokens=500), DraftingConfig(max_draft_tokens=64), 64),
        (DraftOptions(max_draft_tokens=0), DraftingConfig(), None),
        (DraftOptions(enabled=False), DraftingConfig(), None),
        (DraftOptions(), DraftingConfig(enabled=False), None),
    ],
)
async def test_draft_options(options: DraftOptions, config: DraftingConfig, expected: int | None) -> None:
    engine = ScriptedEngine(script(EDITED))
    await run(engine, request(draft=options), Settings(drafting=config))
    draft = engine.requests[0].draft
    assert (draft.max_draft_tokens if draft is not None else None) == expected


async def test_sampling_reaches_the_engine() -> None:
    engine = ScriptedEngine(script(EDITED))
    await run(engine, request(sampling=Sampling(temperature=0.5, seed=7, max_output_tokens=123)))
    (asked,) = engine.requests
    assert (asked.temperature, asked.seed, asked.max_tokens) == (0.5, 7, 123)


async def test_whoever_waits_comes_before_a_batch() -> None:
    engine = ScriptedEngine(script(EDITED))
    for request_class in (RequestClass.BATCH, RequestClass.INTERACTIVE):
        await run(engine, replace(request(), request_class=request_class))
    batch, interactive = engine.requests
    assert interactive.priority < batch.priority


async def test_the_default_budget_covers_more_than_the_plan() -> None:
    engine = ScriptedEngine(script(EDITED))
    await run(engine, request())
    assert engine.requests[0].max_tokens > 1.5 * len(TOKENIZER.encode_text(EDITED))


async def test_the_budget_ends_where_the_context_does() -> None:
    engine = ScriptedEngine(script(EDITED), max_model_len=180)
    await run(engine, request(sampling=Sampling(max_output_tokens=10_000)))
    (asked,) = engine.requests
    assert asked.max_tokens + len(asked.prompt) == 180


async def test_over_the_context() -> None:
    engine = ScriptedEngine(script(EDITED), max_model_len=100)
    error = await failure(engine, request())
    assert isinstance(error, InvalidRequest)
    (violation,) = error.violations
    assert (violation.field, violation.reason) == ("file.content", "OVER_CONTEXT")
    assert "100" in violation.description
    assert engine.requests == []


@pytest.mark.parametrize("limit", [1, 10, len(TOKENIZER.encode_text(EDITED))])
async def test_cut_by_the_budget_is_never_a_success(limit: int) -> None:
    error = await failure(ScriptedEngine(script(EDITED)), request(sampling=Sampling(max_output_tokens=limit)))
    assert isinstance(error, ResultRejected)
    assert error.reason == "RESULT_TRUNCATED"
    assert "max_output_tokens" in error.message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "RESULT_EMPTY"),
        ("# ... existing code ...\n" + EDITED[-60:], "RESULT_HAS_ELISION"),
    ],
)
async def test_the_guard_refuses(text: str, reason: str) -> None:
    error = await failure(ScriptedEngine(script(text)), request())
    assert isinstance(error, ResultRejected)
    assert error.reason == reason


async def test_a_form_that_the_model_cannot_do() -> None:
    engine = ScriptedEngine(script(EDITED))
    error = await failure(engine, request(Instruction("Use getsize.")))
    assert isinstance(error, EditNotApplicable)
    assert engine.requests == []


async def test_large_files_are_worked_on_in_threads() -> None:
    text = "".join(f"line {number}\n" for number in range(4000))
    file = SourceFile("a.txt", text.encode(), text, "text")
    edit = SearchReplace((SearchReplaceBlock("line 2000\n", "line two thousand\n"),))
    expected = text.replace("line 2000\n", "line two thousand\n")
    engine = ScriptedEngine(script(expected, step=64), max_model_len=100_000)
    _, result = await run(engine, request(edit, file=file))
    assert result.data == expected.encode()
    assert result.agreement is Agreement.MODEL_AND_PLAN


async def test_closing_early_aborts_the_engines_request() -> None:
    engine = ScriptedEngine(script(EDITED, step=1))
    async with aclosing(pipeline(engine).apply(request())) as events:
        async for _ in events:
            break
    assert engine.aborted == ["r1"]


async def test_a_refused_answer_aborts_the_engines_request() -> None:
    keep = TOKENIZER.control_id("<keep>")
    engine = ScriptedEngine(Script([[keep], *script(EDITED).chunks]))
    error = await failure(engine, request())
    assert isinstance(error, ResultRejected)
    assert error.reason == "RESULT_CONTROL_TOKEN"
    assert engine.aborted == ["r1"]


async def test_a_dead_engine_is_unavailable() -> None:
    engine = ScriptedEngine(Script(script(EDITED).chunks, fail_after=2))
    assert isinstance(await failure(engine, request()), EngineUnavailable)


async def test_requests_do_not_mix() -> None:
    texts = [EDITED + f"# {number}\n" for number in range(8)]

    def by_seed(asked: GenerateRequest) -> Script:
        return script(texts[asked.seed or 0], step=1)

    shared = pipeline(ScriptedEngine(by_seed))

    async def one(seed: int) -> bytes:
        async for event in shared.apply(request(sampling=Sampling(seed=seed))):
            if isinstance(event, ApplyResult):
                return event.data
        raise AssertionError("no result")

    results = await asyncio.gather(*map(one, range(8)))
    assert results == [text.replace("\n", "\r\n").encode() for text in texts]
