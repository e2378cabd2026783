"""Functions, raw weights, einsum with weights of three and four axes, and PyTorch's own modules."""

# ruff: noqa: RUF012, RUF059  written as people write it

import math

import torch
import torch.nn.functional as F
from torch import nn


def attention(q, k, v):
    d_h = q.shape[-1]
    #: B H d_h Lk > B H L Lk > B H L Lk
    scores = q @ k.transpose(-2, -1) / math.sqrt(d_h)
    #: B H L Lk
    weights = scores.softmax(dim=-1)
    #: B H L d_h
    return weights @ v


attention.axes = {"q": "B H L d_h", "k": "B H Lk d_h", "v": "B H Lk d_h"}


def same_length(q, k, v):
    #: B H L Lk
    scores = torch.einsum("bhid,bhjd->bhij", q, k)
    #: B H L Lk > B H L Lk
    weights = F.softmax(scores / q.size(-1) ** 0.5, dim=-1)
    #: B H L d_h
    return torch.einsum("...ij,...jd->...id", weights, v)


same_length.axes = {"q": "B H L d_h", "k": "B H L d_h", "v": "B H L d_h"}


def already_projected(q, k, v, n_heads):
    B, L, D = q.shape
    #: B L H d_h > B H L d_h
    q, k, v = (t.view(B, L, n_heads, D // n_heads).transpose(1, 2) for t in (q, k, v))
    #: B H L d_h
    out = F.scaled_dot_product_attention(q, k, v)
    #: B L H d_h > B L H·d_h
    return out.transpose(1, 2).reshape(B, L, D)


already_projected.axes = {"q": "B L H·d_h", "k": "B L H·d_h", "v": "B L H·d_h"}
already_projected.plain = lambda s: {"n_heads": s.H}


def raw_weights(x, w_q, w_k, w_v, w_o, n_heads):
    B, L, D = x.shape
    #: B L H·d_h > B L H d_h > B H L d_h
    q = (x @ w_q).view(B, L, n_heads, -1).transpose(1, 2)
    #: B L H·d_h > B L H d_h > B H L d_h
    k = (x @ w_k).view(B, L, n_heads, -1).transpose(1, 2)
    #: B L H·d_h > B L H d_h > B H L d_h
    v = (x @ w_v).view(B, L, n_heads, -1).transpose(1, 2)
    #: B H L d_h
    out = F.scaled_dot_product_attention(q, k, v)
    #: B L H d_h > B L H·d_h > B L d_model
    return out.transpose(1, 2).reshape(B, L, D) @ w_o


raw_weights.axes = {"x": "B L d_model"}
raw_weights.more = {
    "w_q": "d_model d_model",
    "w_k": "d_model d_model",
    "w_v": "d_model d_model",
    "w_o": "d_model d_model",
}
raw_weights.plain = lambda s: {"n_heads": s.H}


class EinsumThreeAxes(nn.Module):
    """Weights (d_model, H, d_h), whose axes nobody declares: told by their part in the scores."""

    axes = {"x": "B L d_model"}

    def __init__(self, s):
        super().__init__()
        self.w_q, self.w_k, self.w_v = (nn.Parameter(torch.randn(s.d_model, s.H, s.d_h)) for _ in range(3))
        self.w_o = nn.Parameter(torch.randn(s.H, s.d_h, s.d_model))

    def forward(self, x):
        #: B H L d_h
        q = torch.einsum("bld,dhk->bhlk", x, self.w_q)
        #: B H L d_h
        k = torch.einsum("bld,dhk->bhlk", x, self.w_k)
        #: B H L d_h
        v = torch.einsum("bld,dhk->bhlk", x, self.w_v)
        #: B H L Lk > B H L Lk
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
        #: B H L Lk > B H L d_h
        out = torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1), v)
        #: B L d_model
        return torch.einsum("bhld,hdm->blm", out, self.w_o)


class EinsumDeclared(nn.Module):
    """Weights (H, d_model, d_h) declared by the caller."""

    axes = {
        "x": "B L d_model",
        "w_q": "H d_model d_h",
        "w_k": "H d_model d_h",
        "w_v": "H d_model d_h",
        "w_o": "H d_h d_model",
    }

    def __init__(self, s):
        super().__init__()
        self.w_q, self.w_k, self.w_v = (nn.Parameter(torch.randn(s.H, s.d_model, s.d_h)) for _ in range(3))
        self.w_o = nn.Parameter(torch.randn(s.H, s.d_h, s.d_model))

    def forward(self, x):
        #: B 1 L d_model > B H L d_h
        q = x[:, None] @ self.w_q
        #: B 1 L d_model > B H L d_h
        k = x.unsqueeze(1) @ self.w_k
        #: B 1 L d_model > B H L d_h
        v = torch.matmul(x.unsqueeze(1), self.w_v)
        #: B H L d_h
        out = F.scaled_dot_product_attention(q, k, v)
        #: B H L d_model > B L d_model
        return (out @ self.w_o).sum(dim=1)


