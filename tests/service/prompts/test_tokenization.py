from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from service.config import EMBEDDED_MODEL_PATH, PromptFormatName
from service.prompts import load_prompt_format
from service.prompts.tokenization import TextTokenizer, TokenizerError

PROPERTY = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
# Text as files hold it, spiced with what tokenizers treat specially.
TEXTS = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.sampled_from(
            ["<|im_end|>", "<eos>", "<keep>", "<|fim_prefix|>", "\r\n", "\n    ", "  ", "e\u0301", "</code>"]
        ),
    )
).map("".join)


def joined(tokenizer: TextTokenizer, token_ids: list[int]) -> bytes:
    return b"".join(map(tokenizer.token_bytes, token_ids))


@PROPERTY
@given(text=TEXTS)
def test_text_is_encoded_to_the_byte_and_never_to_control_tokens(tokenizer: TextTokenizer, text: str) -> None:
    token_ids = tokenizer.encode_text(text)
    assert joined(tokenizer, token_ids) == text.encode()
    assert not any(map(tokenizer.is_special, token_ids))


@PROPERTY
@given(text=TEXTS)
def test_the_embedded_tokenizer_too(text: str) -> None:
    token_ids = EMBEDDED.encode_text(text)
    assert joined(EMBEDDED, token_ids) == text.encode()
    assert not any(map(EMBEDDED.is_special, token_ids))


EMBEDDED = TextTokenizer.load(EMBEDDED_MODEL_PATH)


@PROPERTY
@given(text=TEXTS)
def test_byte_ends_add_up(tokenizer: TextTokenizer, text: str) -> None:
    token_ids = tokenizer.encode_text(text)
    ends = tokenizer.byte_ends(token_ids)
    assert len(ends) == len(token_ids)
    assert ends[-1:] == ([len(text.encode())] if token_ids else [])
    for count, end in enumerate(ends, start=1):
        assert len(joined(tokenizer, token_ids[:count])) == end


def test_plain_text_is_encoded_as_the_model_was_trained(tokenizer: TextTokenizer, instruct_model: Path) -> None:
    text = "def f():\n    return 'old'\n\n\nclass A:\n    pass  # ü\n"
    own = Tokenizer.from_file(str(instruct_model / "tokenizer.json"))
    assert tokenizer.encode_text(text) == own.encode(text, add_special_tokens=False).ids


def test_templates_are_parsed_for_control_tokens(tokenizer: TextTokenizer) -> None:
    start = tokenizer.control_id("<|im_start|>")
    assert tokenizer.encode_template("<|im_start|>user\n")[0] == start
    assert start not in tokenizer.encode_text("<|im_start|>user\n")


def test_control_tokens_that_are_not_flagged_are_text_only_in_text(tokenizer: TextTokenizer) -> None:
    for name in ("<|fim_prefix|>", "<tool_call>"):
        (control,) = tokenizer.encode_template(name)
        assert control not in tokenizer.encode_text(name)
        # A model that writes one in a file means its text.
        assert not tokenizer.is_special(control)
        assert tokenizer.token_bytes(control) == name.encode()


def test_newline_tokens(tokenizer: TextTokenizer) -> None:
    for token in tokenizer.newline_tokens:
        assert b"\n" in tokenizer.token_bytes(token)
    assert set(tokenizer.encode_text("a\nb")) & tokenizer.newline_tokens
    assert not set(tokenizer.encode_text("a b")) & tokenizer.newline_tokens


def test_ids_beyond_the_vocabulary_have_no_bytes(tokenizer: TextTokenizer) -> None:
    assert tokenizer.token_bytes(10_000_000) == b""


def document(tokenizer: Tokenizer) -> str:
    text: str = tokenizer.to_str()
    return text


def byte_fallback(*, prefix: bool) -> str:
    """A BPE in the manner of SentencePiece: Gemma's without, Llama 2's with a prefix before the text."""
    vocabulary: dict[str, int] = {"<unk>": 0}
    for byte in range(256):
        vocabulary[f"<0x{byte:02X}>"] = len(vocabulary)
    for character in ["▁", *map(chr, range(0x21, 0x7F)), "\n", "de", "▁x"]:
        vocabulary[character] = len(vocabulary)
    model = models.BPE(vocab=vocabulary, merges=[("d", "e"), ("▁", "x")], unk_token="<unk>", byte_fallback=True)
    tokenizer = Tokenizer(model)
    replace = normalizers.Replace(" ", "▁")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), replace]) if prefix else replace
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return document(tokenizer)


def test_byte_fallback_is_byte_exact() -> None:
    tokenizer = TextTokenizer(byte_fallback(prefix=False))
    text = "def x:\n\t変 é  x\n"
    assert joined(tokenizer, tokenizer.encode_text(text)) == text.encode()


def test_a_tokenizer_that_adds_a_prefix_is_refused() -> None:
    with pytest.raises(TokenizerError, match="byte for byte"):
        TextTokenizer(byte_fallback(prefix=True))


def test_a_tokenizer_that_lowercases_is_refused() -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        ["Def"], trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    )
    TextTokenizer(without(document(tokenizer), "Lowercase"))
    with pytest.raises(TokenizerError, match="byte for byte"):
        TextTokenizer(
            document(tokenizer).replace('"type":"Lowercase"', '"type":"Strip","strip_left":true,"strip_right":true')
        )


def without(tokenizer_json: str, kind: str) -> str:
    content: dict[str, Any] = json.loads(tokenizer_json)
    parts = content["normalizer"]["normalizers"]
    content["normalizer"]["normalizers"] = [part for part in parts if part["type"] != kind]
    return json.dumps(content)


def test_a_tokenizer_without_bytes_is_refused() -> None:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "x": 1}, unk_token="[UNK]"))
    with pytest.raises(TokenizerError, match="byte"):
        TextTokenizer(document(tokenizer))


def test_a_missing_tokenizer_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="save_pretrained"):
        load_prompt_format(PromptFormatName.EMBEDDED, tmp_path)


def test_a_format_that_is_not_the_models_own_is_refused() -> None:
    with pytest.raises(TokenizerError, match="chat template"):
        load_prompt_format(PromptFormatName.CHAT, EMBEDDED_MODEL_PATH)
