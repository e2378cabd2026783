"""Where elements came from, against what torch itself depends on (its gradient)."""

import pytest
import torch
from torch import nn

from core.trace import record

B, L, H, D_H = 2, 5, 4, 3


def project_and_split(x, w):
    return w(x).view(B, L, H, D_H).transpose(1, 2)


def attention(x, w_q, w_k, w_v):
    q, k, v = (project_and_split(x, w) for w in (w_q, w_k, w_v))
    scores = q @ k.transpose(-2, -1)
    return scores.softmax(-1) @ v


def trace_of(function, *args, **kwargs):
    trace = record(function, *args, **kwargs)
    assert trace.error is None
    return trace


@pytest.fixture
def attended():
    layers = [nn.Linear(H * D_H, H * D_H) for _ in range(3)]
    return trace_of(attention, torch.randn(B, L, H * D_H), *layers, axes=["B L d_model"], sizes={"H": H})


def test_layout_steps_lead_back_to_the_very_element():
    trace = trace_of(lambda x: x.transpose(1, 2).reshape(B, -1), torch.zeros(2, 3, 4), axes=["B L d_model"])
    origin = trace[-1].origin((1, 7))
    assert origin.exact
    assert origin.inputs == {"x": ((1, 1, 2),)}
    assert origin.coordinates == {"B": 1, "L": 1, "d_model": 2}


def test_a_projection_is_computed_from_a_row(attended):
    step = next(s for s in attended if s.output.shape == (B, H, L, D_H))
    origin = step.origin((1, 2, 3, 1))
    assert not origin.exact
    assert origin.inputs == {"x": ((1, 3, None),)}
    assert origin.coordinates == {"B": 1, "H": 2, "L": 3, "d_h": 1}


def test_a_score_is_computed_from_a_query_row_and_a_key_row(attended):
    scores = next(s for s in attended if s.op == "matmul")
    origin = scores.origin((1, 2, 3, 4))
    assert origin.inputs == {"x": ((1, 3, None), (1, 4, None))}
    assert origin.coordinates == {"B": 1, "H": 2, "L": 3, "Lk": 4}
    assert scores.origin((1, 2, -2, 4)) == origin
    assert scores.origin((0, 0, 3, 3)).inputs == {"x": ((0, 3, None),)}


def test_an_output_is_computed_from_all_rows(attended):
    assert (1, None, None) in attended[-1].origin((1, 2, 3, 0)).inputs["x"]


def test_cross_attention_names_both_inputs():
    def cross(x, context, w):
        return w(x) @ w(context).mT

    trace = trace_of(
        cross, torch.zeros(1, 3, 4), torch.zeros(1, 6, 4), nn.Linear(4, 4),
        axes={"x": "B L d_model", "context": "B Lk d_model"},
    )  # fmt: skip
    assert trace[-1].origin((0, 2, 5)).inputs == {"x": ((0, 2, None),), "context": ((0, 5, None),)}


def test_origins_agree_with_gradients(attended):
    """Every row that an element's gradient reaches is among its origins, and for the scores no other."""
    layers = [nn.Linear(H * D_H, H * D_H) for _ in range(3)]
    x = torch.randn(B, L, H * D_H, requires_grad=True)
    trace = trace_of(attention, x, *layers, axes=["B L d_model"], sizes={"H": H})
    q, k = project_and_split(x, layers[0]), project_and_split(x, layers[1])
    scores = q @ k.mT
    step = next(s for s in trace if s.op == "matmul")
    for index in [(0, 0, 0, 0), (1, 3, 4, 2), (0, 1, 2, 4)]:
        (gradient,) = torch.autograd.grad(scores[index], x, retain_graph=True)
        reached = {tuple(row) for row in gradient.abs().sum(-1).nonzero().tolist()}
        assert {row[:2] for row in step.origin(index).inputs["x"]} == reached


def test_wrong_index():
    trace = trace_of(lambda x: x + 1, torch.zeros(2, 3))
    with pytest.raises(IndexError):
        trace[0].origin((0,))
    with pytest.raises(IndexError):
        trace[0].origin((0, 3))


def test_coordinates_colour_a_whole_tensor(attended):
    scores = next(s for s in attended if s.op == "matmul").output
    assert torch.equal(scores.coordinates("L"), torch.arange(L)[:, None].expand(B, H, L, L))
    assert torch.equal(scores.coordinates("Lk"), torch.arange(L).expand(B, H, L, L))
    assert torch.equal(scores.coordinates("H"), torch.arange(H)[:, None, None].expand(B, H, L, L))
    assert (scores.coordinates("d_h") == -1).all()
    merged = trace_of(
        lambda x: x.transpose(1, 2).reshape(B, L, -1), torch.zeros(B, H, L, D_H), axes=["B H L d_h"]
    )[-1].output  # fmt: skip
    assert torch.equal(merged.coordinates("H"), (torch.arange(H * D_H) // D_H).expand(B, L, H * D_H))


def test_coordinates_of_heads_that_are_kept_as_groups():
    k = torch.zeros(2, 2, 5, 3)
    trace = trace_of(
        lambda k: k.repeat_interleave(2, 1), k, axes=["B H_kv L d_h"], sizes={"H": 4, "H_kv": 2}
    )  # fmt: skip
    state = trace[-1].output
    assert state.coordinates("H")[0, :, 0, 0].tolist() == [0, 1, 2, 3]
    assert state.coordinates("H_kv")[0, :, 0, 0].tolist() == [0, 0, 1, 1]
    assert state.coordinates("G")[0, :, 0, 0].tolist() == [0, 1, 0, 1]


def test_a_large_tensor_is_coloured_in_bulk():
    w = nn.Linear(256, 256)
    trace = trace_of(
        lambda x: w(x).view(1, 64, 16, 16).transpose(1, 2), torch.zeros(1, 64, 256), axes=["B L d_model"],
        sizes={"H": 16},
    )  # fmt: skip
    state = trace[-1].output
    assert torch.equal(state.coordinates("L"), torch.arange(64)[:, None].expand(1, 16, 64, 16))
    assert [str(a) for a in state.axes] == ["B", "H", "L", "d_h"]