class EinsumFourAxes(nn.Module):
    """One weight (3, H, d_model, d_h) for all."""

    axes = {"x": "B L d_model", "w": "qkv H d_model d_h"}

    def __init__(self, s):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, s.H, s.d_model, s.d_h))
        self.w_o = nn.Parameter(torch.randn(s.H, s.d_h, s.d_model))

    def forward(self, x):
        #: qkv B H L d_h > B H L d_h
        q, k, v = torch.einsum("bld,rhdk->rbhlk", x, self.w)
        #: B H L Lk > B H L Lk
        attn = torch.einsum("bhqd,bhkd->bhqk", q, k).softmax(-1)
        #: B L d_model
        return torch.einsum("bhqk,bhkd,hdm->bqm", attn, v, self.w_o)


class PyTorchModule(nn.Module):
    axes = {"x": "B L d_model"}

    def __init__(self, s):
        super().__init__()
        self.mha = nn.MultiheadAttention(s.d_model, s.H, batch_first=True)

    def forward(self, x):
        #: B L d_model ; B H L Lk
        out, weights = self.mha(x, x, x, average_attn_weights=False)
        #: > B L d_model
        return out + weights.sum()


class PyTorchModuleAveraged(PyTorchModule):
    def forward(self, x):
        #: B L d_model ; B L Lk
        out, weights = self.mha(x, x, x)
        return out


class PyTorchModuleCross(PyTorchModule):
    axes = {"x": "B L d_model", "context": "B Lk d_model"}

    def forward(self, x, context):
        #: B L d_model ; B H L Lk
        out, weights = self.mha(x, context, context, average_attn_weights=False)
        return out


class PyTorchModuleSequenceFirst(nn.Module):
    axes = {"x": "L B d_model"}

    def __init__(self, s):
        super().__init__()
        self.mha = nn.MultiheadAttention(s.d_model, s.H)

    def forward(self, x):
        #: L B d_model ; B H L Lk
        out, weights = self.mha(x, x, x, average_attn_weights=False)
        return out


class WithEmbeddings(nn.Module):
    axes = {"ids": "B L"}
    ints = ("ids",)

    def __init__(self, s):
        super().__init__()
        self.h = s.H
        self.tokens = nn.Embedding(7, s.d_model)
        self.positions = nn.Parameter(torch.randn(1, s.L, s.d_model))
        self.w_q = nn.Linear(s.d_model, s.d_model)

    sizes = ("H", "d_model")

    def forward(self, ids):
        B, L = ids.shape
        #: B L d_model
        x = self.tokens(ids)
        #: B L d_model
        x = x + self.positions
        #: B L H·d_h > B L H d_h > B H L d_h
        q = self.w_q(x).view(B, L, self.h, -1).transpose(1, 2)
        #: B H L d_h
        return F.scaled_dot_product_attention(q, q, q)


class FlashTiles(nn.Module):
    """Online softmax over tiles of keys."""

    axes = {"q": "B H L d_h", "k": "B H L d_h", "v": "B H L d_h"}

    def __init__(self, s):
        super().__init__()

    def forward(self, q, k, v):
        top, total, acc = None, None, None
        #: B H L d_h > B H L d_h
        for kt, vt in zip(k.split(2, dim=2), v.split(2, dim=2), strict=True):
            #: B H d_h L > B H L Lk
            s = q @ kt.mT
            #: B H L 1
            new = s.amax(-1, keepdim=True)
            #: B H L 1
            new = new if top is None else torch.maximum(top, new)
            #: B H L Lk > B H L Lk
            p = torch.exp(s - new)
            #: B H L d_h
            part = p @ vt
            if top is None:
                #: B H L 1
                acc, total = part, p.sum(-1, keepdim=True)
            else:
                #: B H L 1 > B H L 1
                scale = torch.exp(top - new)
                #: B H L d_h > B H L d_h
                acc = acc * scale + part
                #: B H L 1 > B H L 1 > B H L 1
                total = total * scale + p.sum(-1, keepdim=True)
            top = new
        #: B H L d_h
        return acc / total
