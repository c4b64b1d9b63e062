"""The embedded model's format as token ids; `service/prompts/embedded.py` writes the same for real requests."""

from __future__ import annotations

from dataclasses import dataclass

from tokenizers import Tokenizer

from service.embedded.training.layout import SpecialIds
from service.embedded.training.rendering import RenderedEdit
from service.embedded.training.tokenizer import EDIT, END, FILE, KEEP, OUT

# A tag is written four times: the copy circuit's nearest window is four tokens, so a text's start has a full one.
TAG_REPEATS = 4


@dataclass(frozen=True, slots=True)
class Sample:
    """ids: prompt and answer, the end token included. answer: index of the answer's first token."""

    ids: list[int]
    answer: int


def special_ids(tokenizer: Tokenizer) -> SpecialIds:
    """Raises KeyError when the tokenizer lacks one."""
    ids: list[int] = []
    for name in (FILE, EDIT, OUT, KEEP, END):
        token = tokenizer.token_to_id(name)  # asked for every sample: no copy of the whole vocabulary
        if token is None:
            raise KeyError(name)
        ids.append(token)
    return SpecialIds(*ids)


def encode_edit(tokenizer: Tokenizer, edit: RenderedEdit) -> Sample:
    """`<eos>` `<file>`x4 original `<edit>`x4 snippet `<out>`x4 result `<eos>`.

    An elision is `<keep>` at the end of the line before it; the text after it starts with its newline.
    """
    special = special_ids(tokenizer)
    snippet: list[int] = []
    for i, piece in enumerate(edit.pieces):
        elided = i > 0 or edit.elided_start
        if elided:
            snippet.append(special.keep)
        snippet += _encode(tokenizer, "\n" + piece if elided else piece)
    if edit.elided_end:
        snippet.append(special.keep)
    prompt = [
        special.end,
        *[special.file] * TAG_REPEATS,
        *_encode(tokenizer, edit.before),
        *[special.edit] * TAG_REPEATS,
        *snippet,
        *[special.out] * TAG_REPEATS,
    ]
    return Sample(ids=[*prompt, *_encode(tokenizer, edit.after), special.end], answer=len(prompt))


def _encode(tokenizer: Tokenizer, text: str) -> list[int]:
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids
