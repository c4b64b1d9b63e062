"""The run, on an engine that emits what it is told; test_engine.py runs the real one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

import pytest

from drafts.align.plan import UpdateSnippet
from evals.corpus.cases import Case, cases
from evals.corpus.records import EditRecord
from evals.identity.decode import Decoder, Refused
from evals.identity.engine import Decoded, Likeliest
from evals.identity.measure import Plan, decodings, measure
from evals.identity.report import IdentityReport, describe, render
from evals.identity.samples import IdentitySample
from evals.run_file import OtherRunError
from service.config import EMBEDDED_MODEL_PATH, PromptFormatName, Settings
from service.engine.base import GenerateRequest
from service.engine.scripted import Script, ScriptedEngine
from service.prompts import load_prompt_format
from service.prompts.tokenization import TextTokenizer

SETTINGS = Settings()
FORMAT = load_prompt_format(PromptFormatName.EMBEDDED, EMBEDDED_MODEL_PATH)
TOKENIZER = TextTokenizer.load(EMBEDDED_MODEL_PATH)
Alter = Callable[[GenerateRequest, list[int]], list[int]]


def record(number: int, lines: int = 12) -> EditRecord:
    before = "".join(f"value_{number}_{line} = {line}\n" for line in range(lines))
    return EditRecord(f"id{number}", "r", "c", "a.py", "python", "MIT", "", before, before.replace("_5 = 5", "_5 = 55"))


CASES, _ = cases([record(number) for number in range(5)], "update", 0)


class RecordedScript(ScriptedEngine):
    """Answers a prompt with the tokens that were predicted for it, altered as a test wants, three tokens a pass."""

    def __init__(self, alter: Alter) -> None:
        self._predicted: dict[tuple[int, ...], list[int]] = {}
        self._alter = alter
        self.decoded: dict[str, Decoded] = {}
        super().__init__(self._answer)

    def _answer(self, request: GenerateRequest) -> Script:
        prompt = tuple(request.prompt)
        if request.draft is not None:
            self._predicted[prompt] = list(request.draft.predicted)
        tokens = self._alter(request, list(self._predicted[prompt]))
        width = 3 if request.draft is not None else 1
        emitted = (1, *[width] * ((len(tokens) - 1) // width))
        drafts = tuple((width + 2, width - 1) for _ in emitted[1:]) if width > 1 else ()
        self.decoded[request.request_id] = Decoded(request, tuple(tokens), emitted, drafts, whole=True)
        return Script([tokens])

    def take(self, request_id: str) -> Decoded | None:
        return self.decoded.pop(request_id, None)

    async def likeliest(self, request: GenerateRequest, prefix: Sequence[int]) -> Likeliest | None:
        return Likeliest((1, 2), (-0.25, -1.5)) if request.draft is None else None


async def run(
    alter: Alter, plan: Plan, chosen: Sequence[Case] = CASES
) -> tuple[list[IdentitySample], dict[str, str], int]:
    engine = RecordedScript(alter)
    # So that the answer without a draft is known, too.
    decoder = Decoder(engine, FORMAT, SETTINGS)
    for case in chosen:
        with contextlib.suppress(Refused):
            await decoder.decode(case, drafted=True)
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count

    samples: list[IdentitySample] = []
    refused: dict[str, str] = {}
    async for chunk in measure(chosen, decoder, engine, plan, text=lambda token: b"<%d>" % token, advance=advance):
        samples += chunk.samples
        refused |= chunk.refused
    return samples, refused, done


def unaltered(request: GenerateRequest, tokens: list[int]) -> list[int]:
    return tokens


def report_of(samples: Sequence[IdentitySample]) -> IdentityReport:
    report = IdentityReport({}, {}, {}, "copy")
    report.add("update", samples, {})
    return report


async def test_the_same_output_is_identical_in_every_way() -> None:
    plan = Plan((1, 2))
    samples, refused, done = await run(unaltered, plan)
    assert refused == {}
    assert done == decodings(len(CASES), plan) == 5 * (2 + 2 + 2)
    assert [(row.concurrency, row.identical.rate, row.control.rate) for row in report_of(samples).rows] == [
        (1, 1.0, 1.0),
        (2, 1.0, 1.0),
    ]
    assert all(sample.repeated and sample.elsewhere and sample.status == "OK" for sample in samples)


async def test_a_drafter_that_alters_the_output_is_caught() -> None:
    def planted(request: GenerateRequest, tokens: list[int]) -> list[int]:
        if request.draft is not None and b"value_3" in b"".join(map(TOKENIZER.token_bytes, request.prompt)):
            tokens[7] += 1
        return tokens

    samples, _, _ = await run(planted, Plan((1,)))
    report = report_of(samples)
    (row,) = report.rows
    assert (row.identical.count, row.identical.total) == (4, 5)
    assert row.control.rate == 1  # it is the drafter's doing
    ((name, difference),) = row.differences
    assert (name, difference.position, difference.pass_width) == ("id3", 7, 6)
    assert difference.drafted.token == (difference.plain.token or 0) + 1
    assert difference.plain.text == f"<{difference.plain.token}>"
    assert difference.plain.margin == 1.25
    assert difference.drafted.margin is None
    assert "token 7 is" in describe(difference)
    assert report.to_json()["rows"][0]["identical_rate"] == 0.8
    render(report)


@pytest.mark.parametrize("cut", [0, 5])
async def test_an_output_that_ends_early_is_a_difference(cut: int) -> None:
    samples, _, _ = await run(lambda request, tokens: tokens[:cut] if request.draft else tokens, Plan((1,)), CASES[:1])
    difference = samples[0].difference
    assert difference is not None
    assert (difference.position, difference.drafted.token) == (cut, None)
    assert difference.plain.token is not None


async def test_a_machine_that_never_answers_twice_the_same_shows_in_the_control() -> None:
    turns = iter(range(1000))

    def unsteady(request: GenerateRequest, tokens: list[int]) -> list[int]:
        return tokens if request.draft else [*tokens[:-1], next(turns)]

    samples, _, _ = await run(unsteady, Plan((1,)), CASES[:2])
    (row,) = report_of(samples).rows
    assert (row.identical.rate, row.control.rate, row.repeated.rate, row.elsewhere.rate) == (0, 0, 0, 0)


async def test_only_so_many_are_repeated() -> None:
    samples, _, done = await run(unaltered, Plan((1,), repeats=2))
    assert [sample.repeated for sample in samples] == [True, True, None, None, None]
    assert done == decodings(5, Plan((1,), repeats=2)) == 5 * 3 + 2


async def test_what_no_engine_is_asked_for_is_named_and_not_counted() -> None:
    large = Case(record(9, lines=9000), "update", UpdateSnippet("# ... existing code ...\nx = 1\n"))
    samples, refused, done = await run(unaltered, Plan((1,)), [large, CASES[0]])
    assert refused == {"id9": "OVER_CONTEXT"}
    assert [sample.id for sample in samples] == ["id0"]
    assert done == decodings(2, Plan((1,)))


async def test_a_report_is_read_back_and_says_what_is_done() -> None:
    samples, _, _ = await run(lambda request, tokens: tokens[:9] if request.draft else tokens, Plan((1,)), CASES[:2])
    report = report_of(samples)
    again = IdentityReport.from_json(report.to_json())
    assert again == report
    digests = {sample.id: sample.digest for sample in samples}
    assert again.done("update", digests, (1,)) == {"id0", "id1"}
    assert again.done("update", digests, (1, 8)) == set()
    assert again.done("diff", digests, (1,)) == set()
    assert again.done("update", digests | {"id1": "other"}, (1,)) == {"id0"}
    again.add("update", samples, {})
    assert again == report  # a second run of the same edits replaces the first


@pytest.mark.parametrize("record", [None, [], {"schema": 2, "kind": "identity"}, {"schema": 1, "kind": "identity"}])
def test_what_is_no_report_is_refused(record: object) -> None:
    with pytest.raises(OtherRunError):
        IdentityReport.from_json(record)
