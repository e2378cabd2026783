"""What one step says: operation, kind, names, costs; and that recording changes nothing."""

import gc
import threading
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from core.trace import record

X = torch.arange(24.0).reshape(2, 3, 4)


def same(state, value):
    return state.value is not None and torch.equal(state.value, value)


def only(function, *args, **kwargs):
    trace = record(function, *args, **kwargs)
    assert trace.error is None
    return trace[-1]


@pytest.mark.parametrize(
    ("function", "op", "kind"),
    [
        (lambda x: x.view(6, 4), "view", "view"),
        (lambda x: x.reshape(6, 4), "reshape", "view"),
        (lambda x: x.transpose(0, 1).reshape(6, 4), "reshape", "copy"),
        (lambda x: x.contiguous(), "contiguous", "view"),
        (lambda x: x.mT.contiguous(), "contiguous", "copy"),
        (lambda x: x.mT, "mT", "view"),
        (lambda x: x.repeat_interleave(2, dim=1), "repeat_interleave", "copy"),
        (lambda x: x.repeat(1, 2, 1), "repeat", "copy"),
        (lambda x: x[:, None].expand(2, 5, 3, 4), "expand", "view"),
        (lambda x: torch.cat([x, x]), "cat", "copy"),
        (lambda x: x[:, 0], "getitem", "view"),
        (lambda x: x[:, [0, 0]], "getitem", "copy"),
        (lambda x: x.clone(), "clone", "copy"),
        (lambda x: x.float(), "float", "view"),
        (lambda x: x.double(), "double", "copy"),
        (lambda x: x @ x.mT, "matmul", "compute"),
        (lambda x: x / 2, "div", "compute"),
        (lambda x: 1 - x, "sub", "compute"),
        (lambda x: 2 / x, "div", "compute"),
        (lambda x: -x, "neg", "compute"),
        (lambda x: F.softmax(x, dim=-1), "softmax", "compute"),
        (lambda x: x.clone().masked_fill_(x > 2, 0.0), "masked_fill_", "compute"),
        (lambda x: torch.zeros(2), "zeros", "compute"),
        (lambda x: torch.einsum("bld,bmd->blm", x, x), "einsum", "compute"),
        (lambda x: F.scaled_dot_product_attention(x, x, x), "scaled_dot_product_attention", "compute"),
    ],
)
def test_kind_is_decided_by_what_happened_to_storage(function, op, kind):
    step = only(function, X)
    assert (step.op, step.kind) == (op, kind)
    shares = step.outputs[0].storage in {state.storage for state in step.inputs}
    assert shares == (kind == "view" or op.endswith("_"))


def test_in_place_writes_are_no_views():
    def write(x):
        y = x.clone()
        y[0] = x[1]
        y += 1
        return y

    steps = record(write, X).steps
    assert [(s.op, s.kind) for s in steps[2:]] == [("setitem", "copy"), ("add_", "compute")]
    assert steps[-1].name == "y"


def test_reading_attributes_is_no_step():
    def look(x):
        B, L, d = x.shape
        assert (x.size(0), x.dim(), len(x), x.dtype) == (B, 3, B, torch.float32)
        assert (x.stride(), x.is_contiguous(), float(x[0, 0, 0])) == ((12, 4, 1), True, 0.0)
        return x.view(B * L, d)

    assert [s.op for s in record(look, X)] == ["getitem", "view"]


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x: x.view(6, 4), "(6, 4)"),
        (lambda x: x.view((6, 4)), "(6, 4)"),
        (lambda x: x.transpose(-2, -1), "-2, -1"),
        (lambda x: x.softmax(-1), "dim=-1"),
        (lambda x: F.softmax(x, dim=-1), "dim=-1"),
        (lambda x: x.chunk(3, dim=1), "3, dim=1"),
        (lambda x: torch.cat([x, x], 1), "dim=1"),
        (lambda x: x.repeat_interleave(2, dim=1), "2, dim=1"),
        (lambda x: x / 8**0.5, "2.82843"),
        (lambda x: x[:, None, ..., 0], ":, None, ..., 0"),
        (lambda x: x.masked_fill(x > 2, float("-inf")), "-inf"),
    ],
)
def test_arguments_worth_showing(function, args):
    assert only(function, X).args == args


