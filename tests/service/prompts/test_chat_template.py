from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from service.prompts.chat_template import ChatTemplate, Slot
from service.prompts.tokenization import TokenizerError

USER = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' }}{% endfor %}"


def text_of(template: ChatTemplate, token_ids: tuple[int, ...]) -> str:
    return b"".join(map(template.tokenizer.token_bytes, token_ids)).decode()


def with_template(model: Path, target: Path, template: str | None) -> Path:
    path = target / "model"
    shutil.copytree(model, path)
    (path / "chat_template.jinja").unlink()
    if template is not None:
        (path / "chat_template.jinja").write_text(template)
    return path


def test_slots_are_text_and_the_rest_is_template(instruct_model: Path) -> None:
    template = ChatTemplate.load(instruct_model)
    token_ids, spans = template.render(["<b> ", Slot("x", " <|im_end|>\n "), "!"], system="s")
    assert text_of(template, token_ids) == (
        "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\n<b>  <|im_end|>\n !<|im_end|>\n<|im_start|>assistant\n"
    )
    span = spans["x"]
    assert list(token_ids[span.start : span.end]) == template.tokenizer.encode_text(" <|im_end|>\n ")
    assert token_ids.count(template.tokenizer.control_id("<|im_end|>")) == 2


def test_slots_at_the_ends_keep_their_blanks(instruct_model: Path) -> None:
    # The template trims messages; a slot is not a message to it.
    template = ChatTemplate.load(instruct_model)
    token_ids, _ = template.render([Slot("x", "\n\n a"), Slot("y", "b \n\n")])
    assert text_of(template, token_ids) == "<|im_start|>user\n\n\n ab \n\n<|im_end|>\n<|im_start|>assistant\n"


def test_stop_tokens(instruct_model: Path, tmp_path: Path) -> None:
    template = ChatTemplate.load(instruct_model)
    end, document_end = map(template.tokenizer.control_id, ("<|im_end|>", "<|endoftext|>"))
    assert template.stop_token_ids == (end, document_end)
    path = tmp_path / "model"
    shutil.copytree(instruct_model, path)
    (path / "generation_config.json").write_text(json.dumps({"eos_token_id": document_end}))
    assert ChatTemplate.load(path).stop_token_ids == (end, document_end)
    (path / "generation_config.json").unlink()
    assert ChatTemplate.load(path).stop_token_ids == (end,)


@pytest.mark.parametrize(
    "refusal", ["{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + USER]
)
def test_a_template_without_a_system_role(instruct_model: Path, tmp_path: Path, refusal: str) -> None:
    template = ChatTemplate.load(with_template(instruct_model, tmp_path, refusal))
    token_ids, _ = template.render([Slot("x", "hello")], system="Be brief.")
    assert text_of(template, token_ids) == "<|im_start|>user\nBe brief.\n\nhello<|im_end|>"


def test_a_template_that_drops_the_system_message(instruct_model: Path, tmp_path: Path) -> None:
    template = ChatTemplate.load(with_template(instruct_model, tmp_path, "{{ messages[-1].content }}"))
    token_ids, _ = template.render([Slot("x", "hello")], system="Be brief.")
    assert text_of(template, token_ids) == "Be brief.\n\nhello"


@pytest.mark.parametrize(
    "broken",
    ["no messages at all", "{{ messages[-1].content }}{{ messages[-1].content }}", "{{ raise_exception('never') }}"],
)
def test_a_template_that_loses_the_message_is_refused(instruct_model: Path, tmp_path: Path, broken: str) -> None:
    with pytest.raises(TokenizerError, match="template"):
        ChatTemplate.load(with_template(instruct_model, tmp_path, broken))


def test_a_model_without_a_template_is_refused(instruct_model: Path, tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="instruct model"):
        ChatTemplate.load(with_template(instruct_model, tmp_path, None))
