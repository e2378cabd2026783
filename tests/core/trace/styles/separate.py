"""Multi-head attention with separate projections; `#:` gives the axes of each step of the next statement, by `>`."""

# ruff: noqa: RUF012, RUF059  written as people write it

import math

import torch
import torch.nn.functional as F
from torch import nn


class Base(nn.Module):
    axes = {"x": "B L d_model"}

    def __init__(self, s):
        super().__init__()
        self.h, self.d_h = s.H, s.d_h
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(s.d_model, s.d_model) for _ in range(4))


class Textbook(Base):
    def forward(self, x):
        B, L, D = x.shape
        #: B L H·d_h
        q = self.w_q(x)
        #: B L H·d_h
        k = self.w_k(x)
        #: B L H·d_h
        v = self.w_v(x)
        #: B L H d_h
        q = q.view(B, L, self.h, self.d_h)
        #: B L H d_h
        k = k.view(B, L, self.h, self.d_h)
        #: B L H d_h
        v = v.view(B, L, self.h, self.d_h)
        #: B H L d_h
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        #: B H d_h L
        kt = k.transpose(-2, -1)
        #: B H L Lk > B H L Lk
        scores = torch.matmul(q, kt) / math.sqrt(self.d_h)
        #: B H L Lk
        attn = F.softmax(scores, dim=-1)
        #: B H L d_h
        out = torch.matmul(attn, v)
        #: B L H d_h > B L H d_h
        out = out.transpose(1, 2).contiguous()
        #: B L H·d_h
        out = out.view(B, L, D)
        #: B L d_model
        return self.w_o(out)


class OneLiners(Base):
    def forward(self, x):
        B, L, D = x.size()
        #: B L H·d_h > B L H d_h > B H L d_h
        q = self.w_q(x).view(B, L, self.h, -1).transpose(1, 2)
        #: B L H·d_h > B L H d_h > B H L d_h
        k = self.w_k(x).view(B, L, self.h, -1).transpose(1, 2)
        #: B L H·d_h > B L H d_h > B H L d_h
        v = self.w_v(x).view(B, L, self.h, -1).transpose(1, 2)
        #: B H d_h L > B H L Lk > B H L Lk > B H L Lk
        w = (q @ k.mT * self.d_h**-0.5).softmax(-1)
        #: B H L d_h > B L H d_h > B L H·d_h
        out = (w @ v).transpose(1, 2).reshape(B, L, D)
        #: B L d_model
        return self.w_o(out)


class PermuteAndFlatten(Base):
    def forward(self, x):
        B, L, _ = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q = self.w_q(x).reshape(B, -1, self.h, self.d_h).permute(0, 2, 1, 3)
        #: B L H·d_h > B L H d_h > B H d_h L
        k = self.w_k(x).reshape(B, -1, self.h, self.d_h).permute(0, 2, 3, 1)
        #: B L H·d_h > B L H d_h > B H L d_h
        v = self.w_v(x).reshape(B, -1, self.h, self.d_h).permute(0, 2, 1, 3)
        #: B H L Lk > B H L Lk > B H L Lk
        attn = torch.softmax(q.matmul(k).div(self.d_h**0.5), -1)
        #: B H L d_h > B L H d_h > B L H·d_h
        out = attn.matmul(v).permute(0, 2, 1, 3).flatten(2)
        #: B L d_model
        return self.w_o(out)


class UnflattenMovedim(Base):
    def forward(self, x):
        #: B L H·d_h > B L H d_h > B H L d_h
        q = self.w_q(x).unflatten(-1, (self.h, self.d_h)).movedim(2, 1)
        #: B L H·d_h > B L H d_h > B H L d_h
        k = self.w_k(x).unflatten(2, (self.h, -1)).movedim(-2, 1)
        #: B L H·d_h > B L H d_h > B H L d_h
        v = self.w_v(x).unflatten(2, (self.h, -1)).swapaxes(1, 2)
        scale = 1 / math.sqrt(self.d_h)
        #: B H L d_h > B H d_h L > B H L Lk > B H L Lk
        attn = torch.softmax((q * scale) @ k.swapaxes(2, 3), dim=-1)
        #: B H L d_h > B L H d_h > B L H·d_h
        out = (attn @ v).movedim(1, 2).flatten(start_dim=2)
        #: B L d_model
        return self.w_o(out)