def test_the_step_that_raises_is_the_last_and_is_not_raised_again():
    trace = record(lambda x: x.transpose(0, 1).view(6, 4) + 1, X)
    assert isinstance(trace.error, RuntimeError)
    assert trace.result is None
    assert [s.op for s in trace] == ["transpose", "view"]
    assert trace[-1].error is trace.error
    assert trace[-1].outputs == ()
    assert trace[-1].inputs[0].stride == (4, 12, 1)
    assert trace.error_source is not None
    assert trace.error_source.text == "x.transpose(0, 1).view(6, 4)"


def test_an_error_that_is_not_torchs_ends_the_trace_too():
    def fail(x):
        y = x + 1
        raise KeyError(y.shape)

    trace = record(fail, X)
    assert isinstance(trace.error, KeyError)
    assert [s.error for s in trace] == [None]


def test_a_caught_error_is_marked_and_the_trace_goes_on():
    def careful(x):
        try:
            return x.mT.view(24)
        except RuntimeError:
            return x.mT.reshape(24)

    trace = record(careful, X)
    assert trace.error is None
    assert [bool(s.error) for s in trace] == [False, True, False, False]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w_q = nn.Linear(4, 8)
        self.mha = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x, cache=None):
        h = self.w_q(x)
        out, _weights = self.mha(h, h, h)
        again, _ = self.mha(out, out, out)
        return again


def test_parameters_have_names_and_multihead_attention_is_one_step():
    linear, first, second = record(Net(), X).steps
    assert [state.name for state in linear.inputs] == ["x", "w_q.weight", "w_q.bias"]
    assert [state.is_parameter for state in linear.inputs] == [False, True, True]
    assert first.op == second.op == "MultiheadAttention"
    assert first.names == ("out", "_weights")
    assert [o.shape for o in first.outputs] == [(2, 3, 8), (2, 3, 3)]
    assert first.inputs[0].shape == (2, 3, 8)
    assert first.inputs[0].storage == linear.outputs[0].storage
    assert second.inputs[0].storage == first.outputs[0].storage


def test_parameters_of_a_closure_and_of_a_method_have_names():
    net = Net()
    assert record(lambda x: net.w_q(x), X)[0].inputs[1].name == "net.w_q.weight"
    assert record(net.forward, X)[0].inputs[1].name == "w_q.weight"


def test_recording_changes_neither_results_nor_gradients():
    torch.manual_seed(0)
    net = Net()
    plain = net(X)
    grad = torch.autograd.grad(plain.sum(), net.w_q.weight)
    trace = record(net, X)
    torch.testing.assert_close(trace.result, plain, rtol=0, atol=0)
    again = torch.autograd.grad(trace.result.sum(), net.w_q.weight)
    torch.testing.assert_close(again, grad, rtol=0, atol=0)
    with torch.no_grad():
        assert not record(net, X).result.requires_grad


