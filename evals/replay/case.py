"""One edit in one form, ready to replay: the prompt, the plan as the service would hand it over, the output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from drafts.align import plan_edit
from drafts.align.plan import Edit, Instruction, Plan
from drafts.core.types import DraftRequest
from evals.corpus.records import EditRecord
from evals.replay.forms import lf
from service.prompts.base import Answer, PromptBuilder, RenderedPrompt, TokenSpan, expect
from service.prompts.chat import edit_text
from service.prompts.cutters import WholeAnswer
from service.prompts.tokenization import TextTokenizer
from service.text_stream import TextStream
from service.types import ApplyRequest, SourceFile

END_TOKEN: Final = 2**31 - 1
"""Stands for whatever ends the model's turn. No vocabulary holds it."""


@dataclass(frozen=True, slots=True)
class ReplayCase:
    """prompt: rendered as a model would get it. output: the tokens that it would emit, its end token included."""

    record_id: str
    form: str
    plan: Plan
    prompt: RenderedPrompt
    output: tuple[int, ...]
    token_bytes: Callable[[int], bytes]

    def draft_request(self, k: int) -> DraftRequest:
        """What the worker hands to the drafter: the service's request, and the tokenizer's bytes."""
        return replace(self.prompt.draft_request(k), token_bytes=self.token_bytes)

    @property
    def capacity(self) -> int:
        """Tokens of prompt and output together."""
        return len(self.prompt.token_ids) + len(self.output)


class ReplayFormat:
    """A prompt format for any tokenizer and every form: the file, the edit, and a line of instruction.

    The answer is the bare file, until END_TOKEN.
    """

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer

    def render(self, request: ApplyRequest, plan: Plan) -> RenderedPrompt:
        encode = self._tokenizer.encode_text
        prompt = PromptBuilder()
        prompt.add(encode(f"The file {request.file.path}:\n\n"))
        original = prompt.add(encode(request.file.text))
        instruction = isinstance(request.edit, Instruction)
        prompt.add(encode("\n\nWhat the edit is to do:\n\n" if instruction else "\n\nThe edit:\n\n"))
        told = request.edit.text if isinstance(request.edit, Instruction) else edit_text(request.edit)
        edit = prompt.add(encode(told))
        prompt.add(encode("\n\nThe whole edited file:\n\n"))
        return RenderedPrompt(
            token_ids=tuple(prompt.token_ids),
            original=original,
            # As in the service's prompts: an instruction is nothing to copy from.
            edit=TokenSpan(original.end, original.end) if instruction else edit,
            stop_token_ids=(END_TOKEN,),
            expected=expect(self._tokenizer, plan, request.file.language, end_token=END_TOKEN),
            new_answer=lambda: Answer(TextStream(self._tokenizer), WholeAnswer()),
        )


def make_case(record: EditRecord, form: str, edit: Edit, tokenizer: TextTokenizer, output: str) -> ReplayCase:
    """Aligned and rendered by the functions that serve. output: the text that the target emits."""
    before = lf(record.before)
    file = SourceFile(path=record.path, data=before.encode(), text=before, language=record.language)
    request = ApplyRequest(request_id=record.id, file=file, edit=edit)
    plan = plan_edit(file.text, edit, file.language)
    prompt = ReplayFormat(tokenizer).render(request, plan)
    return ReplayCase(record.id, form, plan, prompt, (*tokenizer.encode_text(output), END_TOKEN), tokenizer.token_bytes)
