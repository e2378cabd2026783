"""Grouped-query and multi-query attention, cross-attention and caches."""

# ruff: noqa: RUF012, RUF059  written as people write it

import torch
import torch.nn.functional as F
from torch import nn


class Grouped(nn.Module):
    axes = {"x": "B L d_model"}
    sizes = ("H", "H_kv")

    def __init__(self, s):
        super().__init__()
        self.h, self.kv, self.g, self.d_h = s.H, s.H_kv, s.H // s.H_kv, s.d_h
        self.w_q = nn.Linear(s.d_model, s.H * s.d_h)
        self.w_k = nn.Linear(s.d_model, s.H_kv * s.d_h)
        self.w_v = nn.Linear(s.d_model, s.H_kv * s.d_h)
        self.w_o = nn.Linear(s.H * s.d_h, s.d_model)

    def split(self, x):
        B, L, _ = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q = self.w_q(x).view(B, L, self.h, self.d_h).transpose(1, 2)
        #: B L H_kv·d_h > B L H_kv d_h > B H_kv L d_h
        k = self.w_k(x).view(B, L, self.kv, self.d_h).transpose(1, 2)
        #: B L H_kv·d_h > B L H_kv d_h > B H_kv L d_h
        v = self.w_v(x).view(B, L, self.kv, self.d_h).transpose(1, 2)
        return q, k, v

    def join(self, out):
        B, H, L, d = out.shape
        #: B L H d_h > B L H·d_h > B L d_model
        return self.w_o(out.transpose(1, 2).reshape(B, L, H * d))


class RepeatInterleave(Grouped):
    def forward(self, x):
        q, k, v = self.split(x)
        #: B H L d_h
        k = k.repeat_interleave(self.g, dim=1)
        #: B H L d_h
        v = torch.repeat_interleave(v, self.g, 1)
        #: B H d_h L > B H L Lk > B H L Lk > B H L Lk
        attn = (q @ k.mT / self.d_h**0.5).softmax(-1)
        #: B H L d_h
        return self.join(attn @ v)


class ExpandReshape(Grouped):
    """Llama's repeat_kv."""

    def forward(self, x):
        q, k, v = self.split(x)
        B, _, L, d = k.shape
        #: B H_kv 1 L d_h > B H_kv G L d_h > B H L d_h
        k = k[:, :, None, :, :].expand(B, self.kv, self.g, L, d).reshape(B, self.h, L, d)
        #: B H_kv 1 L d_h > B H_kv G L d_h > B H L d_h
        v = v[:, :, None, :, :].expand(B, self.kv, self.g, L, d).reshape(B, self.h, L, d)
        #: B H d_h L > B H L Lk > B H L Lk
        attn = torch.matmul(q, k.transpose(2, 3)).softmax(-1)
        #: B H L d_h
        return self.join(torch.matmul(attn, v))


class FiveAxes(Grouped):
    """Queries by group; keys broadcast, nothing is copied."""

    def forward(self, x):
        B, L, _ = x.shape
        #: B L H·d_h > B L H_kv G d_h > B H_kv G L d_h
        q = self.w_q(x).view(B, L, self.kv, self.g, self.d_h).permute(0, 2, 3, 1, 4)
        #: B L H_kv·d_h > B L H_kv d_h > B H_kv L d_h > B H_kv 1 L d_h
        k = self.w_k(x).view(B, L, self.kv, self.d_h).transpose(1, 2).unsqueeze(2)
        #: B L H_kv·d_h > B L H_kv d_h > B H_kv L d_h > B H_kv 1 L d_h
        v = self.w_v(x).view(B, L, self.kv, self.d_h).transpose(1, 2).unsqueeze(2)
        #: B H_kv 1 d_h L > B H_kv G L Lk > B H_kv G L Lk
        attn = (q @ k.mT).softmax(-1)
        #: B H_kv G L d_h > B L H_kv G d_h > B L H·d_h
        out = (attn @ v).permute(0, 3, 1, 2, 4).reshape(B, L, -1)
        #: B L d_model
        return self.w_o(out)


