"""Layout operations on meanings: each is run on the coordinates, so that what an axis means is proved."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from core.trace import _meaning as mean
from core.trace._axes import Names
from core.trace._join import cat
from core.trace._meaning import Ints, Meaning
from core.trace._ops import Tensor, plain_name, words
from core.trace._record import Op
from core.trace._units import reshape

Rule = Callable[[Op, list[Meaning], Names], list[Meaning]]


def layout(op: Op, ms: list[Meaning], names: Names) -> list[Meaning] | None:
    """The meanings of the outputs of a layout operation, None where it is none."""
    rule = _RULES.get(plain_name(op.op))
    if rule is None or not ms:
        return None
    found = rule(op, ms, names)
    if len(found) == len(op.outputs) and all(
        m.shape == tuple(raw.shape) for m, raw in zip(found, op.outputs, strict=True)
    ):
        return found
    return None


def argument(op: Op, place: int, *keys: str, default: Any = None) -> Any:
    """A positional argument, or the keyword that it has."""
    for key in keys:
        if key in op.kwargs:
            return op.kwargs[key]
    return op.args[place] if place < len(op.args) else default


def numbers(op: Op, place: int, *keys: str) -> list[int]:
    """Integers given one by one, or as a tuple: ``view(2, 3)``, ``view((2, 3))``."""
    value = argument(op, place, *keys)
    if isinstance(value, (tuple, list)):
        return list(value)
    return [v for v in op.args[place:] if isinstance(v, int)] if place < len(op.args) else [value]


def _same(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    return [ms[0]]


def _reshape(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    shape = tuple(op.outputs[0].shape)
    if int(np.prod(shape)) != int(np.prod(ms[0].shape)) or 0 in shape:
        return []
    return [reshape(ms[0], shape, names)]


def _squeeze(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    m = ms[0]
    rank = len(m.shape)
    given = argument(op, 1, "dim")
    dims = range(rank) if given is None else [given] if isinstance(given, int) else given
    for dim in sorted({d % rank for d in dims}, reverse=True):
        if m.shape[dim] == 1:
            m = mean.squeeze(m, dim)
    return [m]


def _unsqueeze(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    return [mean.unsqueeze(ms[0], argument(op, 1, "dim") % (len(ms[0].shape) + 1))]


def _swap(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    rank = len(ms[0].shape)
    a = argument(op, 1, "dim0", "axis0", default=rank - 2)  # t() and mT have no arguments
    b = argument(op, 2, "dim1", "axis1", default=rank - 1)
    order = list(range(rank))
    if rank > 1:
        order[a], order[b] = order[b], order[a]
    return [mean.permute(ms[0], order)]


def _permute(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    return [mean.permute(ms[0], [d % len(ms[0].shape) for d in numbers(op, 1, "dims")])]


def _reverse(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    return [mean.permute(ms[0], list(range(len(ms[0].shape)))[::-1])]


def _movedim(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    rank = len(ms[0].shape)
    source, target = argument(op, 1, "source"), argument(op, 2, "destination")
    sources = [d % rank for d in ([source] if isinstance(source, int) else source)]
    targets = [d % rank for d in ([target] if isinstance(target, int) else target)]
    order: list[int] = [-1] * rank
    for s, t in zip(sources, targets, strict=True):
        order[t] = s
    rest = iter(d for d in range(rank) if d not in sources)
    return [mean.permute(ms[0], [next(rest) if d < 0 else d for d in order])]


def _expand(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    return [mean.counted(mean.broadcast(m, tuple(raw.shape)), names) for m, raw in zip(ms, op.outputs, strict=False)]


def _repeat(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    m = ms[0]
    times = numbers(op, 1, "repeats", "dims")
    while len(m.shape) < len(times):
        m = mean.unsqueeze(m, 0)
    times = [1] * (len(m.shape) - len(times)) + times
    for dim, count in enumerate(times):
        if count == 1:
            continue
        if m.shape[dim] == 1:
            m = mean.broadcast(m, (*m.shape[:dim], count, *m.shape[dim + 1 :]))
        else:
            m = mean.take(m, dim, np.tile(np.arange(m.shape[dim]), count))
    return [mean.counted(m, names)]


def _repeat_interleave(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    m = ms[0]
    times, dim = argument(op, 1, "repeats"), argument(op, 2, "dim")
    if dim is None:
        m, dim = reshape(m, (int(np.prod(m.shape)),), names), 0
    dim %= len(m.shape)
    if isinstance(times, Tensor):
        times = op.indices[times.index].numpy()
    if m.shape[dim] == 1 and isinstance(times, int):
        return [mean.counted(mean.broadcast(m, (*m.shape[:dim], times, *m.shape[dim + 1 :])), names)]
    return [mean.counted(mean.take(m, dim, np.repeat(np.arange(m.shape[dim]), times)), names)]


def _pieces(place: int) -> Rule:
    def rule(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
        m = ms[0]
        dim = argument(op, place, "dim", default=0) % len(m.shape)
        found, start = [], 0
        for raw in op.outputs:
            found.append(mean.take(m, dim, slice(start, start + raw.shape[dim])))
            start += raw.shape[dim]
        return found

    return rule


def _unbind(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    dim = argument(op, 1, "dim", default=0) % len(ms[0].shape)
    return [mean.select(ms[0], dim, i) for i in range(ms[0].shape[dim])]


def _select(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    dim = argument(op, 1, "dim") % len(ms[0].shape)
    return [mean.select(ms[0], dim, argument(op, 2, "index"))]


def _narrow(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    dim = argument(op, 1, "dim") % len(ms[0].shape)
    start, length = argument(op, 2, "start"), argument(op, 3, "length")
    start = int(start) % ms[0].shape[dim] if start < 0 else int(start)
    return [mean.take(ms[0], dim, slice(start, start + length))]


def _slice(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    dim = argument(op, 1, "dim", default=0) % len(ms[0].shape)
    start, end, step = argument(op, 2, "start"), argument(op, 3, "end"), argument(op, 4, "step", default=1)
    return [mean.take(ms[0], dim, slice(start, end, step))]


def _index_select(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    dim = argument(op, 1, "dim") % len(ms[0].shape)
    index = argument(op, 2, "index")
    return [mean.counted(mean.take(ms[0], dim, op.indices[index.index].numpy().reshape(-1)), names)]


def _flip(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    m = ms[0]
    for dim in numbers(op, 1, "dims"):
        m = mean.take(m, dim % len(m.shape), slice(None, None, -1))
    return [m]


def _getitem(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    m = ms[0]
    index = op.args[1] if isinstance(op.args[1], tuple) else (op.args[1],)
    if any(isinstance(i, (bool, Tensor, tuple)) for i in index):
        return _advanced(op, m, index, names)
    used = sum(i is not None and i is not Ellipsis for i in index)
    whole = (slice(None),) * (len(m.shape) - used)
    if Ellipsis in index:
        at = index.index(Ellipsis)
        index = index[:at] + whole + index[at + 1 :]
    dim = 0
    for i in index:
        if i is None:
            m = mean.unsqueeze(m, dim)
            dim += 1
        elif isinstance(i, slice):
            m = m if i == slice(None) else mean.take(m, dim, i)
            dim += 1
        else:
            m = mean.select(m, dim, int(i))
    return [m]


def _advanced(op: Op, m: Meaning, index: tuple, names: Names) -> list[Meaning]:
    """Indexing by tensors or lists; one list among whole axes keeps the fields small."""
    real = tuple(with_values(i, op) for i in index)
    lists = [d for d, i in enumerate(real) if isinstance(i, torch.Tensor)]
    plain = all(isinstance(i, slice) for d, i in enumerate(real) if d not in lists)
    if plain and len(lists) == 1 and real[lists[0]].ndim == 1 and not any(isinstance(i, bool) for i in real):
        for dim, i in enumerate(real):
            where = i if isinstance(i, slice) else _positions(i)
            m = mean.take(m, dim, where)
        return [mean.counted(m, names)]
    return [mean.counted(mean.gathered(m, flat_index(m)[real].numpy()), names)]


def _positions(index: torch.Tensor) -> Ints:
    return index.nonzero().reshape(-1).numpy() if index.dtype == torch.bool else index.numpy()


def with_values(index: Any, op: Op) -> Any:
    """An index with the tensors that were kept put back in."""
    if isinstance(index, Tensor):
        return op.indices[index.index]
    if isinstance(index, tuple):
        return torch.tensor(_listed(index, op))
    return index


def _listed(index: tuple, op: Op) -> list:
    return [_listed(i, op) if isinstance(i, tuple) else op.indices[i.index] if isinstance(i, Tensor) else i
            for i in index]  # fmt: skip


def flat_index(m: Meaning) -> torch.Tensor:
    """Every element's own position in reading order."""
    return torch.arange(int(np.prod(m.shape))).reshape(m.shape)