class FoldedBatch(Base):
    """Heads are folded into the batch, as bmm wants it."""

    def forward(self, x):
        B, L, D = x.shape
        H, d = self.h, self.d_h
        #: B L H·d_h > B L H d_h > B H L d_h > B·H L d_h
        q = self.w_q(x).view(B, L, H, d).transpose(1, 2).reshape(B * H, L, d)
        #: B L H·d_h > B L H d_h > B H L d_h > B·H L d_h
        k = self.w_k(x).view(B, L, H, d).transpose(1, 2).reshape(B * H, L, d)
        #: B L H·d_h > B L H d_h > B H L d_h > B·H L d_h
        v = self.w_v(x).view(B, L, H, d).transpose(1, 2).reshape(B * H, L, d)
        #: B·H d_h L > B·H L Lk > B·H L Lk
        scores = torch.bmm(q, k.transpose(1, 2)) / d**0.5
        #: B·H L Lk > B·H L d_h
        out = torch.bmm(scores.softmax(-1), v)
        #: B H L d_h > B L H d_h > B L H·d_h
        out = out.view(B, H, L, d).transpose(1, 2).reshape(B, L, D)
        #: B L d_model
        return self.w_o(out)


class HeadsBeforeBatch(Base):
    """The order of the first transformers: heads first, then batch."""

    def forward(self, x):
        B, L, D = x.shape
        H, d = self.h, self.d_h
        #: B L H·d_h > B L H d_h > H B L d_h > H B L d_h > H·B L d_h
        q = self.w_q(x).view(B, L, H, d).permute(2, 0, 1, 3).contiguous().view(-1, L, d)
        #: B L H·d_h > B L H d_h > H B L d_h > H B L d_h > H·B L d_h
        k = self.w_k(x).view(B, L, H, d).permute(2, 0, 1, 3).contiguous().view(-1, L, d)
        #: B L H·d_h > B L H d_h > H B L d_h > H B L d_h > H·B L d_h
        v = self.w_v(x).view(B, L, H, d).permute(2, 0, 1, 3).contiguous().view(-1, L, d)
        #: * > H·B d_h L > H·B L Lk > H·B L Lk
        attn = torch.baddbmm(torch.zeros(()), q, k.mT, beta=0, alpha=d**-0.5).softmax(2)
        #: H·B L d_h > H B L d_h
        out = torch.bmm(attn, v).view(H, B, L, d)
        #: B L H d_h > B L H d_h > B L H·d_h
        out = out.permute(1, 2, 0, 3).contiguous().view(B, L, -1)
        #: B L d_model
        return self.w_o(out)


class SequenceFirst(Base):
    """(L, B, d_model) throughout, as nn.MultiheadAttention has it inside."""

    axes = {"x": "L B d_model"}

    def forward(self, x):
        L, B, D = x.shape
        #: L B H·d_h > L B·H d_h > B·H L d_h
        q = self.w_q(x).view(L, B * self.h, self.d_h).transpose(0, 1)
        #: L B H·d_h > L B·H d_h > B·H L d_h
        k = self.w_k(x).view(L, B * self.h, self.d_h).transpose(0, 1)
        #: L B H·d_h > L B·H d_h > B·H L d_h
        v = self.w_v(x).view(L, B * self.h, self.d_h).transpose(0, 1)
        #: B·H d_h L > B·H L Lk > B·H L Lk > B·H L Lk
        attn = F.softmax(torch.bmm(q, k.mT) / self.d_h**0.5, dim=-1)
        #: B·H L d_h > L B·H d_h > L B H·d_h
        out = torch.bmm(attn, v).transpose(0, 1).reshape(L, B, D)
        #: L B d_model
        return self.w_o(out)


