"""From the model's tokens to the bytes that are sent: whose text becomes the result, and when that is known.

Two independent merges of the edit exist, the model's and the plan's (drafts/align). AgreementPolicy says which counts
where they differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from drafts.align.plan import Instruction, Plan
from service.agreement import SURE, Agreement, AgreementPolicy
from service.config import AgreementConfig
from service.errors import EditNotApplicable, ResultRejected
from service.finish import ResultStream
from service.guard import check
from service.prompts.base import Answer
from service.types import ApplyRequest, StopReason


def merge(request: ApplyRequest, plan: Plan, answer: Answer, config: AgreementConfig) -> ModelText:
    """answer: a fresh one."""
    placed = is_placed(request, plan)
    if config.policy is AgreementPolicy.PLAN and placed and plan.confidence >= config.min_confidence:
        return PlanFirst(request, plan, answer)
    return ModelText(request, plan, answer, refuse=config.policy is AgreementPolicy.REFUSE and placed)


def is_placed(request: ApplyRequest, plan: Plan) -> bool:
    """Whether there is a predicted text to agree with."""
    return plan.confidence > 0 and not isinstance(request.edit, Instruction)


def is_in_doubt(request: ApplyRequest, plan: Plan) -> bool:
    """Whether the plan leaves the file as it is, but is not sure of that.

    Lines that only quote the file may as well be the context of a deletion: two merges overlook that alike.
    """
    return plan.confidence < SURE and plan.predicted == request.file.text


class ModelText:
    """The model's text is the result, and is sent as it comes. refuse: only where it is the predicted one."""

    def __init__(self, request: ApplyRequest, plan: Plan, answer: Answer, *, refuse: bool = False) -> None:
        self._request = request
        self._plan = plan
        self._answer = answer
        self._refuse = refuse
        self._result = ResultStream(request.file, plan.predicted)

    @property
    def stop_reason(self) -> StopReason:
        return self._answer.stop_reason

    def feed(self, token_ids: Sequence[int]) -> bytes:
        """The bytes to send now. Raises ResultRejected for what no file holds."""
        return self._send(self._answer.feed(token_ids))

    def finish(self, cut: ResultRejected | None = None) -> tuple[bytes, Agreement]:
        """The last bytes, and whose text the result is. cut: the failure to raise when the answer was cut short.

        Raises ResultRejected, and EditNotApplicable for an edit that neither plan nor model found a place for.
        """
        if cut is not None:
            raise cut
        rest = self._send(self._answer.finish()) + self._result.finish()
        text = self._result.text
        placed = is_placed(self._request, self._plan)
        if not placed and not isinstance(self._request.edit, Instruction) and text == self._request.file.text:
            raise _not_placed()
        check(self._request, self._plan, text)
        if placed and text == self._plan.predicted and not is_in_doubt(self._request, self._plan):
            return rest, Agreement.MODEL_AND_PLAN
        if self._refuse:
            raise _differs()
        return rest, Agreement.MODEL_ONLY

    def _send(self, text: str) -> bytes:
        return self._result.feed(text)


class PlanFirst(ModelText):
    """The predicted text is the result. It is sent as long as the model writes the same, and the rest at the end."""

    def __init__(self, request: ApplyRequest, plan: Plan, answer: Answer) -> None:
        super().__init__(request, plan, answer)
        self._predicted = ResultStream(request.file, plan.predicted)
        self._sent = 0
        self._departed = False
        self._failed = False

    def feed(self, token_ids: Sequence[int]) -> bytes:
        if self._failed:
            return b""
        try:
            return super().feed(token_ids)
        except ResultRejected:
            self._failed = True
            return b""

    def finish(self, cut: ResultRejected | None = None) -> tuple[bytes, Agreement]:
        agreement = Agreement.PLAN_ONLY
        if not self._failed:
            try:
                # What the model's text would end with is of no interest: its bytes are the same or not wanted.
                _, model = super().finish(cut)
            except (ResultRejected, EditNotApplicable):
                pass
            else:
                agreement = model if model is Agreement.MODEL_AND_PLAN else agreement
        return self._predicted.feed(self._plan.predicted[self._sent :]) + self._predicted.finish(), agreement

    def _send(self, text: str) -> bytes:
        self._result.feed(text)
        if self._departed or not self._plan.predicted.startswith(text, self._sent):
            self._departed = True
            return b""
        self._sent += len(text)
        return self._predicted.feed(text)


def _differs() -> ResultRejected:
    return ResultRejected(
        "aligning the edit with the file does not surely predict the model's text, and this service answers only where "
        "both agree; send more of the code around the change, or a unified diff or search/replace blocks",
        reason="RESULT_DIFFERS_FROM_PLAN",
    )


def _not_placed() -> EditNotApplicable:
    return EditNotApplicable(
        "no place for the edit was found in the file, and the model left the file as it is; send more of the code "
        "around the change, or a unified diff or search/replace blocks that match the file",
        reason="EDIT_NOT_PLACED",
    )
