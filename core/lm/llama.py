"""A decoder of the Llama family: RMSNorm before each part, RoPE, grouped-query attention, SwiGLU.

Sources: Llama (Touvron et al., 2023, arXiv:2302.13971), section 2.2; SwiGLU: Shazeer, 2020, arXiv:2002.05202;
RMSNorm: Zhang and Sennrich, 2019, arXiv:1910.07467.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.attention import GroupedQueryAttention, KVCache, RoPE


@dataclass(frozen=True)
class LlamaConfig:
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_model: int
    d_ff: int
    n_vocab: int
    max_len: int
    rms_eps: float
    rope_base: float
    end_id: int  # the token that ends a text


class SwiGLU(nn.Module):
    """W_down (silu(W_gate x) * W_up x)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class LlamaBlock(nn.Module):
    def __init__(self, config: LlamaConfig, rope: RoPE) -> None:
        super().__init__()
        c = config
        self.attn_norm = nn.RMSNorm(c.d_model, eps=c.rms_eps)
        self.attn = GroupedQueryAttention(c.d_model, c.n_heads, c.n_kv_heads, bias=False, causal=True, rope=rope)
        self.ffn_norm = nn.RMSNorm(c.d_model, eps=c.rms_eps)
        self.ffn = SwiGLU(c.d_model, c.d_ff)

    def forward(
        self, x: Tensor, *, cache: KVCache | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """x (B, L, d_model) to the same; with `need_weights` also the attention weights (B, H, L, Lk)."""
        out = self.attn(self.attn_norm(x), cache=cache, need_weights=need_weights)
        out, weights = out if isinstance(out, tuple) else (out, None)
        x = x + out
        return x + self.ffn(self.ffn_norm(x)), weights


class Llama(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.config = config
        with torch.device("cpu"):  # its tables are computed, not loaded: they must be real even on the meta device
            rope = RoPE(
                config.d_model // config.n_heads,
                base=config.rope_base,
                pairing="neighbours",  # the order in which GGUF stores the features of W_q and W_k
                max_len=config.max_len,
            )
        # from_pretrained, since drawing random weights that the loaded ones replace would cost more than loading
        self.embed = nn.Embedding.from_pretrained(torch.empty(config.n_vocab, config.d_model))
        self.blocks = nn.ModuleList(LlamaBlock(config, rope) for _ in range(config.n_layers))
        self.norm = nn.RMSNorm(config.d_model, eps=config.rms_eps)

    def forward(self, ids: Tensor, caches: Sequence[KVCache] | None = None) -> Tensor:
        """Token ids (B, L) to features (B, L, d_model); with one cache a layer, ids continue what the caches hold."""
        x = self.embed(ids)  # (B, L, d_model)
        for i, block in enumerate(self.blocks):
            x, _ = block(x, cache=caches[i] if caches else None)
        return self.norm(x)

    def unembed(self, x: Tensor) -> Tensor:
        """Features (L, d_model) to logits (L, n_vocab), by the transposed embedding (tied weights)."""
        # Not F.linear(x, W): with so many rows in W, this order takes a tenth to a quarter less time on the CPU.
        return (self.embed.weight @ x.T).T
