import torch
from torch import nn


class RotaryAttention(nn.Module):
    """旋转位置编码：用 2x2 旋转矩阵逐对旋转"""

    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model 不能被 n_heads 整除")
        if d_model // n_heads % 2 != 0:
            raise ValueError("每个头的维度必须是偶数")
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def 旋转(self, t, 位置):
        对 = t.unflatten(-1, (2, -1))                                     # (B, H, L, 2, d_h/2)
        n = 对.shape[-1]
        频率 = 10000.0 ** (-torch.arange(n, device=t.device).double() / n)
        角 = 位置.double()[:, None] * 频率                                 # (L, d_h/2)
        c, s = 角.cos(), 角.sin()
        矩阵 = torch.stack([torch.stack([c, -s]), torch.stack([s, c])])    # (2, 2, L, d_h/2)
        return torch.einsum("rcln,bhlcn->bhlrn", 矩阵.to(t.dtype), 对).flatten(-2)

    def forward(self, x, cache=None):
        B, L, D = x.shape
        q = self.w_q(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        k = self.w_k(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        v = self.w_v(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        T = L if cache is None else L + cache[0].shape[2]
        全部位置 = torch.arange(T, device=x.device)
        现在 = 全部位置[T - L:]
        q, k = self.旋转(q, 现在), self.旋转(k, 现在)
        if cache is not None:
            k = torch.cat([cache[0], k], dim=2)
            v = torch.cat([cache[1], v], dim=2)
        分数 = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        分数 = 分数.masked_fill(全部位置 > 现在[:, None], float("-inf"))
        y = (分数.softmax(-1) @ v).transpose(1, 2).reshape(B, L, D)
        return self.w_o(y), (k, v)