class ChunksAndCat(Base):
    """Heads as chunks of the features, stacked into the batch and concatenated back."""

    def forward(self, x):
        #: B L H·d_h > B L d_h > H·B L d_h
        q = torch.cat(self.w_q(x).chunk(self.h, dim=-1), dim=0)
        #: B L H·d_h > B L d_h > H·B L d_h
        k = torch.cat(self.w_k(x).split(self.d_h, dim=-1), dim=0)
        #: B L H·d_h > B L d_h > H·B L d_h
        v = torch.cat(torch.split(self.w_v(x), self.d_h, 2), 0)
        #: H·B d_h L > H·B L Lk > H·B L Lk > H·B L Lk
        attn = (q @ k.transpose(1, 2) / self.d_h**0.5).softmax(dim=2)
        #: H·B L d_h > B L d_h > B L H·d_h
        out = torch.cat((attn @ v).chunk(self.h, dim=0), dim=2)
        #: B L d_model
        return self.w_o(out)


class LoopOverHeads(Base):
    def forward(self, x):
        B, L, _ = x.shape
        #: B L H·d_h > B L H d_h
        q = self.w_q(x).view(B, L, self.h, self.d_h)
        #: B L H·d_h > B L H d_h
        k = self.w_k(x).view(B, L, self.h, self.d_h)
        #: B L H·d_h > B L H d_h
        v = self.w_v(x).view(B, L, self.h, self.d_h)
        heads = []
        for h in range(self.h):
            #: B L d_h > B L d_h > B d_h L > B L Lk
            scores = q[:, :, h] @ k[:, :, h].transpose(1, 2)
            #: B L Lk > B L Lk
            attn = F.softmax(scores / self.d_h**0.5, -1)
            #: B L d_h > B L d_h
            heads.append(attn @ v[:, :, h])
        #: B L H·d_h > B L d_model
        return self.w_o(torch.cat(heads, dim=-1))


class LoopOverFeatureSlices(Base):
    def forward(self, x):
        #: B L H·d_h
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        #: *
        out = torch.zeros_like(q)
        for h in range(self.h):
            at = slice(h * self.d_h, (h + 1) * self.d_h)
            #: B L d_h > B L d_h > B d_h L > B L Lk > B L Lk
            scores = q[..., at] @ k[..., at].mT * self.d_h**-0.5
            #: B L Lk > B L d_h > B L d_h
            head = scores.softmax(dim=-1) @ v[..., at]
            #: *
            out[..., at] = head
        #: B L d_model
        return self.w_o(out)


class StackedHeads(Base):
    def forward(self, x):
        #: B L H·d_h > B L d_h > B H L d_h
        q = torch.stack(self.w_q(x).split(self.d_h, -1), dim=1)
        #: B L H·d_h > B L d_h > B H L d_h
        k = torch.stack(self.w_k(x).split(self.d_h, -1), dim=1)
        #: B L H·d_h > B L d_h > B H L d_h
        v = torch.stack(self.w_v(x).split(self.d_h, -1), dim=1)
        #: B H L Lk > B H L Lk > B H L Lk
        attn = F.softmax(torch.einsum("bhqd,bhkd->bhqk", q, k) / self.d_h**0.5, -1)
        #: B L H d_h
        out = torch.einsum("bhqk,bhkd->bqhd", attn, v)
        #: B L H·d_h > B L d_model
        return self.w_o(out.flatten(2))


class WithMask(Base):
    axes = {"x": "B L d_model", "mask": "B 1 L Lk"}
    square = True

    def forward(self, x, mask):
        B, L, D = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q, k, v = [w(x).view(B, L, self.h, self.d_h).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v)]
        #: B H d_h L > B H L Lk
        scores = q @ k.transpose(-1, -2)
        #: B 1 L Lk > B H L Lk
        scores = scores.masked_fill(mask == 0, float("-inf"))
        #: B H L Lk > B H L Lk
        attn = torch.nan_to_num(scores.softmax(-1))
        #: B H L d_h > B L H d_h > B L H d_h > B L H·d_h
        out = (attn @ v).transpose(1, 2).contiguous().view(B, L, D)
        #: B L d_model
        return self.w_o(out)


