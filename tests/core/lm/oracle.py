"""The same weights in transformers' own models: an implementation that shares no code with ours."""

import re
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from core.lm.bert import Bert
from core.lm.llama import Llama
from core.lm.model import Model


def in_transformers(model: Model, attn_implementation: str) -> Any:
    """transformers' module with the weights of `model`; "eager" gives attention weights, "sdpa" is its fast path."""
    module = model.module
    reference = _llama(module) if isinstance(module, Llama) else _bert(module)
    reference.set_attn_implementation(attn_implementation)
    return reference.eval().requires_grad_(False)


def _llama(module: Llama) -> transformers.PreTrainedModel:
    c = module.config
    config = transformers.LlamaConfig(
        vocab_size=c.n_vocab,
        hidden_size=c.d_model,
        intermediate_size=c.d_ff,
        num_hidden_layers=c.n_layers,
        num_attention_heads=c.n_heads,
        num_key_value_heads=c.n_kv_heads,
        max_position_embeddings=c.max_len,
        rms_norm_eps=c.rms_eps,
        rope_parameters={"rope_type": "default", "rope_theta": c.rope_base},
        tie_word_embeddings=True,
    )
    names = {
        r"^embed\.": "model.embed_tokens.",
        r"^norm\.": "model.norm.",
        r"^blocks\.": "model.layers.",
        r"\.attn\.w_([qkvo])\.": r".self_attn.\1_proj.",
        r"\.attn_norm\.": ".input_layernorm.",
        r"\.ffn_norm\.": ".post_attention_layernorm.",
        r"\.ffn\.(gate|up|down)\.": r".mlp.\1_proj.",
    }
    state = {}
    for name, tensor in module.state_dict().items():
        theirs = _renamed(name, names)
        state[theirs] = (
            halves_from_neighbours(tensor, c.d_model // c.n_heads) if re.search(r"\.w_[qk]\.", name) else tensor
        )
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    reference = transformers.LlamaForCausalLM(config)
    reference.load_state_dict(state)
    return reference


def halves_from_neighbours(weight: Tensor, d_h: int) -> Tensor:
    """Reorder the rows of W_q or W_k so that features 2i and 2i + 1 of each head become i and i + d_h / 2."""
    within = [2 * (j % (d_h // 2)) + j // (d_h // 2) for j in range(d_h)]
    return weight[[head + row for head in range(0, weight.size(0), d_h) for row in within]]


def _bert(module: Bert) -> transformers.PreTrainedModel:
    c = module.config
    config = transformers.BertConfig(
        vocab_size=c.n_vocab,
        hidden_size=c.d_model,
        intermediate_size=c.d_ff,
        num_hidden_layers=c.n_layers,
        num_attention_heads=c.n_heads,
        max_position_embeddings=c.max_len,
        type_vocab_size=c.n_segments,
        layer_norm_eps=c.norm_eps,
        hidden_act="gelu",
    )
    names = {
        r"^embed\.word\.": "embeddings.word_embeddings.",
        r"^embed\.position\.": "embeddings.position_embeddings.",
        r"^embed\.segment\.": "embeddings.token_type_embeddings.",
        r"^embed\.norm\.": "embeddings.LayerNorm.",
        r"^blocks\.(\d+)\.": r"encoder.layer.\1.",
        r"\.attn\.w_q\.": ".attention.self.query.",
        r"\.attn\.w_k\.": ".attention.self.key.",
        r"\.attn\.w_v\.": ".attention.self.value.",
        r"\.attn\.w_o\.": ".attention.output.dense.",
        r"\.attn_norm\.": ".attention.output.LayerNorm.",
        r"\.up\.": ".intermediate.dense.",
        r"\.down\.": ".output.dense.",
        r"\.ffn_norm\.": ".output.LayerNorm.",
    }
    reference = transformers.BertModel(config, add_pooling_layer=False)
    reference.load_state_dict({_renamed(name, names): t for name, t in module.state_dict().items()})
    return reference


def _renamed(name: str, names: dict[str, str]) -> str:
    for pattern, theirs in names.items():
        name = re.sub(pattern, theirs, name)
    return name


def outputs(reference: nn.Module, ids: tuple[int, ...]) -> Any:
    """Everything transformers computes for one text, with hidden states and attention weights."""
    with torch.no_grad():
        return reference(torch.tensor([ids]), output_hidden_states=True, output_attentions=True)
