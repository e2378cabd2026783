"""An encoder of the BERT family: multi-head attention in both directions, LayerNorm after each part, GELU.

Source: BERT (Devlin et al., 2018, arXiv:1810.04805), section 3; the layer itself is that of Attention Is All You Need
(Vaswani et al., 2017, arXiv:1706.03762), section 3.1.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.attention import MultiHeadAttention


@dataclass(frozen=True)
class BertConfig:
    n_layers: int
    n_heads: int
    d_model: int
    d_ff: int
    n_vocab: int
    n_segments: int
    max_len: int
    norm_eps: float


class BertEmbedding(nn.Module):
    """Word, position and segment vectors, added; every token belongs to the first segment."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        # from_pretrained, since drawing random weights that the loaded ones replace would cost more than loading
        self.word = nn.Embedding.from_pretrained(torch.empty(config.n_vocab, config.d_model))
        self.position = nn.Embedding.from_pretrained(torch.empty(config.max_len, config.d_model))
        self.segment = nn.Embedding.from_pretrained(torch.empty(config.n_segments, config.d_model))
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)

    def forward(self, ids: Tensor) -> Tensor:
        """Token ids (B, L) to (B, L, d_model)."""
        positions = torch.arange(ids.size(1), device=ids.device)
        return self.norm(self.word(ids) + self.position(positions) + self.segment.weight[0])


class BertBlock(nn.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        c = config
        self.attn = MultiHeadAttention(c.d_model, c.n_heads)
        self.attn_norm = nn.LayerNorm(c.d_model, eps=c.norm_eps)
        self.up = nn.Linear(c.d_model, c.d_ff)
        self.down = nn.Linear(c.d_ff, c.d_model)
        self.ffn_norm = nn.LayerNorm(c.d_model, eps=c.norm_eps)

    def forward(self, x: Tensor, *, need_weights: bool = False) -> tuple[Tensor, Tensor | None]:
        """x (B, L, d_model) to the same; with `need_weights` also the attention weights (B, H, L, L)."""
        out = self.attn(x, need_weights=need_weights)
        out, weights = out if isinstance(out, tuple) else (out, None)
        x = self.attn_norm(x + out)
        return self.ffn_norm(x + self.down(F.gelu(self.up(x)))), weights


class Bert(nn.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = BertEmbedding(config)
        self.blocks = nn.ModuleList(BertBlock(config) for _ in range(config.n_layers))
        self.norm = nn.Identity()  # each block ends with its own

    def forward(self, ids: Tensor) -> Tensor:
        """Token ids (B, L), L at most max_len, to features (B, L, d_model)."""
        x = self.embed(ids)
        for block in self.blocks:
            x, _ = block(x)
        return self.norm(x)
