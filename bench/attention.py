"""python -m bench.attention: what core.attention costs beside what torch has for the same.

Each pair runs interleaved in one process on the same weights and inputs; the ratio is of the medians, below 1 ours is
faster. Without weights the rival is F.scaled_dot_product_attention between the same projections, written out with
nothing round it; with weights it is nn.MultiheadAttention(need_weights=True, average_attn_weights=False).
"""

import argparse
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.measure import interleaved, report
from core.attention import GroupedQueryAttention

FUSED_BUDGET, WEIGHTS_BUDGET = 1.03, 1.0


class Size(NamedTuple):
    """B, L, d_model, H, H_kv."""

    B: int
    L: int
    d_model: int
    n_heads: int
    n_kv_heads: int


SIZES = (
    Size(8, 128, 384, 12, 12),  # MiniLM's layer
    Size(1, 512, 768, 12, 12),  # BERT-base's, one long text
    Size(1, 512, 576, 9, 3),  # SmolLM2's, grouped
    Size(4, 256, 512, 8, 1),  # one kv head
)


def fused(module: GroupedQueryAttention, x: Tensor) -> Tensor:
    """The projections of `module` and SDPA between them: the least that such a layer can do."""
    B, L, d_model = x.shape
    q = module.w_q(x).view(B, L, module.n_heads, -1).transpose(1, 2)  # (B, H, L, d_h)
    k = module.w_k(x).view(B, L, module.n_kv_heads, -1).transpose(1, 2)  # (B, H_kv, L, d_h)
    v = module.w_v(x).view(B, L, module.n_kv_heads, -1).transpose(1, 2)  # (B, H_kv, L, d_h)
    out = F.scaled_dot_product_attention(q, k, v, enable_gqa=module.n_kv_heads < module.n_heads)
    return module.w_o(out.transpose(1, 2).reshape(B, L, d_model))


def torchs_own(module: GroupedQueryAttention) -> nn.MultiheadAttention:
    """nn.MultiheadAttention with the weights of `module`, which has as many kv heads as query heads."""
    rival = nn.MultiheadAttention(module.d_model, module.n_heads, batch_first=True)
    projections = (module.w_q, module.w_k, module.w_v)
    rival.in_proj_weight.data = torch.cat([p.weight for p in projections]).detach()
    rival.in_proj_bias.data = torch.cat([p.bias for p in projections]).detach()
    rival.out_proj.load_state_dict(module.w_o.state_dict())
    return rival.eval()


@torch.no_grad()
def measure(size: Size, rounds: int) -> list[bool]:
    module = GroupedQueryAttention(size.d_model, size.n_heads, size.n_kv_heads).eval()
    x = torch.randn(size.B, size.L, size.d_model, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(module(x), fused(module, x))
    times = interleaved({"ours": lambda: module(x), "rival": lambda: fused(module, x)}, rounds)
    kept = [report(f"fused   {tuple(size)}", times["ours"], times["rival"], FUSED_BUDGET)]
    if size.n_kv_heads == size.n_heads:
        rival = torchs_own(module)

        def theirs() -> tuple[Tensor, Tensor]:
            return rival(x, x, x, need_weights=True, average_attn_weights=False)

        torch.testing.assert_close(module(x, need_weights=True), theirs())
        times = interleaved({"ours": lambda: module(x, need_weights=True), "rival": theirs}, rounds)
        kept.append(report(f"weights {tuple(size)}", times["ours"], times["rival"], WEIGHTS_BUDGET))
    return kept


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="core.attention beside torch's own")
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    print(f"{torch.get_num_threads()} threads, {given.rounds} rounds; sizes are B, L, d_model, H, H_kv")
    for size in SIZES:
        measure(size, given.rounds)
