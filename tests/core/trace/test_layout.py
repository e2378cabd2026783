"""Coordinates through layout operations, against torch itself run on the coordinates."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.trace import record

NAMES = ("B", "L", "H", "d_h")


def coordinates_of(shape):
    """For each axis of `shape` a tensor that holds every element's index along it."""
    grids = torch.meshgrid(*(torch.arange(n) for n in shape), indexing="ij")
    return {name: grid.contiguous() for name, grid in zip(NAMES, grids, strict=False)}


def check(function, shape, **kwargs):
    names = NAMES[: len(shape)]
    trace = record(lambda x: function(x).clone(), torch.zeros(shape), axes=[" ".join(names)], **kwargs)
    assert trace.error is None, trace.error
    state = trace[-1].outputs[0]
    assert trace._shared.inference.not_understood == []
    for name, values in coordinates_of(shape).items():
        if shape[names.index(name)] == 1:
            continue
        expected = function(values)
        assert torch.equal(state.coordinates(name), expected.long()), name
    return state


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.view(2, 12, 5),
        lambda x: x.view(-1),
        lambda x: x.view(4, 3, 2, 5),
        lambda x: x.reshape(5, 4, 3, 2),
        lambda x: x.permute(3, 1, 0, 2).reshape(10, 12),
        lambda x: x.transpose(1, 2).flatten(2),
        lambda x: x.flatten(),
        lambda x: x.unflatten(1, (1, 3)),
        lambda x: x.movedim(1, 3),
        lambda x: x.movedim((0, 1), (2, 0)),
        lambda x: x.swapaxes(0, -1),
        lambda x: x.mT,
        lambda x: x[0].permute(2, 1, 0),
        lambda x: x[0, 0].T,
        lambda x: x[0, 0].t(),
        lambda x: x.chunk(2, dim=2)[1],
        lambda x: x.split([1, 2, 1], dim=2)[1],
        lambda x: x.split(3, 2)[1],
        lambda x: x.tensor_split(3, dim=3)[2],
        lambda x: x.unbind(1)[2],
        lambda x: x.select(2, -1),
        lambda x: x.narrow(3, 1, 3),
        lambda x: x[..., 1::2, :],
        lambda x: x[:, -1],
        lambda x: x[:, :, None, 1:],
        lambda x: x[:, [2, 0, 1]],
        lambda x: x[:, [0, 0, 1, 1]],
        lambda x: x[[0, 1, 1], [2, 0, 1]],
        lambda x: x[:, torch.tensor([True, False, True])],
        lambda x: x[torch.arange(24).reshape(2, 3, 4) % 2 == 0],
        lambda x: x.index_select(3, torch.tensor([4, 4, 0])),
        lambda x: torch.cat([x, x], dim=1),
        lambda x: torch.cat([x[..., 2:], x[..., :2]], -1),
        lambda x: torch.cat((x[:, :1], x[:, 1:]), 1),
        lambda x: torch.stack([x[:, i] for i in range(3)], dim=2),
        lambda x: torch.stack([x, x]),
        lambda x: x[:, :, None].expand(2, 3, 7, 4, 5).reshape(2, 21, 4, 5),
        lambda x: x.expand(6, -1, -1, -1, -1),
        lambda x: x[:, :1].broadcast_to(2, 8, 4, 5),
        lambda x: x.repeat(1, 2, 1, 3),
        lambda x: x.repeat(2, 1, 1, 1, 1),
        lambda x: x.tile(2, 1),
        lambda x: x.repeat_interleave(3, dim=2),
        lambda x: x.repeat_interleave(torch.tensor([1, 2, 0]), dim=1),
        lambda x: x.repeat_interleave(2),
        lambda x: x.unsqueeze(-1).squeeze(),
        lambda x: x[:1].squeeze(0).unsqueeze(2),
        lambda x: x.as_strided((2, 2, 3), (60, 1, 20), 7),
        lambda x: x.diagonal(dim1=1, dim2=2),
        lambda x: x.unfold(3, 2, 1),
        lambda x: x.contiguous().clone().detach(),
        lambda x: x.double(),
        lambda x: x.roll(1, dims=1),
        lambda x: x.roll((1, 2), (0, 3)),
        lambda x: x.flip(1, 3),
        lambda x: x.rot90(1, (1, 2)),
        lambda x: x.gather(1, torch.zeros(2, 2, 4, 5, dtype=torch.long) + 1),
        lambda x: x.take_along_dim(torch.tensor([2, 0]).view(1, 2, 1, 1), dim=1),
        lambda x: x.view(2, 12, 5).transpose(1, 2).reshape(6, 20)[1:, ::3],
    ],
)
def test_each_operation(function):
    check(function, (2, 3, 4, 5))


