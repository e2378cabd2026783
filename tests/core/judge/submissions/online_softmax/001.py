import torch


def blockwise_attention(q, k, v, block_size):
    """Algorithm 1 of FlashAttention without the tiling of the queries."""
    scale = q.shape[-1] ** -0.5
    m = torch.full(q.shape[:-1], float("-inf"), dtype=q.dtype, device=q.device)     # (B, H, Lq)
    l = torch.zeros_like(m)
    O = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype, device=q.device)
    for k_j, v_j in zip(k.split(block_size, dim=-2), v.split(block_size, dim=-2)):
        S = scale * torch.einsum("bhqd,bhkd->bhqk", q, k_j)
        m_new = torch.maximum(m, S.max(dim=-1).values)
        P = torch.exp(S - m_new.unsqueeze(-1))
        alpha = torch.exp(m - m_new)
        l = alpha * l + P.sum(dim=-1)
        O = alpha.unsqueeze(-1) * O + P @ v_j
        m = m_new
    return O / l.unsqueeze(-1)
