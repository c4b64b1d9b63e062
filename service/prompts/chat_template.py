"""A model's own chat template, with callers' text kept out of it.

The template is rendered on placeholders, split at them, and tokenized piece by piece: the template's pieces with
control tokens parsed, the callers' pieces as plain text. So no text of a caller is ever seen by the template or parsed
for control tokens.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2.exceptions import TemplateError

from service.prompts.base import PromptBuilder, TokenSpan
from service.prompts.tokenization import TextTokenizer, TokenizerError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a caller's text in a message."""

    name: str
    text: str


class ChatTemplate:
    """tokenizer: the model's. stop_token_ids: what ends the model's turn, the tokenizer's own end token first.

    Raises TokenizerError when the template does not carry a user's message through.
    """

    def __init__(self, hf_tokenizer: PreTrainedTokenizerBase, tokenizer: TextTokenizer, stop: Sequence[int]) -> None:
        self._hf = hf_tokenizer
        self.tokenizer = tokenizer
        self.stop_token_ids = tuple(stop)
        self._takes_system = self._shows_system()
        self.render(["a", Slot("first", "b"), "c", Slot("second", "d")], system="e")

    @classmethod
    def load(cls, model_path: Path) -> ChatTemplate:
        """Raises TokenizerError when the model has no chat template or no end token."""
        # It takes seconds to import: not for those who only use this module's text.
        from transformers import AutoTokenizer

        hf = AutoTokenizer.from_pretrained(str(model_path))
        if not isinstance(hf.chat_template, str):
            raise TokenizerError(
                f"{model_path} has no chat template of its own; this prompt format needs an instruct model"
            )
        stop = _stop_token_ids(hf, model_path)
        if not stop:
            raise TokenizerError(f"{model_path} names no end-of-sequence token, so its answers would never end")
        return cls(hf, TextTokenizer.load(model_path, hf.chat_template), stop)

    def render(
        self, user: Sequence[str | Slot], system: str | None = None
    ) -> tuple[tuple[int, ...], dict[str, TokenSpan]]:
        """Prompt token ids up to where the model's turn begins, and where each slot lies.

        user: the message, our text and slots mixed. system: stands before the user's message where the template knows
        no system role.
        """
        # Fresh for every prompt, so that nothing can hold it; templates only ever see these and our own text.
        nonce = secrets.token_hex(8)
        slots = [part for part in user if isinstance(part, Slot)]
        marks = {f"[slot {nonce} {index}]": slot for index, slot in enumerate(slots)}
        names = iter(marks)
        content = "".join(part if isinstance(part, str) else next(names) for part in user)
        if system is not None and not self._takes_system:
            content, system = f"{system}\n\n{content}", None
        try:
            text = self._apply(content, system)
        except TemplateError as error:
            raise TokenizerError("the model's chat template refuses a single user's message") from error
        pieces = re.split(rf"(\[slot {nonce} \d+\])", text)
        if pieces[1::2] != list(marks):
            raise TokenizerError("the chat template drops, repeats or reorders parts of the user's message")
        prompt = PromptBuilder()
        spans: dict[str, TokenSpan] = {}
        for index, piece in enumerate(pieces):
            if index % 2:
                slot = marks[piece]
                spans[slot.name] = prompt.add(self.tokenizer.encode_text(slot.text))
            elif piece:
                prompt.add(self.tokenizer.encode_template(piece))
        return tuple(prompt.token_ids), spans

    def _apply(self, content: str, system: str | None) -> str:
        messages = [{"role": "system", "content": system}] if system is not None else []
        messages.append({"role": "user", "content": content})
        # enable_thinking: known to templates of reasoning models, ignored by the others.
        text = self._hf.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, enable_thinking=False)
        return str(text)

    def _shows_system(self) -> bool:
        """Some templates raise on a system message, some drop it."""
        try:
            return "[system]" in self._apply("[user]", "[system]")
        except TemplateError:
            return False


def _stop_token_ids(hf: PreTrainedTokenizerBase, model_path: Path) -> list[int]:
    """The tokenizer's end token and those of generation_config.json (one id or a list)."""
    stop: list[int] = [hf.eos_token_id] if isinstance(hf.eos_token_id, int) else []
    path = model_path / "generation_config.json"
    if path.is_file():
        configured = json.loads(path.read_text(encoding="utf-8")).get("eos_token_id")
        for token in configured if isinstance(configured, list) else [configured]:
            if isinstance(token, int) and token not in stop:
                stop.append(token)
    return stop
