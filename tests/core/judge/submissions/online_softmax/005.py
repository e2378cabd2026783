import torch


def blockwise_attention(q, k, v, block_size):
    # 在线 softmax：逐块更新最大值、分母和分子
    缩放 = q.shape[-1] ** -0.5
    最大 = torch.zeros_like(q[..., :1])
    分母 = torch.zeros_like(q[..., :1])
    分子 = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype, device=q.device)
    for 块k, 块v in zip(k.split(block_size, 2), v.split(block_size, 2)):
        分数 = torch.matmul(q, 块k.transpose(-1, -2)) * 缩放
        新最大 = torch.maximum(最大, 分数.amax(dim=-1, keepdim=True))
        权 = torch.exp(分数 - 新最大)
        衰减 = torch.exp(最大 - 新最大)
        分母 = 分母 * 衰减 + 权.sum(dim=-1, keepdim=True)
        分子 = 分子 * 衰减 + torch.matmul(权, 块v)
        最大 = 新最大
    return 分子 / 分母
