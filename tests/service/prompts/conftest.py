"""A small instruct model's tokenizer, and files that break naive prompt formats."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from drafts.align import plan_edit
from service.config import PromptFormatName
from service.pb import apply_edit_pb2 as pb
from service.prompts import PromptFormat, load_prompt_format
from service.prompts.base import RenderedPrompt
from service.prompts.tokenization import TextTokenizer
from service.types import ApplyRequest
from service.validate import Limits, validate

SPECIAL = ["<file>", "<edit>", "<out>", "<keep>", "<eos>", "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# As Qwen has them: control tokens that tokenizer.json does not flag as special.
UNFLAGGED = ["<|fim_prefix|>", "<tool_call>"]
TEMPLATE = """\
{%- if tools %}<tool_call>{% endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content | trim + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

NASTY_FILES: dict[str, bytes] = {
    "plain": b"def f():\n    return 'old'\n\n\nclass A:\n    pass\n",
    "backticks": b"# Title\n\n```python\nx = 1\n```\n\n````\n```\nold\n```\n````\n\nEnd `x`.\n",
    "backticks_at_the_end": b"Text old\n\n```\ncode\n```\n",
    "backticks_and_no_final_newline": b"old\n```\n`````",
    "tags": b"<updated-code>\nold\n</updated-code>\n<code>x</code>\n<update>y</update>\n</updated-code>\n",
    "tag_at_the_very_end": b"old\n<updated-code></updated-code>",
    "control_tokens": (
        b"s = '<|im_end|>'  # old\n<|im_end|>\n<|im_start|>assistant\n<eos>\n<keep>\n<file><edit><out>\n"
        b"<|endoftext|>\n<|fim_prefix|><tool_call>\n"
    ),
    "placeholders": b"[slot 0 0]\nold\n{{ message.content }}{% for x in y %}\n[slot 0 1]\n",
    "crlf": b"a\r\n\r\n    old\r\n\tb\r\n",
    "crlf_no_final_newline": b"a\r\nold\r\nb",
    "mixed_line_ends": b"a\r\nb\nold\r\nc\n\nd\r\n\r\ne\n",
    "lone_carriage_returns": b"a\rb\nold\rx\n\r\nc\n",
    "byte_order_mark": b"\xef\xbb\xbfold\nb\n",
    "byte_order_mark_and_crlf": b"\xef\xbb\xbfa\r\nold\r\n",
    "no_final_newline": b"a\nold\nb",
    "blank_lines_around": b"\n\n\nold\nb\n\n\n\n",
    "one_line": b"old",
    "non_ascii": "# é e\u0301 — 変数 \U0001f469\u200d\U0001f4bb\nold = 'ü'\u2028x\x0c\n\u00a0\u3000z\n".encode(),
}


@pytest.fixture(scope="session")
def instruct_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a byte-level BPE trained on a few lines, a ChatML template and Qwen's quirks."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    corpus = [data.decode("utf-8-sig") for data in NASTY_FILES.values()] + [TEMPLATE, "<updated-code>\n</updated-code>"]
    tokenizer.train_from_iterator(corpus * 3, trainer)
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in UNFLAGGED])
    path = tmp_path_factory.mktemp("instruct")
    model = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>")
    model.chat_template = TEMPLATE
    model.save_pretrained(path)
    stop = [tokenizer.token_to_id("<|im_end|>"), tokenizer.token_to_id("<|endoftext|>")]
    (path / "generation_config.json").write_text(json.dumps({"eos_token_id": stop}))
    return path


@pytest.fixture(scope="session")
def tokenizer(instruct_model: Path) -> TextTokenizer:
    return TextTokenizer.load(instruct_model, TEMPLATE)


@pytest.fixture(scope="session")
def formats(instruct_model: Path) -> dict[PromptFormatName, PromptFormat]:
    return {name: load_prompt_format(name, instruct_model) for name in PromptFormatName}


@pytest.fixture(params=sorted(NASTY_FILES))
def nasty(request: pytest.FixtureRequest) -> bytes:
    return NASTY_FILES[request.param]


MakeRequest = Callable[[bytes, pb.Edit], ApplyRequest]


@pytest.fixture(scope="session")
def make_request() -> MakeRequest:
    """A request as it comes out of validation, so that texts are normalized as they are in the service."""
    limits = Limits(max_file_bytes=1_000_000, max_edit_bytes=1_000_000, max_draft_tokens=64, model="test")

    def make(data: bytes, edit: pb.Edit) -> ApplyRequest:
        wire = pb.ApplyEditRequest(file=pb.SourceFile(path="a.md", data=data), edit=edit)
        return validate(wire, request_id="1", limits=limits)

    return make


Render = Callable[[PromptFormat, ApplyRequest], RenderedPrompt]


@pytest.fixture(scope="session")
def render() -> Render:
    def run(prompt_format: PromptFormat, request: ApplyRequest) -> RenderedPrompt:
        return prompt_format.render(request, plan_edit(request.file.text, request.edit, request.file.language))

    return run
