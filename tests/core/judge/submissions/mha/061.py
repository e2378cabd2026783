import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    """多头注意力：逐个查询位置计算，慢但清楚"""

    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model 不能被 n_heads 整除")
        self.头数 = n_heads
        self.查询层 = nn.Linear(d_model, d_model)
        self.键层 = nn.Linear(d_model, d_model)
        self.值层 = nn.Linear(d_model, d_model)
        self.输出层 = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        批, 长, 宽 = x.shape
        头宽 = 宽 // self.头数
        查询 = self.查询层(x).view(批, 长, self.头数, 头宽)
        键 = self.键层(x).view(批, 长, self.头数, 头宽)
        值 = self.值层(x).view(批, 长, self.头数, 头宽)
        if mask is not None:
            mask = mask.bool().expand(批, self.头数, 长, 长)
        行 = []
        for 位置 in range(长):
            分数 = (查询[:, 位置, None] * 键).sum(-1) / 头宽 ** 0.5      # (B, L, H)
            if mask is not None:
                看得见 = mask[:, :, 位置].transpose(1, 2)                # (B, L, H)
                分数 = 分数.masked_fill(~看得见, float("-inf"))
            权重 = torch.softmax(分数, dim=1).unsqueeze(-1)              # (B, L, H, 1)
            行.append((权重 * 值).sum(dim=1).reshape(批, 宽))
        return self.输出层(torch.stack(行, dim=1))
