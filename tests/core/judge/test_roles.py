"""Weights find their roles whatever they are called and however they are laid out; heads are never permuted."""

import pytest
import torch

from core.judge._cases import generic
from core.judge._oracle import slots_of
from core.judge._roles import Tensors, assignments, hinted, take
from tests.core.judge.local import judge_here

SIZES = generic()
D, H, d_h = SIZES["d_model"], SIZES["H"], SIZES["d_h"]

TEMPLATE = """
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("sizes do not divide")
        self.n_heads, self.d_h = n_heads, d_model // n_heads
        {make}

    def forward(self, x, mask=None):
        B, L, D = x.shape
        H, d = self.n_heads, self.d_h
        {project}
        scores = q @ k.transpose(-2, -1) / d**0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        y = (scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(B, L, D)
        return self.o(y)
"""
OUT = "self.o = nn.Linear(d_model, d_model)"
RIGHT = {
    "blocks": ("self.a = nn.Linear(d_model, 3 * d_model); " + OUT,
               "q, k, v = (t.view(B, L, H, d).transpose(1, 2) for t in self.a(x).chunk(3, -1))"),
    "blocks, values first": ("self.a = nn.Linear(d_model, 3 * d_model); " + OUT,
               "v, k, q = (t.view(B, L, H, d).transpose(1, 2) for t in self.a(x).chunk(3, -1))"),
    "inside each head": ("self.a = nn.Linear(d_model, 3 * d_model); " + OUT,
               "q, k, v = self.a(x).view(B, L, H, 3, d).permute(3, 0, 2, 1, 4)"),
    "inside each feature": ("self.a = nn.Linear(d_model, 3 * d_model); " + OUT,
               "q, k, v = self.a(x).view(B, L, H, d, 3).permute(4, 0, 2, 1, 3)"),
    "in by out": ("self.a, self.b, self.c = (nn.Parameter(torch.randn(d_model, d_model)) for _ in range(3)); " + OUT,
               "q, k, v = ((x @ w).view(B, L, H, d).transpose(1, 2) for w in (self.a, self.b, self.c))"),
    "five axes": ("self.a = nn.Parameter(torch.randn(d_model, 3, n_heads, self.d_h)); " + OUT,
               "q, k, v = torch.einsum('blm,mrhd->rbhld', x, self.a)"),
    "misleading names": ("self.value, self.query, self.key = (nn.Linear(d_model, d_model) for _ in range(3)); " + OUT,
               "q, k, v = (f(x).view(B, L, H, d).transpose(1, 2) for f in (self.value, self.query, self.key))"),
}  # fmt: skip
PERMUTED = {
    "heads backwards": ("self.a = nn.Linear(d_model, 3 * d_model); " + OUT,
               "q, k, v = (t.view(B, L, H, d).transpose(1, 2) for t in self.a(x).chunk(3, -1)); v = v.flip(1)"),
    "features before heads": ("self.a = nn.Linear(d_model, 3 * d_model); " + OUT,
               "q, k, v = (t.view(B, L, d, H).permute(0, 3, 1, 2) for t in self.a(x).chunk(3, -1))"),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_any_layout_is_right(name: str) -> None:
    make, project = RIGHT[name]
    found = judge_here("mha", TEMPLATE.format(make=make, project=project))
    assert (found.failed, found.findings) == ([], [])


@pytest.mark.parametrize("name", PERMUTED)
def test_heads_and_features_are_not_permuted_to_fit(name: str) -> None:
    make, project = PERMUTED[name]
    assert not judge_here("mha", TEMPLATE.format(make=make, project=project)).passed


def test_a_table_that_is_always_the_same_is_no_weight() -> None:
    make = "self.table = torch.arange(99.0).view(9, 11).cos(); self.a = nn.Linear(d_model, 3 * d_model); " + OUT
    assert judge_here("mha", TEMPLATE.format(make=make, project=RIGHT["blocks"][1])).passed
    drawn = make.replace("torch.arange(99.0).view(9, 11).cos()", "torch.randn(9, 11)")
    assert "state" in judge_here("mha", TEMPLATE.format(make=drawn, project=RIGHT["blocks"][1])).failed


def test_a_block_is_cut_where_the_others_end() -> None:
    slots = slots_of("gqa", SIZES)
    kv = SIZES["H_kv"] * d_h
    fused = torch.arange((D + 2 * kv) * D, dtype=torch.float64).view(D + 2 * kv, D)
    tensors = Tensors({"qkv.weight": fused, "o.weight": torch.zeros(D, D)}, frozenset(("qkv.weight", "o.weight")))
    roles = take(next(assignments(tensors, slots)), tensors, slots)
    assert roles is not None
    assert torch.equal(roles["q"][0], fused[:D])
    assert torch.equal(roles["k"][0], fused[D : D + kv])
    assert torch.equal(roles["v"][0], fused[D + kv :])


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("w_q", {"q"}),
        ("to_keys.weight", {"k"}),
        ("查询", {"q"}),
        ("out_proj", {"o"}),
        ("c_attn", set()),
        ("fc_v", {"v"}),
    ],
)
def test_what_names_speak_of(name: str, roles: set[str]) -> None:
    assert hinted(name) == roles
