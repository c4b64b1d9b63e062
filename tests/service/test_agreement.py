"""Whose text is the result where the model and the plan differ, by policy."""

from __future__ import annotations

import pytest

from drafts.align import plan_edit
from drafts.align.plan import Edit, Instruction, UpdateSnippet
from service.agreement import Agreement, AgreementPolicy
from service.config import AgreementConfig
from service.errors import ResultRejected
from service.merge import merge
from service.types import ApplyRequest, SourceFile, StopReason

DATA = b"def area(w, h):\r\n    return w * h\r\n\r\n\r\ndef half(x):\r\n    return x / 2\r\n"
TEXT = DATA.decode().replace("\r\n", "\n")
SNIPPET = UpdateSnippet("# ... existing code ...\n\n\ndef half(x):\n    return x // 2\n")
PREDICTED = TEXT.replace("x / 2", "x // 2")
OTHER = TEXT.replace("x / 2", "x * 0.5")


class Letters:
    """An answer whose token ids are code points. fails_at: this token is none that a file may hold."""

    stop_reason = StopReason.END_OF_TEXT

    def __init__(self, fails_at: int | None = None) -> None:
        self._fails_at = fails_at

    def feed(self, token_ids: list[int]) -> str:
        if self._fails_at in token_ids:
            raise ResultRejected("a control token", reason="RESULT_CONTROL_TOKEN")
        return "".join(map(chr, token_ids))

    def finish(self) -> str:
        return ""


def run(
    policy: AgreementPolicy,
    text: str,
    *,
    edit: Edit = SNIPPET,
    step: int = 7,
    cut: ResultRejected | None = None,
    answer: Letters | None = None,
    min_confidence: float = 0.9,
) -> tuple[list[bytes], bytes, Agreement]:
    request = ApplyRequest("id", SourceFile("a.py", DATA, TEXT, "python"), edit)
    plan = plan_edit(TEXT, edit, "python")
    config = AgreementConfig(policy=policy, min_confidence=min_confidence)
    merged = merge(request, plan, answer or Letters(), config)  # type: ignore[arg-type]  # the part of Answer in use
    tokens = [ord(letter) for letter in text]
    chunks = [merged.feed(tokens[i : i + step]) for i in range(0, len(tokens), step)]
    rest, agreement = merged.finish(cut)
    return chunks, b"".join(chunks) + rest, agreement


def crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


@pytest.mark.parametrize("policy", AgreementPolicy)
@pytest.mark.parametrize("written", [PREDICTED, PREDICTED.removesuffix("\n")])
def test_where_both_agree_every_policy_gives_that_text(policy: AgreementPolicy, written: str) -> None:
    chunks, data, agreement = run(policy, written)
    assert b"".join(chunks)
    assert (data, agreement) == (crlf(PREDICTED), Agreement.MODEL_AND_PLAN)


def test_a_line_too_many_is_a_difference() -> None:
    assert run(AgreementPolicy.MODEL, PREDICTED + "\n")[1:] == (crlf(PREDICTED + "\n"), Agreement.MODEL_ONLY)
    assert run(AgreementPolicy.PLAN, PREDICTED + "\n")[1:] == (crlf(PREDICTED), Agreement.PLAN_ONLY)


def test_a_plan_that_may_have_overlooked_a_deletion_agrees_with_no_unchanged_file() -> None:
    """The same lines stand together in one place, and around two others in another."""
    quoted = "open\nread\nclose\nstart\nrun\nstop\n"
    doubtful = "first\n" + quoted + "second\nopen\nread\nclose\nold\nolder\nstart\nrun\nstop\nthird\n"
    for text, sure in ((doubtful, False), ("first\n" + quoted + "second\n", True)):
        edit = UpdateSnippet(f"# ...\n{quoted}# ...\n")
        request = ApplyRequest("id", SourceFile("a.py", text.encode(), text, "python"), edit)
        plan = plan_edit(text, edit, "python")
        assert plan.predicted == text
        for policy, said in (
            (AgreementPolicy.MODEL, Agreement.MODEL_ONLY),
            (AgreementPolicy.PLAN, Agreement.MODEL_ONLY),
            (AgreementPolicy.REFUSE, None),
        ):
            merged = merge(request, plan, Letters(), AgreementConfig(policy=policy))  # type: ignore[arg-type]
            start = merged.feed([ord(letter) for letter in text])
            if said is None and not sure:
                with pytest.raises(ResultRejected) as caught:
                    merged.finish()
                assert caught.value.reason == "RESULT_DIFFERS_FROM_PLAN"
                continue
            rest, agreement = merged.finish()
            assert start + rest == text.encode()
            assert agreement is (Agreement.MODEL_AND_PLAN if sure else said)


def test_the_models_text() -> None:
    _, data, agreement = run(AgreementPolicy.MODEL, OTHER)
    assert (data, agreement) == (crlf(OTHER), Agreement.MODEL_ONLY)


@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_the_plans_text(step: int) -> None:
    chunks, data, agreement = run(AgreementPolicy.PLAN, OTHER, step=step)
    assert (data, agreement) == (crlf(PREDICTED), Agreement.PLAN_ONLY)
    assert crlf(PREDICTED).startswith(b"".join(chunks))
    assert step > 7 or b"".join(chunks).startswith(b"def area")  # it did stream


def test_nothing() -> None:
    with pytest.raises(ResultRejected) as caught:
        run(AgreementPolicy.REFUSE, OTHER)
    assert caught.value.reason == "RESULT_DIFFERS_FROM_PLAN"
    assert "0.5" not in caught.value.message


def test_an_unsure_plan_is_not_preferred() -> None:
    _, data, agreement = run(AgreementPolicy.PLAN, OTHER, min_confidence=1.0)
    if plan_edit(TEXT, SNIPPET, "python").confidence < 1.0:
        assert (data, agreement) == (crlf(OTHER), Agreement.MODEL_ONLY)
    else:
        assert agreement is Agreement.PLAN_ONLY


@pytest.mark.parametrize("policy", AgreementPolicy)
def test_an_instruction_has_no_plan_to_agree_with(policy: AgreementPolicy) -> None:
    _, data, agreement = run(policy, OTHER, edit=Instruction("halve by multiplying"))
    assert (data, agreement) == (crlf(OTHER), Agreement.MODEL_ONLY)


def test_a_plan_stands_in_for_an_answer_that_is_no_result() -> None:
    cut = ResultRejected("cut", reason="RESULT_TRUNCATED")
    with pytest.raises(ResultRejected, match="cut"):
        run(AgreementPolicy.MODEL, PREDICTED[:40], cut=cut)
    expected = (crlf(PREDICTED), Agreement.PLAN_ONLY)
    assert run(AgreementPolicy.PLAN, PREDICTED[:40], cut=cut)[1:] == expected
    assert run(AgreementPolicy.PLAN, "", cut=None)[1:] == expected
    assert run(AgreementPolicy.PLAN, PREDICTED[:40] + "\0", answer=Letters(0))[1:] == expected
    with pytest.raises(ResultRejected, match="control token"):
        run(AgreementPolicy.MODEL, PREDICTED[:40] + "\0", answer=Letters(0))
