"""Apply models that are given `<code>` and `<update>` and answer in `<updated-code>` tags."""

from __future__ import annotations

from pathlib import Path

from drafts.align.plan import Plan
from service.prompts.base import Answer, RenderedPrompt, expect
from service.prompts.chat_template import ChatTemplate, Slot
from service.prompts.cutters import Tagged
from service.prompts.snippets import snippet_text
from service.text_stream import TextStream
from service.types import ApplyRequest

_OPENING, _CLOSING = "<updated-code>", "</updated-code>"
_SYSTEM = "You merge code updates into files, completely and without changing anything else."
_TASK = (
    "Merge all changes of the <update> snippet into the <code> below. Keep the structure, order, comments and "
    "indentation of the code. Write the whole updated code between <updated-code> and </updated-code>, without "
    "explanations, placeholders, ellipses or code fences.\n\n"
)


class UpdatedCodeFormat:
    """The answer's end is the last closing tag, at the model's end of turn, so a file may hold the tags itself."""

    def __init__(self, template: ChatTemplate) -> None:
        self._template = template

    @classmethod
    def load(cls, model_path: Path) -> UpdatedCodeFormat:
        return cls(ChatTemplate.load(model_path))

    def render(self, request: ApplyRequest, plan: Plan) -> RenderedPrompt:
        snippet = snippet_text(request, plan, prompt_format="updated_code")
        message: list[str | Slot] = [_TASK]
        if request.instruction:
            message += ["<instruction>", Slot("instruction", request.instruction), "</instruction>\n\n"]
        message += ["<code>", Slot("original", request.file.text), "</code>\n\n"]
        message += ["<update>", Slot("edit", snippet), "</update>\n\nWrite the complete updated code."]
        token_ids, spans = self._template.render(message, system=_SYSTEM)
        tokenizer, stop = self._template.tokenizer, self._template.stop_token_ids
        predicted = plan.predicted
        return RenderedPrompt(
            token_ids=token_ids,
            original=spans["original"],
            edit=spans["edit"],
            stop_token_ids=stop,
            expected=expect(
                tokenizer, plan, request.file.language, end_token=stop[0], prefix=_OPENING, suffix=_CLOSING
            ),
            new_answer=lambda: Answer(TextStream(tokenizer), Tagged(_OPENING, _CLOSING, predicted)),
        )