def test_two_threads_do_not_mix():
    traces = {}
    ready = threading.Barrier(2)

    def run(name, function):
        ready.wait()
        for _ in range(50):
            traces[name] = [s.op for s in record(function, X)]
            assert traces[name] == [name] * 20

    def adds(x):
        for _ in range(20):
            x = x + 1

    def negates(x):
        for _ in range(20):
            x = -x

    threads = [threading.Thread(target=run, args=a) for a in (("add", adds), ("neg", negates))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert traces == {"add": ["add"] * 20, "neg": ["neg"] * 20}


def test_a_trace_inside_a_trace():
    inner = []

    def outer(x):
        y = x + 1
        inner.append(record(lambda z: z * 2, y))
        return y.mT

    trace = record(outer, X)
    assert [s.op for s in trace] == ["add", "mul", "mT"]
    assert [s.op for s in inner[0]] == ["mul"]


def test_values_are_kept_on_request_and_survive_in_place_writes():
    def write(x):
        y = x + 1
        y.zero_()
        return y

    add, zero = record(write, X, keep_values=True).steps
    assert same(add.outputs[0], X + 1)
    assert same(add.inputs[0], X)
    assert same(zero.outputs[0], torch.zeros_like(X))
    assert record(write, X)[0].outputs[0].value is None


def test_flops_and_bytes():
    q, k = torch.zeros(2, 8, 10, 4), torch.zeros(2, 8, 6, 4)
    step = only(lambda q, k: q @ k.mT, q, k)
    assert step.flops == 2 * (2 * 8 * 10 * 6 * 4)
    assert step.bytes_moved == 4 * (2 * 8 * 10 * 4 + 2 * 8 * 6 * 4 + 2 * 8 * 10 * 6)
    assert only(lambda q, k: torch.einsum("bhqd,bhkd->bhqk", q, k), q, k).flops == step.flops
    sdpa = only(lambda q, k: F.scaled_dot_product_attention(q, k, k), q, k)
    assert sdpa.flops == 2 * step.flops
    linear = only(nn.Linear(4, 5), q)
    assert linear.flops == 2 * (2 * 8 * 10) * 4 * 5
    assert only(lambda q: q.mT, q).bytes_moved == 0
    # a broadcast axis is read once, but written out
    assert only(lambda q: q[:, :1].expand(2, 8, 10, 4).contiguous(), q).bytes_moved == 4 * (2 * 10 * 4 + 640)


def test_multihead_attention_costs_its_projections_and_its_attention():
    B, L, d, H = 2, 3, 8, 2
    mha = nn.MultiheadAttention(d, H, batch_first=True)
    step = only(lambda x: mha(x, x, x), torch.zeros(B, L, d))
    assert step.flops == 4 * (2 * B * L * d * d) + 2 * (2 * B * L * L * d)


def test_live_bytes_and_peak():
    size = X.nbytes

    def chain(x):
        a = x + 1  # 1 alive
        b = a + 1  # 2
        del a
        c = b.mT  # 1: a view makes nothing
        return c.contiguous()  # 2

    trace = record(chain, X)
    assert [s.live_bytes // size for s in trace] == [1, 2, 1, 2]
    assert trace.peak_bytes == 2 * size


def test_a_freed_storage_is_never_mistaken_for_a_new_one():
    def churn(x):
        for _ in range(50):
            x = x + 1
        return x

    trace = record(churn, X)
    assert [s.outputs[0].storage for s in trace] == list(range(1, 51))


def test_dispatch_level_shows_hidden_copies():
    q = torch.zeros(2, 3, 5, 4)
    trace = record(lambda q: q.transpose(1, 2) @ q.transpose(1, 2).mT, q, level="dispatch")
    assert all(s.op.startswith("aten::") for s in trace)
    assert ("aten::clone", "copy") in [(s.op, s.kind) for s in trace]
    assert trace[-1].source.text == "q.transpose(1, 2) @ q.transpose(1, 2).mT"


def test_inputs_are_named_by_parameter_and_path():
    class Cache:
        def __init__(self):
            self.k = torch.zeros(1, 2)

    def f(x, cache, *rest, scale=None, **more):
        return x

    trace = record(f, X, Cache(), [X, X], scale=X[0], extra=X[1])
    assert list(trace.inputs) == ["x", "cache.k", "rest[0][0]", "rest[0][1]", "scale", "extra"]
    assert trace.inputs["x"].storage == trace.inputs["extra"].storage
    assert trace.inputs["extra"].offset == 12


def test_tensors_without_storage_are_recorded_too():
    """Inside torch.vmap tensors have no storage of their own: nothing is known of them, nothing breaks."""
    trace = record(torch.vmap(lambda q, k: (q @ k.mT).softmax(-1)), X, X)
    assert trace.error is None
    assert [s.op for s in trace][:3] == ["mT", "matmul", "softmax"]
    assert {s.outputs[0].storage for s in trace[:3]} == {-1}
    assert all(not axis.known for s in trace[:3] for axis in s.outputs[0].axes if str(axis) != "1")


def test_the_meta_device_has_layouts_and_meanings_too():
    trace = record(lambda x: x.transpose(0, 1).reshape(6, 4), X.to("meta"), axes=["B L d_model"])
    assert [s.kind for s in trace] == ["view", "copy"]
    assert [str(axis) for axis in trace[-1].outputs[0].axes] == ["L·B", "d_model"]


def test_any_callable():
    class Callable:
        def __call__(self, x):
            return x + 1

    assert record(Callable(), X)[0].op == "add"
    assert record(torch.relu, X)[0].op == "relu"
    assert list(record(torch.relu, X).inputs) in (["arg0"], ["input"])


def test_a_trace_is_freed_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        trace = record(Net(), X, axes=["B L d_model"])
        assert trace.steps[0].outputs[0].axes
        alive = weakref.ref(trace)
        del trace
        assert alive() is None
    finally:
        gc.enable()
