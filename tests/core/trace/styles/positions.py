"""Separate projections again: positions, other masks, loops over tokens; `#:` gives the axes of the next statement."""

# ruff: noqa: RUF012, RUF059  written as people write it

import torch
import torch.nn.functional as F
from torch import nn


class Base(nn.Module):
    axes = {"x": "B L d_model"}

    def __init__(self, s):
        super().__init__()
        self.h, self.d_h = s.H, s.d_h
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(s.d_model, s.d_model) for _ in range(4))


class Residual(Base):
    """A block: norm, attention, residual, MLP."""

    def __init__(self, s):
        super().__init__(s)
        self.norm = nn.LayerNorm(s.d_model)
        self.mlp = nn.Sequential(nn.Linear(s.d_model, 4 * s.d_model), nn.GELU(), nn.Linear(4 * s.d_model, s.d_model))

    def forward(self, x):
        B, L, D = x.shape
        #: B L d_model
        h = self.norm(x)
        #: B L H·d_h > B L H d_h > B H L d_h
        q, k, v = (w(h).view(B, L, self.h, -1).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        #: B H L d_h
        out = F.scaled_dot_product_attention(q, k, v)
        #: B L H d_h > B L H·d_h > B L d_model > B L d_model
        x = x + self.w_o(out.transpose(1, 2).reshape(B, L, D))
        #: * > * > B L d_model > B L d_model
        return x + self.mlp(x)


class Single(nn.Module):
    """One head only: nothing is split, so the features stay one axis."""

    axes = {"x": "B L d_model"}
    sizes = ()

    def __init__(self, s):
        super().__init__()
        self.w_q, self.w_k, self.w_v = (nn.Linear(s.d_model, s.d_model) for _ in range(3))

    def forward(self, x):
        #: B L d_model
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        #: B d_model L > B L Lk > B L Lk > B L Lk
        attn = torch.softmax(q @ k.mT / x.shape[-1] ** 0.5, dim=-1)
        #: B L d_model
        return attn @ v


class Rotary(Base):
    def forward(self, x):
        B, L, D = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q, k, v = (w(x).view(B, L, self.h, -1).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        #: * > * > * > L/1 d_h
        angle = torch.arange(L)[:, None] * torch.ones(self.d_h)
        #: L/1 d_h
        cos, sin = angle.cos(), angle.sin()
        half = self.d_h // 2
        rotated = []
        for t in (q, k):
            #: B H L d_h > B H L d_h > B H L d_h > B H L d_h
            turned = torch.cat((-t[..., half:], t[..., :half]), dim=-1)
            #: B H L d_h > B H L d_h > B H L d_h
            rotated.append(t * cos + turned * sin)
        q, k = rotated
        #: B H L d_h
        out = F.scaled_dot_product_attention(q, k, v)
        #: B L H d_h > B L H·d_h > B L d_model
        return self.w_o(out.transpose(1, 2).flatten(2))


class RotaryNeighbours(Base):
    even = True

    def forward(self, x):
        B, L, D = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q, k, v = (w(x).view(B, L, self.h, -1).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        #: * > * > * > *
        angle = torch.arange(L)[:, None] * torch.ones(self.d_h // 2)
        #: * > *
        cos, sin = angle.cos(), angle.sin()
        rotated = []
        for t in (q, k):
            #: B H L d_h > B H L d_h
            a, b = t[..., 0::2], t[..., 1::2]
            #: * > * > * > * > * > * > * > B H L d_h
            rotated.append(torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2))
        q, k = rotated
        #: B H L d_h
        out = F.scaled_dot_product_attention(q, k, v)
        #: B L H d_h > B L H·d_h > B L d_model
        return self.w_o(out.transpose(1, 2).flatten(2))


class RotaryComplex(Base):
    even = True

    def forward(self, x):
        B, L, D = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q, k, v = (w(x).view(B, L, self.h, -1).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        #: * > * > * > *
        angle = torch.arange(L)[:, None] * torch.ones(self.d_h // 2)
        #: * > *
        turn = torch.polar(torch.ones_like(angle), angle)
        rotated = []
        for t in (q, k):
            #: * > *
            pairs = torch.view_as_complex(t.reshape(*t.shape[:-1], -1, 2))
            #: * > * > B H L d_h
            rotated.append(torch.view_as_real(pairs * turn).flatten(3))
        q, k = rotated
        #: B H L d_h
        out = F.scaled_dot_product_attention(q, k, v)
        #: B L H d_h > B L H·d_h > B L d_model
        return self.w_o(out.transpose(1, 2).flatten(2))


class KeysBeforeQueries(Base):
    """Scores the other way round, with a mask that is turned to fit: what is normalised and summed is the keys'."""

    axes = {"x": "B L d_model", "mask": "L Lk"}
    square = True

    def forward(self, x, mask):
        B, L, D = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        q, k, v = (w(x).view(B, L, self.h, -1).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        #: B H d_h L > B H Lk L
        scores = k @ q.mT
        #: Lk L > Lk L > B H Lk L
        scores = scores.masked_fill(mask.T < 0.1, -1e9)
        #: B H Lk L > B H L Lk > B H L d_h
        out = scores.softmax(-2).mT @ v
        #: B L H d_h > B L H·d_h > B L d_model
        return self.w_o(out.transpose(1, 2).reshape(B, L, D))


class PositionByPosition(Base):
    """Each token by itself attends to those before it; the tokens come back by stacking."""

    def forward(self, x):
        B, L, D = x.shape
        #: B L H·d_h > B L H d_h
        q, k, v = (w(x).view(B, L, self.h, -1) for w in (self.w_q, self.w_k, self.w_v))
        steps = []
        for i in range(L):
            #: B H d_h > B L H d_h > B H Lk
            scores = torch.einsum("bhd,bkhd->bhk", q[:, i], k[:, : i + 1])
            #: B H Lk > B L H d_h > B H d_h
            steps.append(torch.einsum("bhk,bkhd->bhd", scores.softmax(-1), v[:, : i + 1]))
        #: B L H d_h
        out = torch.stack(steps, dim=1)
        #: B L H·d_h > B L d_model
        return self.w_o(out.reshape(B, L, D))


class LastTokenOnly(Base):
    def forward(self, x):
        B, L, D = x.shape
        #: B L H·d_h > B L H d_h > B H L d_h
        k, v = (w(x).view(B, L, self.h, -1).transpose(1, 2) for w in (self.w_k, self.w_v))
        #: B L d_model > B L H·d_h > B L H d_h > B H L d_h
        q = self.w_q(x[:, -1:]).view(B, 1, self.h, -1).transpose(1, 2)
        #: B H d_h L > B H L Lk > B H L Lk
        attn = (q @ k.mT).softmax(-1)
        #: B H L d_h > B L H d_h > B L H·d_h > B L d_model
        return self.w_o((attn @ v).transpose(1, 2).reshape(B, 1, D))


class MaskAsBias(Base):
    """baddbmm with the mask, for all heads at once, as what is added to."""

    axes = {"x": "B L d_model", "mask": "L Lk"}
    square = True

    def forward(self, x, mask):
        B, L, D = x.shape
        H = self.h
        #: B L H·d_h > B L H d_h > B H L d_h > B·H L d_h
        q, k, v = (w(x).view(B, L, H, -1).transpose(1, 2).reshape(B * H, L, -1) for w in (self.w_q, self.w_k, self.w_v))
        #: *
        bias = torch.zeros(B, H, L, L)
        #: * > *
        bias = bias.masked_fill(mask < 0.1, -1e9).view(B * H, L, L)
        #: B·H d_h L > B·H L Lk > B·H L Lk
        attn = torch.baddbmm(bias, q, k.mT, alpha=self.d_h**-0.5).softmax(-1)
        #: B·H L d_h > B H L d_h > B L H d_h > B L H·d_h > B L d_model
        return self.w_o((attn @ v).view(B, H, L, -1).transpose(1, 2).reshape(B, L, D))


class MaskForEachHead(Base):
    """A mask stretched to all heads, one of them taken at each turn of the loop."""

    axes = {"x": "B L d_model", "mask": "L Lk"}
    square = True

    def forward(self, x, mask):
        B, L, D = x.shape
        #: L Lk > *
        full = (mask > 0.1).expand(B, self.h, L, L)
        #: B L H·d_h > B L H d_h > B H L d_h
        q, k, v = (w(x).view(B, L, self.h, -1).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        heads = []
        for h in range(self.h):
            #: B L d_h > B L d_h > B d_h L > B L Lk > * > * > B L Lk
            scores = (q[:, h] @ k[:, h].mT).masked_fill(~full[:, h], -1e9)
            #: B L Lk > B L d_h > B L d_h
            heads.append(scores.softmax(-1) @ v[:, h])
        #: B H L d_h > B L H d_h > B L H·d_h > B L d_model
        return self.w_o(torch.stack(heads, dim=1).transpose(1, 2).reshape(B, L, D))