def _replayed(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    """Any other layout operation: torch itself runs it, on positions instead of numbers."""
    tensors = [flat_index(ms[0]), *(op.indices.get(i) for i in range(1, len(ms)))]
    args = [_filled(a, tensors) for a in op.args]
    moved = op.func(*args, **{k: _filled(v, tensors) for k, v in op.kwargs.items()})
    outputs = moved if isinstance(moved, (tuple, list)) else [moved]
    return [mean.counted(mean.gathered(ms[0], out.numpy()), names) for out in outputs]


def _filled(value: Any, tensors: list) -> Any:
    if isinstance(value, Tensor):
        return tensors[value.index]
    if isinstance(value, tuple):
        return tuple(_filled(v, tensors) for v in value)
    return value


def _by_cells(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    """A view, read off the storage: each of its elements is the input's element in the same cell."""
    source = op.inputs[0]
    if any(step == 0 and n > 1 for step, n in zip(source.stride, source.shape, strict=True)):
        return []
    found = []
    for raw in op.outputs:
        if raw.storage != source.storage:
            return []
        found.append(mean.counted(mean.gathered(ms[0], positions_in(raw, source)), names))
    return found


def cells(raw: Any) -> Ints:
    """The storage cell of every element."""
    at = np.full((), raw.offset, np.int64)
    for n, step in zip(raw.shape, raw.stride, strict=True):
        at = at[..., None] + np.arange(n) * step
    return at


def positions_in(raw: Any, base: Any) -> Ints:
    """For each element of `raw` its position in reading order in `base`, -1 where base does not reach."""
    at, there = cells(raw), cells(base)
    table = np.full(max(at.max(initial=0), there.max(initial=0)) + 1, -1)
    table[there.reshape(-1)] = np.arange(there.size)
    return table[at]


def _complex(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    """Pairs of neighbours as one number, which keeps the place of its real part."""
    return [mean.select(ms[0], len(ms[0].shape) - 1, 0)]


def _real(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    m = mean.unsqueeze(ms[0], len(ms[0].shape))
    last = len(m.shape) - 1
    m = mean.broadcast(m, (*m.shape[:-1], 2))
    for atom, at in m.fields.items():
        pairs = at.dims == (last - 1,) or (not at.dims and m.shape[last - 1] == 1)
        even = (at.values % 2 == 0).all() and at.values.max(initial=0) == atom.size - 2
        if pairs and even and all(names.is_feature(p) for r in atom.resolved() for p in r.parts[-1:]):
            m.fields[atom] = mean.Field((*at.dims, last), at.values[..., None] + np.arange(2))
            return [m]
    return [mean.counted(m, names)]


def _cat(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    dim = argument(op, 1, "dim", "axis", default=0)
    kept = [(m, raw) for m, raw in zip(ms, op.inputs, strict=True) if tuple(raw.shape) != (0,)]
    rank = len(kept[0][0].shape)
    return [cat([m for m, _ in kept], dim % rank, names, distinct=len({r.place for _, r in kept}) > 1)]


def _stack(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    dim = argument(op, 1, "dim", "axis", default=0) % (len(ms[0].shape) + 1)
    return [cat([mean.unsqueeze(m, dim) for m in ms], dim, names, distinct=len({r.place for r in op.inputs}) > 1)]


_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        words("contiguous clone detach alias to type float half double bfloat16 int long bool short cpu type_as "
            "real lift_fresh _to_copy requires_grad_ positive cuda"),
        _same,
    ),
    **dict.fromkeys(
        words("view reshape view_as reshape_as flatten ravel unflatten _unsafe_view _reshape_alias"),
        _reshape,
    ),
    "squeeze": _squeeze,
    "squeeze_": _squeeze,
    "unsqueeze": _unsqueeze,
    "unsqueeze_": _unsqueeze,
    **dict.fromkeys(("transpose", "swapaxes", "t", "mT", "adjoint", "mH", "transpose_", "t_", "swapaxes_"), _swap),
    "permute": _permute,
    "T": _reverse,
    "H": _reverse,
    "movedim": _movedim,
    **dict.fromkeys(("expand", "expand_as", "broadcast_to", "broadcast_tensors"), _expand),
    "repeat": _repeat,
    "tile": _repeat,
    "repeat_interleave": _repeat_interleave,
    **dict.fromkeys(("chunk", "split", "split_with_sizes", "tensor_split"), _pieces(2)),
    "unbind": _unbind,
    "select": _select,
    "narrow": _narrow,
    "slice": _slice,
    "index_select": _index_select,
    "flip": _flip,
    "getitem": _getitem,
    **dict.fromkeys(
        ("roll", "gather", "take_along_dim", "take", "masked_select", "index", "rot90", "fliplr", "flipud", "hsplit",
         "vsplit", "dsplit", "unfold_copy"), _replayed
    ),
    **dict.fromkeys(("as_strided", "diagonal", "unfold"), _by_cells),
    "view_as_complex": _complex,
    "view_as_real": _real,
    "cat": _cat,
    "stack": _stack,
}  # fmt: skip


def follows(name: str) -> bool:
    """Whether an operation of this name is a layout operation."""
    return name in _RULES
