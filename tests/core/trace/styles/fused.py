"""Fused projections: one weight for queries, keys and values."""

# ruff: noqa: RUF012, RUF059  written as people write it

import torch
import torch.nn.functional as F
from torch import nn


class Fused(nn.Module):
    axes = {"x": "B L d_model"}

    def __init__(self, s):
        super().__init__()
        self.h, self.d_h, self.d = s.H, s.d_h, s.d_model
        self.qkv = nn.Linear(s.d_model, 3 * s.d_model)
        self.wo = nn.Linear(s.d_model, s.d_model)


class Chunked(Fused):
    def forward(self, x, mask=None):
        B, L, d = x.shape
        #: B L qkv·H·d_h
        qkv = self.qkv(x)
        #: B L H·d_h
        q, k, v = qkv.chunk(3, dim=-1)

        def split(t):
            #: B L H d_h > B H L d_h
            return t.view(B, L, self.h, self.d_h).transpose(1, 2)

        q, k, v = split(q), split(k), split(v)
        #: B H d_h L > B H L Lk > B H L Lk
        scores = q @ k.transpose(-2, -1) / (self.d_h**0.5)
        #: B H L Lk
        attn = F.softmax(scores, dim=-1)
        #: B H L d_h
        out = attn @ v
        #: B L H d_h > B L H d_h > B L H·d_h
        out = out.transpose(1, 2).contiguous().view(B, L, d)
        #: B L d_model
        return self.wo(out)


