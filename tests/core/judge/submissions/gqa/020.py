import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    """分组查询注意力：每组 G 个查询头共用一个 k/v 头"""

    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if n_heads % n_kv_heads != 0:
            raise ValueError("查询头数必须是 kv 头数的整数倍")
        if d_model % n_heads != 0:
            raise ValueError("d_model 必须能被头数整除")
        G, d_h = n_heads // n_kv_heads, d_model // n_heads
        初始 = lambda *形状: nn.Parameter(torch.randn(*形状) * d_model ** -0.5)
        self.wq = 初始(n_kv_heads, G, d_h, d_model)
        self.wk = 初始(n_kv_heads, d_h, d_model)
        self.wv = 初始(n_kv_heads, d_h, d_model)
        self.wo = 初始(d_model, n_kv_heads, G, d_h)

    def forward(self, x, mask=None):
        q = torch.einsum("blm,kgdm->bkgld", x, self.wq)
        k = torch.einsum("blm,kdm->bkld", x, self.wk)
        v = torch.einsum("blm,kdm->bkld", x, self.wv)
        分数 = torch.einsum("bkgid,bkjd->bkgij", q, k) / q.shape[-1] ** 0.5
        if mask is not None:
            B, K, G, L, _ = 分数.shape
            # 掩码先铺满 (B, H, L, L)，再拆成组
            可见 = mask.bool().expand(B, K * G, L, L).reshape(B, K, G, L, L)
            分数 = 分数.masked_fill(~可见, float("-inf"))
        z = torch.einsum("bkgij,bkjd->bkgid", 分数.softmax(-1), v)
        return torch.einsum("bkgld,mkgd->blm", z, self.wo)