class CausalMade(Base):
    """A mask made on the spot learns its axes from the scores that it is laid over."""

    def forward(self, x):
        B, L, D = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q, k, v = (w(x).view(B, L, self.h, -1).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        #: B H d_h L > B H L Lk
        scores = q @ k.mT
        #: L/1 Lk/1 > L/1 Lk/1
        causal = torch.ones(L, L, dtype=torch.bool).tril()
        #: B H L Lk
        scores = torch.where(causal, scores, float("-inf"))
        #: B H L Lk > B H L d_h > B L H d_h > B L H·d_h > B L d_model
        return self.w_o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class CausalByPositions(Base):
    def forward(self, x):
        B, L, D = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q, k, v = (w(x).view(B, L, self.h, -1).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        #: L/1
        i = torch.arange(L)
        #: L/1 1 > 1 L/1 > L/1 Lk/1
        seen = i[:, None] >= i[None, :]
        #: B H d_h L > B H L Lk > L/1 Lk/1 > B H L Lk
        scores = (q @ k.mT).masked_fill(~seen, -1e9)
        #: B H L Lk > B H L d_h > B L H d_h > B L H·d_h > B L d_model
        return self.w_o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class BufferMask(Base):
    def __init__(self, s):
        super().__init__(s)
        self.register_buffer("bias", torch.tril(torch.ones(32, 32)).view(1, 1, 32, 32))

    def forward(self, x):
        B, L, D = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q, k, v = (w(x).view(B, L, self.h, -1).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        #: B H d_h L > B H L Lk
        att = q @ k.transpose(-2, -1)
        #: * > * > B H L Lk
        att = att.masked_fill(self.bias[:, :, :L, :L] == 0, float("-inf"))
        #: B H L Lk > B H L d_h > B L H d_h > B L H·d_h > B L d_model
        return self.w_o((att.softmax(-1) @ v).transpose(1, 2).flatten(2))


class QueriesLast(Base):
    """Scores with the keys first: softmax and the sum over values say which axis is which."""

    def forward(self, x):
        B, L, D = x.shape
        #: B L H·d_h > B L H d_h
        q, k, v = (w(x).view(B, L, self.h, -1) for w in (self.w_q, self.w_k, self.w_v))
        #: B H Lk L
        scores = torch.einsum("bkhd,bqhd->bhkq", k, q)
        #: B H Lk L > B H Lk L
        attn = torch.softmax(scores / self.d_h**0.5, dim=2)
        #: B L H d_h
        out = torch.einsum("bhkq,bkhd->bqhd", attn, v)
        #: B L H·d_h > B L d_model
        return self.w_o(out.reshape(B, L, D))


class HandSoftmax(Base):
    def forward(self, x):
        B, L, D = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q, k, v = (w(x).view(B, L, self.h, -1).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        #: B H d_h L > B H L Lk
        scores = q @ k.mT
        #: B H L 1
        top = scores.max(dim=-1, keepdim=True).values
        #: B H L Lk > B H L Lk
        e = torch.exp(scores - top)
        #: B H L 1 > B H L Lk
        attn = e / e.sum(-1, keepdim=True)
        #: B H L d_h > B L H d_h > B L H·d_h > B L d_model
        return self.w_o((attn @ v).transpose(1, 2).flatten(2))


class SubHead(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(s.d_model, s.d_h, bias=False) for _ in range(3))

    def forward(self, x):
        #: B L d_h
        q = self.q(x)
        #: B L d_h
        k = self.k(x)
        #: B d_h L > B L Lk > B L Lk
        scores = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        #: B L Lk > B L d_h > B L d_h
        return scores.softmax(-1) @ self.v(x)


class ModuleListOfHeads(nn.Module):
    """A module for each head: distinct tensors with a head's features, as many as there are heads."""

    axes = {"x": "B L d_model"}

    def __init__(self, s):
        super().__init__()
        self.heads = nn.ModuleList(SubHead(s) for _ in range(s.H))
        self.proj = nn.Linear(s.d_model, s.d_model)

    def forward(self, x):
        #: B L H·d_h
        out = torch.cat([head(x) for head in self.heads], dim=-1)
        #: B L d_model
        return self.proj(out)