class EinsumGroups(Grouped):
    def forward(self, x):
        B, L, _ = x.shape
        #: B L H·d_h > B L H_kv G d_h
        q = self.w_q(x).unflatten(-1, (self.kv, self.g, self.d_h))
        #: B L H_kv·d_h > B L H_kv d_h
        k = self.w_k(x).unflatten(-1, (self.kv, self.d_h))
        #: B L H_kv·d_h > B L H_kv d_h
        v = self.w_v(x).unflatten(-1, (self.kv, self.d_h))
        #: B H_kv G L Lk
        scores = torch.einsum("bqngd,bknd->bngqk", q, k)
        #: B H_kv G L Lk > B L H_kv G d_h
        out = torch.einsum("bngqk,bknd->bqngd", scores.softmax(-1), v)
        #: B L H·d_h > B L d_model
        return self.w_o(out.flatten(2))


class EnableGqa(Grouped):
    def forward(self, x):
        q, k, v = self.split(x)
        #: B H L d_h
        return self.join(F.scaled_dot_product_attention(q, k, v, enable_gqa=True))


class LoopOverGroups(Grouped):
    def forward(self, x):
        q, k, v = self.split(x)
        heads = []
        for h in range(self.h):
            #: B L d_h > B L d_h > B d_h L > B L Lk > B L Lk
            attn = (q[:, h] @ k[:, h // self.g].mT).softmax(-1)
            #: B L d_h > B L d_h
            heads.append(attn @ v[:, h // self.g])
        #: B H L d_h
        return self.join(torch.stack(heads, dim=1))


class IndexedGroups(Grouped):
    def forward(self, x):
        q, k, v = self.split(x)
        #: * > *
        of = torch.arange(self.h) // self.g
        #: B H L d_h > B H L d_h
        k, v = k[:, of], v.index_select(1, of)
        #: B H L d_h
        return self.join(F.scaled_dot_product_attention(q, k, v))


class FusedGrouped(nn.Module):
    axes = {"x": "B L d_model"}
    sizes = ("H", "H_kv")

    def __init__(self, s):
        super().__init__()
        self.h, self.kv, self.d_h = s.H, s.H_kv, s.d_h
        self.wqkv = nn.Linear(s.d_model, (s.H + 2 * s.H_kv) * s.d_h, bias=False)

    def forward(self, x):
        B, L, _ = x.shape
        #: * > B L H·d_h ; B L H_kv·d_h ; B L H_kv·d_h
        q, k, v = self.wqkv(x).split([self.h * self.d_h, self.kv * self.d_h, self.kv * self.d_h], dim=-1)
        #: B L H d_h > B H L d_h
        q = q.view(B, L, self.h, self.d_h).transpose(1, 2)
        #: B L H_kv d_h > B H_kv L d_h
        k = k.view(B, L, self.kv, self.d_h).transpose(1, 2)
        #: B L H_kv d_h > B H_kv L d_h
        v = v.view(B, L, self.kv, self.d_h).transpose(1, 2)
        #: B H L d_h
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


class MultiQuery(nn.Module):
    axes = {"x": "B L d_model"}
    one_kv = True
    sizes = ("H", "H_kv")

    def __init__(self, s):
        super().__init__()
        self.h, self.d_h = s.H, s.d_h
        self.w_q = nn.Linear(s.d_model, s.d_model)
        self.w_k = nn.Linear(s.d_model, s.d_h)
        self.w_v = nn.Linear(s.d_model, s.d_h)

    def forward(self, x):
        B, L, _ = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q = self.w_q(x).view(B, L, self.h, self.d_h).transpose(1, 2)
        #: B L H_kv·d_h > B L H_kv d_h > B H_kv L d_h
        k = self.w_k(x).view(B, L, 1, self.d_h).transpose(1, 2)
        #: B L H_kv·d_h > B L H_kv d_h > B H_kv L d_h
        v = self.w_v(x).view(B, L, 1, self.d_h).transpose(1, 2)
        #: B H L d_h
        k = k.expand(B, self.h, L, self.d_h)
        #: B H L d_h
        v = v.expand(-1, self.h, -1, -1)
        #: B H d_h L > B H L Lk > B H L Lk
        attn = (q @ k.mT).softmax(-1)
        #: B H L d_h
        return attn @ v


class MultiQueryBroadcast(MultiQuery):
    sizes = ("H",)

    def forward(self, x):
        B, L, _ = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q = self.w_q(x).view(B, L, self.h, self.d_h).transpose(1, 2)
        #: B L d_h
        k, v = self.w_k(x), self.w_v(x)
        #: B H L Lk > B H L Lk
        attn = torch.einsum("bhqd,bkd->bhqk", q, k).softmax(-1)
        #: B H L d_h
        return torch.einsum("bhqk,bkd->bhqd", attn, v)


class Cached(nn.Module):
    """One new token and the keys of those before it."""

    axes = {"x": "B L d_model", "past_k": "B H Lk d_h", "past_v": "B H Lk d_h"}

    def __init__(self, s):
        super().__init__()
        self.h, self.d_h = s.H, s.d_h
        self.w_q, self.w_k, self.w_v = (nn.Linear(s.d_model, s.d_model) for _ in range(3))

    def forward(self, x, past_k, past_v):
        B, L, _ = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q, k, v = (w(x).view(B, L, self.h, self.d_h).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        #: B H Lk d_h
        k = torch.cat([past_k, k], dim=2)
        #: B H Lk d_h
        v = torch.cat((past_v, v), -2)
        #: B H d_h Lk > B H L Lk > B H L Lk
        attn = (q @ k.transpose(-2, -1)).softmax(-1)
        #: B H L d_h
        return attn @ v


class CachedInPlace(Cached):
    axes = {"x": "B L d_model", "cache_k": "B H Lk d_h", "cache_v": "B H Lk d_h"}
    longer = ("cache_k", "cache_v")

    def forward(self, x, cache_k, cache_v):
        B, L, _ = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q, k, v = (w(x).view(B, L, self.h, self.d_h).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        start = cache_k.shape[2] - L
        #: B H Lk d_h
        cache_k[:, :, start:] = k
        #: B H Lk d_h > *
        cache_v[:, :, start:].copy_(v)
        #: B H d_h Lk > B H L Lk > B H L Lk
        attn = (q @ cache_k.transpose(-2, -1)).softmax(-1)
        #: B H L d_h
        return attn @ cache_v


class Cross(nn.Module):
    axes = {"x": "B L d_model", "memory": "B Lk d_model"}

    def __init__(self, s):
        super().__init__()
        self.h, self.d_h = s.H, s.d_h
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(s.d_model, s.d_model) for _ in range(4))

    def forward(self, x, memory):
        B, Lq, D = x.shape
        Lk = memory.shape[1]
        #: B L H·d_h > B L H d_h > B H L d_h
        q = self.w_q(x).view(B, Lq, self.h, self.d_h).transpose(1, 2)
        #: B Lk H·d_h > B Lk H d_h > B H Lk d_h
        k = self.w_k(memory).view(B, Lk, self.h, self.d_h).transpose(1, 2)
        #: B Lk H·d_h > B Lk H d_h > B H Lk d_h
        v = self.w_v(memory).view(B, Lk, self.h, self.d_h).transpose(1, 2)
        #: B H d_h Lk > B H L Lk
        scores = q @ k.transpose(-2, -1)
        #: B H L Lk > B H L d_h
        out = scores.softmax(-1) @ v
        #: B L H d_h > B L H d_h > B L H·d_h > B L d_model
        return self.w_o(out.transpose(1, 2).contiguous().view(B, Lq, D))


class PaddingMask(Cross):
    axes = {"x": "B L d_model", "memory": "B Lk d_model", "keep": "B Lk"}

    def forward(self, x, memory, keep):
        B, Lq, D = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q = self.w_q(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
        #: B Lk H·d_h > B Lk H d_h > B H Lk d_h
        k = self.w_k(memory).unflatten(-1, (self.h, -1)).transpose(1, 2)
        #: B Lk H·d_h > B Lk H d_h > B H Lk d_h
        v = self.w_v(memory).unflatten(-1, (self.h, -1)).transpose(1, 2)
        #: B H d_h Lk > B H L Lk
        scores = q @ k.mT
        #: B Lk > B 1 1 Lk > B 1 1 Lk > B H L Lk
        scores = scores + (1 - keep)[:, None, None, :] * -1e9
        #: B H L Lk > B H L d_h
        return scores.softmax(-1) @ v


class KeysAndValuesFused(nn.Module):
    """Keys and values from one weight, grouped: where G = 2 it is as wide as the queries' weight."""

    axes = {"x": "B L d_model"}
    sizes = ("H", "H_kv")

    def __init__(self, s):
        super().__init__()
        self.kv, self.g, self.d_h = s.H_kv, s.H // s.H_kv, s.d_h
        self.to_q = nn.Linear(s.d_model, s.H * s.d_h)
        self.to_kv = nn.Linear(s.d_model, 2 * s.H_kv * s.d_h)

    def forward(self, x):
        B, L, _ = x.shape
        #: B L H·d_h > B L H_kv G d_h
        q = self.to_q(x).view(B, L, self.kv, self.g, self.d_h)
        #: B L kv·H_kv·d_h > B L kv H_kv d_h > B L H_kv d_h
        k, v = self.to_kv(x).view(B, L, 2, self.kv, self.d_h).unbind(2)
        #: B H_kv G L Lk
        scores = torch.einsum("bingd,bjnd->bngij", q, k)
        #: B H_kv G L Lk > B L H_kv G d_h > B L H·d_h
        return torch.einsum("bngij,bjnd->bingd", scores.softmax(-1), v).flatten(2)


class LoopOverGroupsOfQueries(Grouped):
    """For each key/value head its queries: as many picks as there would be roles in a fused weight."""

    def forward(self, x):
        B, L, _ = x.shape
        #: B L H·d_h > B L H_kv G d_h
        q = self.w_q(x).view(B, L, self.kv, self.g, self.d_h)
        #: B L H_kv·d_h > B L H_kv d_h
        k, v = self.w_k(x).view(B, L, self.kv, -1), self.w_v(x).view(B, L, self.kv, -1)
        outs = []
        for n in range(self.kv):
            #: B L G d_h > B L d_h > B G L Lk
            scores = torch.einsum("bigd,bjd->bgij", q[:, :, n], k[:, :, n])
            #: B G L Lk > B L d_h > B L G d_h
            outs.append(torch.einsum("bgij,bjd->bigd", scores.softmax(-1), v[:, :, n]))
        #: B L H_kv G d_h > B L H·d_h > B L d_model
        return self.w_o(torch.stack(outs, dim=2).flatten(2))


class GroupedParameters(nn.Module):
    """Weights (d_model, heads, d_h), fewer heads for keys and values, and a gather of heads."""

    axes = {"x": "B L d_model"}
    sizes = ("H", "H_kv")

    def __init__(self, s):
        super().__init__()
        self.group = s.H // s.H_kv
        self.q = nn.Parameter(torch.randn(s.d_model, s.H, s.d_h))
        self.k, self.v = (nn.Parameter(torch.randn(s.d_model, s.H_kv, s.d_h)) for _ in range(2))

    def forward(self, x):
        #: B H L d_h
        q = torch.einsum("bld,dhk->bhlk", x, self.q)
        #: B H_kv L d_h
        k, v = (torch.einsum("bld,dhk->bhlk", x, w) for w in (self.k, self.v))
        #: * > *
        of = torch.arange(q.shape[1]) // self.group
        #: B H L d_h > B H d_h L > B H L Lk > B H L Lk
        attn = (q @ k.index_select(1, of).mT).softmax(-1)
        #: B H L d_h > B H L d_h
        return attn @ v[:, of]