@st.composite
def chains(draw):
    """A shape whose sizes collide often, and layout operations that fit what is there at each point."""
    shape = draw(st.lists(st.sampled_from([1, 2, 2, 3, 4]), min_size=2, max_size=4))
    x = torch.empty(shape)
    steps = []
    for _ in range(draw(st.integers(1, 5))):
        rank, numel = x.dim(), x.numel()
        kind = draw(st.sampled_from("permute reshape slice index repeat interleave expand cat select".split()))  # noqa: SIM905
        dim = draw(st.integers(0, max(rank - 1, 0)))
        if rank == 0 or numel > 300:
            break
        if kind == "permute":
            order = draw(st.permutations(range(rank)))
            step = lambda t, order=order: t.permute(order)  # noqa: E731
        elif kind == "reshape":
            target, rest = [], numel
            while rest > 1:
                factor = draw(st.sampled_from([n for n in range(1, rest + 1) if rest % n == 0]))
                target.append(factor)
                rest //= factor
                if len(target) == 4:
                    target.append(rest)
                    break
            step = lambda t, target=target: t.reshape(target or (1,))  # noqa: E731
        elif kind == "slice":
            start = draw(st.integers(0, x.shape[dim] - 1))
            step = lambda t, dim=dim, start=start: t.narrow(dim, start, t.shape[dim] - start)  # noqa: E731
        elif kind == "index":
            at = torch.tensor(draw(st.lists(st.integers(0, x.shape[dim] - 1), min_size=1, max_size=4)))
            step = lambda t, dim=dim, at=at: t.index_select(dim, at)  # noqa: E731
        elif kind == "repeat":
            times = [2 if d == dim else 1 for d in range(rank)]
            step = lambda t, times=times: t.repeat(times)  # noqa: E731
        elif kind == "interleave":
            step = lambda t, dim=dim: t.repeat_interleave(2, dim)  # noqa: E731
        elif kind == "expand":
            step = lambda t, dim=dim: t.unsqueeze(dim).expand(*t.shape[:dim], 2, *t.shape[dim:])  # noqa: E731
        elif kind == "cat":
            step = lambda t, dim=dim: torch.cat([t, t.flip(dim)], dim)  # noqa: E731
        else:
            step = lambda t, dim=dim: t.select(dim, t.shape[dim] - 1)  # noqa: E731
        steps.append(step)
        x = step(x)
    return tuple(shape), steps


@settings(max_examples=300, deadline=None)
@given(chains())
def test_chains(case):
    shape, steps = case

    def run(x):
        for step in steps:
            x = step(x)
        return x

    state = check(run, shape)
    axes = state.axes
    # A clean axis is one along which its own coordinate changes and no other axis changes it.
    for name in NAMES[: len(shape)]:
        values = state.coordinates(name)
        changing = [d for d in range(values.dim()) if (values != values.narrow(d, 0, 1)).any()]
        for dim in changing:
            assert name in axes[dim].parts
            assert axes[dim].mixed or len(changing) == 1
    for dim, axis in enumerate(axes):
        if axis.mixed and not any(part.startswith(("×", "unknown")) for part in axis.parts):  # copies may mix too
            assert any(
                (state.coordinates(n) != state.coordinates(n).narrow(dim, 0, 1)).any() for n in NAMES[: len(shape)]
            )


def test_in_place_writes_take_the_coordinates_along():
    def fill(x):
        out = torch.empty(2, 3, 4)
        for h in range(3):
            out[:, h] = x[:, h]
        return out.transpose(1, 2).clone()

    trace = record(fill, torch.zeros(2, 3, 4), axes=["B H d_h"])
    assert [str(a) for a in trace[-1].outputs[0].axes] == ["B", "d_h", "H"]
    expected = torch.arange(3).expand(2, 4, 3)
    assert torch.equal(trace[-1].outputs[0].coordinates("H"), expected)


def test_a_write_through_a_view_reaches_the_whole():
    def fill(x):
        out = torch.empty(4, 2, 3)
        row = out[1:3]
        row.copy_(x)
        return out * 1

    state = record(fill, torch.zeros(2, 2, 3), axes=["L H d_h"])[-1].outputs[0]
    assert torch.equal(state.coordinates("H")[1:3], torch.arange(2)[None, :, None].expand(2, 2, 3))
    assert torch.equal(state.coordinates("L")[:, 0, 0], torch.tensor([-1, 0, 1, -1]))
    assert [str(a) for a in state.axes] == ["L", "H", "d_h"]
