"""The embedded model's own format: `<file>` original `<edit>` snippet `<out>` result `<eos>`.

`<keep>` stands in the snippet for each elision, in place of the marker's line. The five are special tokens, never made
from text, so the answer needs no wrapping: it is the file, to the byte, until `<eos>`.
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
        prompt.add([self._file])
        original = prompt.add(self._tokenizer.encode_text(request.file.text))
        prompt.add([self._edit])
        edit = prompt.add(self._snippet(parts))
        prompt.add([self._out])
        return RenderedPrompt(
            token_ids=tuple(prompt.token_ids),
            original=original,
            edit=edit,
            stop_token_ids=(self._eos,),
            expected=expect(self._tokenizer, plan, end_token=self._eos),
            new_answer=lambda: Answer(TextStream(self._tokenizer), WholeAnswer()),
        )

    def _snippet(self, parts: list[SnippetPart]) -> list[int]:
        """The text between two elisions is encoded on its own; elisions in a row are one. The last line gets its LF."""
        token_ids: list[int] = []
        for index, part in enumerate(parts):
            if isinstance(part, SnippetText):
                unfinished = index == len(parts) - 1 and not part.text.endswith("\n")
                token_ids.extend(self._tokenizer.encode_text(part.text + "\n" if unfinished else part.text))
            elif token_ids[-1:] != [self._keep]:
                token_ids.append(self._keep)
        return token_ids
