r"""Multi-head, grouped-query and multi-query attention: one forward and one integer.

    B batch, L query positions, Lk key positions, H query heads, H_kv key/value heads,
    G = H / H_kv query heads share a kv head, d_h = d_model / H features a head

    MHA  H_kv = H      GQA  1 < H_kv < H     MQA  H_kv = 1
    q  0 1 2 3 4 5     q  0 1 2 3 4 5        q  0 1 2 3 4 5
       | | | | | |        \|/   \|/             \_\_|_|_/_/
    k  0 1 2 3 4 5     k   0     1           k       0

Sources: Attention Is All You Need (Vaswani et al., 2017, arXiv:1706.03762), sections 3.2.1 and 3.2.2; MQA:
Shazeer, 2019, arXiv:1911.02150; GQA: Ainslie et al., 2023, arXiv:2305.13245.
"""

import math

import torch.nn.functional as F
from torch import Tensor, nn

from core.attention.cache import KVCache
from core.attention.masks import as_bool, causal_mask
from core.attention.rope import RoPE
from core.errors import BadInput


class GroupedQueryAttention(nn.Module):
    """Attention whose H = `n_heads` query heads share `n_kv_heads` key/value heads; consecutive query heads share one.

    Args:
        d_model: features of a token; a multiple of `n_heads`.
        n_heads: query heads, H; a multiple of `n_kv_heads`.
        n_kv_heads: key/value heads, H_kv.
        bias: whether the four projections add a bias.
        dropout: probability with which an attention weight is dropped, in training only.
        causal: whether a token attends only to itself and to those before it.
        rope: turns queries and keys by their positions; made for d_h.

    Raises:
        BadInput (a ValueError): sizes that do not divide, a dropout that is no probability, a rope of another size.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        *,
        bias: bool = True,
        dropout: float = 0.0,
        causal: bool = False,
        rope: RoPE | None = None,
    ) -> None:
        super().__init__()
        _check_sizes(d_model, n_heads, n_kv_heads, dropout, rope)
        self.d_model, self.n_heads, self.n_kv_heads = d_model, n_heads, n_kv_heads
        self.d_h = d_model // n_heads
        self.causal = causal
        self.rope = rope
        self.w_q = nn.Linear(d_model, n_heads * self.d_h, bias=bias)
        self.w_k = nn.Linear(d_model, n_kv_heads * self.d_h, bias=bias)
        self.w_v = nn.Linear(d_model, n_kv_heads * self.d_h, bias=bias)
        self.w_o = nn.Linear(n_heads * self.d_h, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        context: Tensor | None = None,
        cache: KVCache | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from x (B, L, d_model) to itself, or to `context` (B, Lk, d_model) for cross-attention.

        `mask` is bool or 0/1, True / 1 means may attend, and broadcasts to (B, H, L, Lk). A query that may attend to
        nothing gets weights 0, and so W_o's bias as its output; never nan. With `cache`, the keys and values of x join
        those of the tokens before, and Lk counts them all.

        Returns out (B, L, d_model); with `need_weights` also the weights (B, H, L, Lk), as they are before dropout.
        The weights cost memory: without them PyTorch's fused kernel runs and no (L, Lk) tensor is made.

        Raises BadInput (a ValueError) when a shape, a mask or a cache does not fit.
        """
        self._check_inputs(x, context, cache)
        source = x if context is None else context
        B, L, Lk = x.size(0), x.size(1), source.size(1)
        H, H_kv, d_h = self.n_heads, self.n_kv_heads, self.d_h

        q = self.w_q(x).view(B, L, H, d_h).transpose(1, 2)  # (B, H, L, d_h)
        k = self.w_k(source).view(B, Lk, H_kv, d_h).transpose(1, 2)  # (B, H_kv, Lk, d_h)
        v = self.w_v(source).view(B, Lk, H_kv, d_h).transpose(1, 2)  # (B, H_kv, Lk, d_h)
        if self.rope is not None:
            start = 0 if cache is None else len(cache)
            q, k = self.rope(q, start), self.rope(k, start)
        if cache is not None:
            k, v = cache.append(k, v)

        attend = self._attend if need_weights else self._attend_fused
        out, attn = attend(q, k, v, mask)
        out = out.transpose(1, 2).reshape(B, L, H * d_h)
        out = self.w_o(out)  # (B, L, d_model)
        return out if attn is None else (out, attn)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        if self.n_kv_heads < self.n_heads:
            G = self.n_heads // self.n_kv_heads
            k = k.repeat_interleave(G, dim=1)  # (B, H, Lk, d_h)
            v = v.repeat_interleave(G, dim=1)  # (B, H, Lk, d_h)
        q = q / math.sqrt(self.d_h)  # as good as dividing the scores, which are more
        scores = q @ k.transpose(-2, -1)  # (B, H, L, Lk)
        allowed = self._allowed(mask, scores.shape)
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -math.inf)
        attn = scores.softmax(dim=-1)
        if allowed is not None and mask is not None:  # a row of -inf has become nan
            attn = attn.masked_fill(~allowed.any(dim=-1, keepdim=True), 0.0)
        return self.dropout(attn) @ v, attn  # (B, H, L, d_h)

    def _attend_fused(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, None]:
        L, Lk = q.size(-2), k.size(-2)
        # is_causal counts positions from the first key, so it is right only while there is no cache.
        is_causal = self.causal and mask is None and Lk == L
        allowed = None if is_causal else self._allowed(mask, (*q.shape[:-1], Lk))
        out = F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=allowed,
            dropout_p=self.dropout.p if self.training else 0.0,
            is_causal=is_causal,
            enable_gqa=self.n_kv_heads < self.n_heads,
        )
        return out, None

    def _allowed(self, mask: Tensor | None, scores_shape: tuple[int, ...]) -> Tensor | None:
        """What may attend to what, of mask and causality together: bool, broadcasts to `scores_shape`; None for all."""
        allowed = None if mask is None else as_bool(mask, tuple(scores_shape))
        L, Lk = scores_shape[-2:]
        if not self.causal or L == 1:  # the last token sees every key
            return allowed
        causal = causal_mask(L, Lk, device=self.w_q.weight.device)
        return causal if allowed is None else allowed & causal

    def _check_inputs(self, x: Tensor, context: Tensor | None, cache: KVCache | None) -> None:
        for name, tensor in (("x", x), ("context", context)):
            if tensor is not None and (tensor.dim() != 3 or tensor.size(-1) != self.d_model):
                shape = tuple(tensor.shape)
                raise BadInput("attention.input-wrong-shape", name=name, shape=shape, d_model=self.d_model)
        if context is None:
            return
        if context.size(0) != x.size(0):
            raise BadInput("attention.batch-differs", name="context", batch=x.size(0), other=context.size(0))
        for other, given in (("causal", self.causal), ("rope", self.rope), ("cache", cache is not None)):
            if given:
                raise BadInput("attention.context-not-allowed", other=other)


