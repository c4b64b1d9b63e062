"""Apply models that are given `<instruction>`, `<code>` and `<update>` and answer with the bare file."""

from __future__ import annotations

from pathlib import Path

from drafts.align.plan import Plan
from service.prompts.base import Answer, RenderedPrompt, expect
from service.prompts.chat_template import ChatTemplate, Slot
from service.prompts.cutters import BareFile
from service.prompts.snippets import snippet_text
from service.text_stream import TextStream
from service.types import ApplyRequest


class BareFileFormat:
    """The user's message is the three elements and nothing else; `<instruction>` is left out when there is none."""

    def __init__(self, template: ChatTemplate) -> None:
        self._template = template

    @classmethod
    def load(cls, model_path: Path) -> BareFileFormat:
        return cls(ChatTemplate.load(model_path))

    def render(self, request: ApplyRequest, plan: Plan) -> RenderedPrompt:
        snippet = snippet_text(request, plan, prompt_format="bare_file")
        message: list[str | Slot] = []
        if request.instruction:
            message += ["<instruction>", Slot("instruction", request.instruction), "</instruction>\n"]
        message += ["<code>", Slot("original", request.file.text), "</code>\n"]
        message += ["<update>", Slot("edit", snippet), "</update>"]
        token_ids, spans = self._template.render(message)
        tokenizer, stop = self._template.tokenizer, self._template.stop_token_ids
        predicted = plan.predicted
        return RenderedPrompt(
            token_ids=token_ids,
            original=spans["original"],
            edit=spans["edit"],
            stop_token_ids=stop,
            expected=expect(tokenizer, plan, request.file.language, end_token=stop[0]),
            new_answer=lambda: Answer(TextStream(tokenizer), BareFile(predicted)),
        )