class SplitSizes(Fused):
    def forward(self, x):
        B, L, d = x.shape
        #: B L qkv·H·d_h > B L H·d_h
        q, k, v = self.qkv(x).split(self.d, dim=2)
        #: B L H d_h > B H L d_h
        k = k.view(B, L, self.h, d // self.h).transpose(1, 2)
        #: B L H d_h > B H L d_h
        q = q.view(B, L, self.h, d // self.h).transpose(1, 2)
        #: B L H d_h > B H L d_h
        v = v.view(B, L, self.h, d // self.h).transpose(1, 2)
        #: B H L d_h
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        #: B L H d_h > B L H d_h > B L H·d_h > B L d_model
        return self.wo(y.transpose(1, 2).contiguous().view(B, L, d))


class RolesFirst(Fused):
    """The vision transformer's way."""

    def forward(self, x):
        B, L, d = x.shape
        #: B L qkv·H·d_h > B L qkv H d_h
        qkv = self.qkv(x).reshape(B, L, 3, self.h, self.d_h)
        #: qkv B H L d_h > B H L d_h
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        #: B H L d_h > B H d_h L > B H L Lk > B H L Lk
        attn = (q * self.d_h**-0.5 @ k.transpose(-2, -1)).softmax(dim=-1)
        #: B H L d_h > B L H d_h > B L H·d_h > B L d_model
        return self.wo((attn @ v).transpose(1, 2).reshape(B, L, d))


class RolesIndexed(Fused):
    def forward(self, x):
        B, L, d = x.shape
        #: B L qkv·H·d_h > B L qkv H d_h > qkv B H L d_h
        qkv = self.qkv(x).view(B, L, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        #: B H L d_h
        q, k, v = qkv[0], qkv[1], qkv[2]
        #: B H L d_h
        y = F.scaled_dot_product_attention(q, k, v)
        #: B L H d_h > B L H·d_h > B L d_model
        return self.wo(y.transpose(1, 2).reshape(B, L, d))


class PerHeadFused(Fused):
    """Each head's q, k and v side by side."""

    def forward(self, x):
        B, L, d = x.shape
        #: B L H·qkv·d_h > B L H qkv·d_h
        qkv = self.qkv(x).view(B, L, self.h, 3 * self.d_h)
        #: B H L qkv·d_h > B H L d_h
        q, k, v = qkv.transpose(1, 2).chunk(3, dim=-1)
        #: B H d_h L > B H L Lk > B H L Lk > B H L Lk
        attn = (q @ k.mT / self.d_h**0.5).softmax(-1)
        #: B H L d_h > B L H d_h > B L H·d_h > B L d_model
        return self.wo((attn @ v).transpose(1, 2).reshape(B, L, d))


class PerHeadFusedFiveAxes(Fused):
    def forward(self, x):
        B, L, d = x.shape
        #: B L H·qkv·d_h > B L H qkv d_h
        qkv = self.qkv(x).view(B, L, self.h, 3, self.d_h)
        #: B L H d_h > B H L d_h
        q, k, v = (qkv[:, :, :, i].transpose(1, 2) for i in range(3))
        #: B H L d_h
        y = F.scaled_dot_product_attention(q, k, v)
        #: B L H d_h > B L H·d_h > B L d_model
        return self.wo(y.transpose(1, 2).flatten(2))


class RolesLast(Fused):
    def forward(self, x):
        B, L, d = x.shape
        #: B L H·d_h·qkv > B L H d_h qkv
        qkv = self.qkv(x).unflatten(-1, (self.h, self.d_h, 3))
        #: B H L d_h qkv > B H L d_h
        q, k, v = qkv.transpose(1, 2).unbind(-1)
        #: B H L d_h
        y = F.scaled_dot_product_attention(q, k, v)
        #: B L H d_h > B L H·d_h > B L d_model
        return self.wo(y.transpose(1, 2).flatten(2))


class SlicedWeight(nn.Module):
    """One parameter whose rows are used in three parts."""

    axes = {"x": "B L d_model"}

    def __init__(self, s):
        super().__init__()
        self.h, self.d_h = s.H, s.d_h
        self.in_proj = nn.Parameter(torch.randn(3 * s.d_model, s.d_model))
        self.bias = nn.Parameter(torch.randn(3 * s.d_model))
        self.out = nn.Parameter(torch.randn(s.d_model, s.d_model))

    def forward(self, x):
        B, L, D = x.shape
        parts = []
        for i in range(3):
            rows = slice(i * D, (i + 1) * D)
            #: * > * > B L H·d_h
            t = F.linear(x, self.in_proj[rows], self.bias[rows])
            #: B L H d_h > B H L d_h
            parts.append(t.view(B, L, self.h, self.d_h).transpose(1, 2))
        q, k, v = parts
        #: B H L d_h
        y = F.scaled_dot_product_attention(q, k, v)
        #: B L H d_h > B L H·d_h > B L d_model
        return F.linear(y.transpose(1, 2).flatten(2), self.out)


class KeysAndValuesFused(nn.Module):
    axes = {"x": "B L d_model", "context": "B Lk d_model"}

    def __init__(self, s):
        super().__init__()
        self.h, self.d_h = s.H, s.d_h
        self.to_q = nn.Linear(s.d_model, s.d_model, bias=False)
        self.to_kv = nn.Linear(s.d_model, 2 * s.d_model, bias=False)
        self.to_out = nn.Linear(s.d_model, s.d_model)

    def forward(self, x, context):
        B, L, D = x.shape
        #: B L H·d_h
        q = self.to_q(x)
        #: B Lk kv·H·d_h > B Lk H·d_h
        k, v = self.to_kv(context).chunk(2, dim=-1)
        #: B L H d_h > B H L d_h
        q = q.view(B, -1, self.h, self.d_h).transpose(1, 2)
        #: B Lk H d_h > B H Lk d_h
        k = k.view(B, -1, self.h, self.d_h).transpose(1, 2)
        #: B Lk H d_h > B H Lk d_h
        v = v.view(B, -1, self.h, self.d_h).transpose(1, 2)
        #: B H L Lk > B H L Lk
        sim = torch.einsum("b h i d, b h j d -> b h i j", q, k) * self.d_h**-0.5
        #: B H L Lk > B H L d_h
        out = torch.einsum("b h i j, b h j d -> b h i d", sim.softmax(-1), v)
        #: B L H d_h > B L H·d_h > B L d_model
        return self.to_out(out.transpose(1, 2).reshape(B, L, D))


class Conv1DFused(nn.Module):
    """GPT-2's transposed weights."""

    axes = {"x": "B L d_model"}

    def __init__(self, s):
        super().__init__()
        self.h = s.H
        self.w = nn.Parameter(torch.randn(s.d_model, 3 * s.d_model))
        self.b = nn.Parameter(torch.zeros(3 * s.d_model))

    def forward(self, x):
        B, L, D = x.shape
        #: B·L d_model
        flat = x.view(-1, D)
        #: B·L qkv·H·d_h
        qkv = torch.addmm(self.b, flat, self.w)
        #: B L qkv·H·d_h
        qkv = qkv.view(B, L, 3 * D)
        #: B L H·d_h
        q, k, v = qkv.split(D, dim=2)
        #: B L H d_h > B H L d_h
        q, k, v = (t.view(B, L, self.h, -1).permute(0, 2, 1, 3) for t in (q, k, v))
        #: B H L d_h
        return F.scaled_dot_product_attention(q, k, v)