class MultiHeadAttention(GroupedQueryAttention):
    """Every query head has a kv head of its own; arguments as for `GroupedQueryAttention`."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        bias: bool = True,
        dropout: float = 0.0,
        causal: bool = False,
        rope: RoPE | None = None,
    ) -> None:
        super().__init__(d_model, n_heads, n_heads, bias=bias, dropout=dropout, causal=causal, rope=rope)


class MultiQueryAttention(GroupedQueryAttention):
    """All query heads share a single kv head; arguments as for `GroupedQueryAttention`."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        bias: bool = True,
        dropout: float = 0.0,
        causal: bool = False,
        rope: RoPE | None = None,
    ) -> None:
        super().__init__(d_model, n_heads, 1, bias=bias, dropout=dropout, causal=causal, rope=rope)


def _check_sizes(d_model: int, n_heads: int, n_kv_heads: int, dropout: float, rope: RoPE | None) -> None:
    sizes = {"d_model": d_model, "n_heads": n_heads, "n_kv_heads": n_kv_heads}
    if any(not isinstance(size, int) or size < 1 for size in sizes.values()):
        raise BadInput("attention.sizes-not-positive", **sizes)
    if d_model % n_heads:
        divisors = _divisors(d_model)
        raise BadInput("attention.d_model-not-divisible", d_model=d_model, n_heads=n_heads, divisors=divisors)
    if n_heads % n_kv_heads:
        divisors = _divisors(n_heads)
        raise BadInput("attention.heads-not-shared-evenly", n_heads=n_heads, n_kv_heads=n_kv_heads, divisors=divisors)
    if not 0 <= dropout < 1:
        raise BadInput("attention.dropout-not-a-probability", dropout=dropout)
    if rope is not None and rope.d_h != d_model // n_heads:
        raise BadInput("attention.rope-other-size", rope=rope.d_h, d_h=d_model // n_heads)


def _divisors(n: int) -> str:
    return ", ".join(str(i) for i in range(1, n + 1) if n % i == 0)
