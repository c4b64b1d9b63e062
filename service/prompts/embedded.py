"""The embedded model's own format, as its training program writes it (`service/embedded/training/prompt.py`):

`<eos>`, four `<file>`, original, four `<edit>`, snippet, four `<out>`, result, `<eos>`.

In the snippet `<keep>` stands for each elision, at the end of the line before it: the text after it starts with that
line's LF. The five are special tokens, never made from text, so the answer needs no wrapping: it is the file, to the
byte, until `<eos>`.
"""

from __future__ import annotations

from pathlib import Path

from drafts.align.plan import Plan
from drafts.align.snippet import SnippetPart, SnippetText
from service.prompts.base import Answer, PromptBuilder, RenderedPrompt, expect
from service.prompts.cutters import WholeAnswer
from service.prompts.snippets import snippet_parts
from service.prompts.tokenization import TextTokenizer
from service.text_stream import TextStream
from service.types import ApplyRequest

# A tag is written as often as the model's nearest window has tokens, so that a text's start has a full window.
TAG_REPEATS = 4


class EmbeddedFormat:
    """An instruction that accompanies another form is not given to the model: it knows no language but code."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._file, self._edit, self._out, self._keep, self._eos = map(
            tokenizer.control_id, ("<file>", "<edit>", "<out>", "<keep>", "<eos>")
        )

    @classmethod
    def load(cls, model_path: Path) -> EmbeddedFormat:
        return cls(TextTokenizer.load(model_path))

    def render(self, request: ApplyRequest, plan: Plan) -> RenderedPrompt:
        parts = snippet_parts(request, plan, prompt_format="embedded")
        prompt = PromptBuilder()
        prompt.add([self._eos, *[self._file] * TAG_REPEATS])
        original = prompt.add(self._tokenizer.encode_text(request.file.text))
        prompt.add([self._edit] * TAG_REPEATS)
        edit = prompt.add(self._snippet(parts, ending="\n" if plan.predicted.endswith("\n") else ""))
        prompt.add([self._out] * TAG_REPEATS)
        return RenderedPrompt(
            token_ids=tuple(prompt.token_ids),
            original=original,
            edit=edit,
            stop_token_ids=(self._eos,),
            expected=expect(self._tokenizer, plan, request.file.language, end_token=self._eos),
            new_answer=lambda: Answer(TextStream(self._tokenizer), WholeAnswer()),
        )

    def _snippet(self, parts: list[SnippetPart], ending: str) -> list[int]:
        """The text between two elisions is encoded on its own; elisions in a row are one.

        ending: what follows the snippet's last line where no elision does.
        """
        token_ids: list[int] = []
        for index, part in enumerate(parts):
            if isinstance(part, SnippetText):
                before = "\n" if token_ids[-1:] == [self._keep] else ""
                after = ending if index == len(parts) - 1 else ""
                token_ids.extend(self._tokenizer.encode_text(before + part.text.removesuffix("\n") + after))
            elif token_ids[-1:] != [self._keep]:
                token_ids.append(self._keep)
        return token_ids
