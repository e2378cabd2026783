"""The standard answer: right against torch's own module, importing torch only, and its demo run as it is shown."""

import ast
import subprocess
import sys
from itertools import pairwise

import pytest
import torch
from torch import nn

from core import content
from core.content.standard_answer import MultiHeadAttention
from core.content.standard_source import FILE

B, L = 2, 6
CAUSAL = torch.ones(L, L, dtype=torch.bool).tril()
PADDING = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])[:, None, None, :]
MASKS = {
    "none": None,
    "causal": CAUSAL,
    "causal 0/1": CAUSAL.long(),
    "causal 0/1 float": CAUSAL.double(),
    "padding": PADDING,
    "both": PADDING.bool() & CAUSAL,
}


def pair(n_heads: int, d_model: int = 24) -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    """The standard answer and torch's module, float64, with the same weights."""
    ours, theirs = (
        MultiHeadAttention(d_model, n_heads).double(),
        nn.MultiheadAttention(d_model, n_heads, batch_first=True),
    )
    theirs = theirs.double()
    generator = torch.Generator().manual_seed(n_heads)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.normal_(generator=generator)
        theirs.in_proj_weight.copy_(ours.w_qkv.weight)
        theirs.in_proj_bias.copy_(ours.w_qkv.bias)
        theirs.out_proj.weight.copy_(ours.w_o.weight)
        theirs.out_proj.bias.copy_(ours.w_o.bias)
    return ours, theirs


@pytest.mark.parametrize("n_heads", [1, 3, 4, 6, 24])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_equals_the_module_of_torch_in_output_and_gradient(n_heads, mask):
    ours, theirs = pair(n_heads)
    x = torch.randn(B, L, 24, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x_ours, x_theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    hidden = None  # torch's module wants True where a key is hidden, one mask a head
    if mask is not None:
        hidden = (mask == 0).expand(B, n_heads, L, L).reshape(B * n_heads, L, L)
    out = ours(x_ours, mask)
    expected, _ = theirs(x_theirs, x_theirs, x_theirs, attn_mask=hidden)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-10)
    out.square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(x_ours.grad, x_theirs.grad, rtol=1e-10, atol=1e-8)


def test_equals_a_slow_loop():
    ours, _ = pair(n_heads=4)
    x = torch.randn(B, L, 24, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    d_h = 6
    out = torch.zeros_like(x)
    with torch.no_grad():
        q, k, v = (x @ ours.w_qkv.weight.T + ours.w_qkv.bias).split(24, dim=-1)
        for b in range(B):
            for h in range(4):
                part = slice(h * d_h, (h + 1) * d_h)
                for i in range(L):
                    scores = torch.stack([q[b, i, part].dot(k[b, j, part]) / d_h**0.5 for j in range(i + 1)])
                    weights = scores.exp() / scores.exp().sum()
                    out[b, i, part] = sum(weights[j] * v[b, j, part] for j in range(i + 1))
        torch.testing.assert_close(ours(x, CAUSAL), ours.w_o(out), rtol=0, atol=1e-10)


def test_a_query_that_may_see_nothing_is_nan_as_the_answer_says():
    ours, _ = pair(n_heads=4)
    mask = CAUSAL.clone()
    mask[2] = False
    out = ours(torch.ones(B, L, 24, dtype=torch.float64), mask)
    assert out[:, 2].isnan().all()
    assert not out[:, [0, 1, 3, 4, 5]].isnan().any()


def test_sizes_that_do_not_divide_are_named():
    with pytest.raises(ValueError, match="d_model = 10 is not a multiple of n_heads = 3"):
        MultiHeadAttention(10, 3)


def test_it_imports_nothing_but_torch():
    imports = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(content.standard_answer_source()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names])
    }
    assert imports == {"torch"}


def test_the_demo_prints_the_shape(capsys):
    printed = content.run_standard_answer()
    assert printed == "torch.Size([2, 10, 64])"
    assert capsys.readouterr().out == ""
    script = subprocess.run([sys.executable, FILE], check=True, capture_output=True, text=True)
    assert script.stdout.strip() == printed


def test_steps_are_the_markers_of_the_code_in_order():
    lines = content.standard_answer_source().splitlines()
    steps = [step.id for step in content.load_question().steps]
    ranges = [content.step_lines(step) for step in steps]
    for step, (first, last) in zip(steps, ranges, strict=True):
        assert lines[first - 1].strip().startswith(f"# {step}: ")
        assert first < last
        assert lines[last - 1].strip()
    for (_, last), (first, _) in pairwise(ranges):
        assert last < first
    markers = [line.split("# ")[1].split(":")[0] for line in lines if line.strip().startswith("# ")]
    assert markers == steps
    with pytest.raises(KeyError):
        content.step_lines("no-such-step")


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ("sizes", "self.w_o = nn.Linear(d_model, d_model)"),
        ("split", "q, k, v = split(q), split(k), split(v)"),
        ("output", "return self.w_o(out)"),
    ],
)
def test_a_step_ends_with_its_last_statement(step, code):
    _, last = content.step_lines(step)
    assert content.standard_answer_source().splitlines()[last - 1].strip() == code
