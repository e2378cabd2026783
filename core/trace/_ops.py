"""What an operation is called, how its arguments are shown, and whether it viewed, copied or computed."""

from functools import lru_cache
from typing import Literal

import torch

Kind = Literal["view", "copy", "compute"]


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Asked so often, and never a step, that looking at their results would cost more than this table.
SILENT = words(
    "size dim stride numel nelement ndimension is_contiguous storage_offset data_ptr element_size get_device "
    "is_floating_point is_complex is_nonzero untyped_storage __len__ __bool__ __float__ __int__ __index__ __repr__ "
    "__format__ __str__ __hash__ __contains__ item tolist numpy __array__ requires_grad_ retain_grad register_hook "
    "backward is_same_size is_set_to is_pinned is_shared is_inference is_signed is_conj is_neg type_as_str "
    "__deepcopy__ __reduce_ex__ __dlpack__ __dlpack_device__ storage allclose equal is_tensor"
)

# Attributes that are operations.
_PROPERTIES = {"T": "T", "mT": "mT", "H": "H", "mH": "mH", "real": "real", "imag": "imag", "data": "detach"}

_NAMES = {
    "__getitem__": "getitem",
    "__setitem__": "setitem",
    "true_divide": "div",
    "divide": "div",
    "multiply": "mul",
    "subtract": "sub",
    "multi_head_attention_forward": "MultiheadAttention",
    "__invert__": "bitwise_not",
    "negative": "neg",
    "swapdims": "swapaxes",
    "moveaxis": "movedim",
    "concat": "cat",
    "concatenate": "cat",
    "absolute": "abs",
}

# Operations that only place elements: with new storage they copied, they computed nothing.
LAYOUT = words(
    "view reshape view_as reshape_as flatten ravel unflatten transpose permute movedim swapaxes t T mT H mH "
    "adjoint chunk split split_with_sizes tensor_split hsplit vsplit dsplit unbind select narrow getitem index "
    "index_select gather take_along_dim take cat stack hstack vstack dstack column_stack expand expand_as "
    "broadcast_to broadcast_tensors repeat tile repeat_interleave squeeze unsqueeze as_strided contiguous clone "
    "detach alias roll flip fliplr flipud rot90 diagonal unfold narrow_copy masked_select embedding "
    "to type float half double bfloat16 int long bool short cpu type_as view_as_complex view_as_real real "
    "copy_ setitem slice lift_fresh _to_copy _unsafe_view _reshape_alias pad constant_pad_nd meshgrid "
    "slice_scatter select_scatter index_copy index_copy_ scatter scatter_ block_diag atleast_2d atleast_3d"
)

_IN_PLACE_VIEWS = words("transpose_ t_ squeeze_ unsqueeze_ swapaxes_ swapdims_ as_strided_")


def op_name(func: object) -> str | None:
    """The name a learner would say for a torch function, or None where a call is no operation."""
    name = getattr(func, "__name__", None) or str(func)
    if name == "__get__":
        return _PROPERTIES.get(getattr(getattr(func, "__self__", None), "__name__", ""))
    if name in ("__set__", "__delete__") or name in SILENT:
        return None
    if isinstance(func, torch._ops.OpOverload):
        return "aten::" + func._schema.name.partition("::")[2]
    if name in _NAMES:
        return _NAMES[name]
    if name.startswith("__") and name.endswith("__"):
        name = name.strip("_")
        if name[0] == "i" and name[1:] in ("add", "sub", "mul", "truediv", "and", "or", "xor"):
            return {"truediv": "div"}.get(name[1:], name[1:]) + "_"
        name = name[1:] if name in ("radd", "rsub", "rmul", "rtruediv", "rpow", "rmatmul", "rdiv") else name
        return {"truediv": "div", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}.get(name, name)
    return name


def plain_name(op: str) -> str:
    """`op` without the dispatcher's prefix: ``aten::view`` -> ``view``."""
    return op.removeprefix("aten::")


def writes_in_place(op: str) -> bool:
    op = plain_name(op)
    return op == "setitem" or (op.endswith("_") and op not in _IN_PLACE_VIEWS)


@lru_cache(maxsize=1024)
def _nature(op: str) -> tuple[bool, bool]:
    """Whether an operation only places elements, and whether it writes in place."""
    return plain_name(op) in LAYOUT, writes_in_place(op)


def kind_of(op: str, read: set[int], made: list[int]) -> Kind:
    """What the step did, from the storages it `read` and those its results lie in.

    A result in a storage that was read is a view unless the operation writes in place; a result in a new
    storage is a copy where the operation only places elements, else it was computed. A step that raised made
    nothing: it is what it was meant to be.
    """
    layout, writes = _nature(op)
    if not made or -1 in made:  # what cannot be seen is what it is meant to be
        return "view" if layout else "compute"
    if writes:
        return "copy" if layout else "compute"
    if read.issuperset(made) and read:
        return "view"
    return "copy" if layout and read else "compute"


_SIZES = words("view reshape expand repeat tile permute zeros ones empty rand randn full new_zeros")
_AXIS = words("softmax log_softmax cat stack unbind squeeze unsqueeze sum mean amax argmax max")
_PARTS = words("chunk split tensor_split repeat_interleave unflatten select")
_HIDDEN = frozenset(("_stacklevel", "dtype", "layout", "device", "pin_memory", "memory_format", "inplace"))
_MHA_SHOWN = frozenset(("batch_first", "need_weights", "average_attn_weights", "is_causal"))


class Tensor:
    """Stands for the n-th input tensor in recorded arguments."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and other.index == self.index

    def __hash__(self) -> int:
        return hash((Tensor, self.index))

    def __repr__(self) -> str:
        return f"tensor {self.index}"


def shown_args(op: str, args: tuple, kwargs: dict) -> str:
    """The arguments worth showing: sizes, axes, scalars, equations; never tensors, never defaults."""
    op = plain_name(op)
    if op == "MultiheadAttention":
        plain = [str(a) for a in args if type(a) is int]
        heads = [f"num_heads={plain[1]}"] if len(plain) > 1 else []
        return ", ".join(heads + [f"{k}={v}" for k, v in kwargs.items() if k in _MHA_SHOWN])
    if op in ("getitem", "setitem"):
        return _shown_index(args[1])
    shown = [_shown(a) for a in args if not _is_tensorial(a) and a is not None]
    if op in _SIZES and shown and all(type(a) is int for a in args if not _is_tensorial(a)):
        shown = [f"({', '.join(shown)}{',' if len(shown) == 1 else ''})"]
    elif shown and type(args[-1]) is int and (op in _AXIS or (op in _PARTS and len(shown) == 2)):
        shown[-1] = f"dim={shown[-1]}"
    for key, value in kwargs.items():
        if value is None or _is_tensorial(value) or (key in _HIDDEN and not isinstance(value, torch.dtype)):
            continue
        shown.append(f"{key}={_shown(value)}")
    return ", ".join(shown)


def _is_tensorial(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_is_tensorial(v) for v in value)
    return isinstance(value, Tensor)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_shown, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return value if isinstance(value, str) else repr(value)


def _shown_index(index: object) -> str:
    if isinstance(index, tuple):
        return ", ".join(map(_shown_index, index))
    if isinstance(index, slice):
        start, stop, step = ("" if v is None else str(v) for v in (index.start, index.stop, index.step))
        return f"{start}:{stop}" + (f":{step}" if step else "")
    if index is Ellipsis:
        return "..."
    return "tensor" if _is_tensorial(index) else str(index)
