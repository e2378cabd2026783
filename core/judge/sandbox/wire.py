"""What goes between the grader and the child: plain objects with tensors in them, as bytes.

Four bytes of length, a JSON text of that length, then the tensors as safetensors. Nothing is unpickled, so bytes that
a submission made can be read: they are an object, or a ValueError.
"""

import json
import struct
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

_LENGTH = struct.Struct("<I")
_DEEPEST = 64  # containers in containers
_MOST_TENSORS = 20_000
_DTYPES = {
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
}


def pack(thing: object) -> bytes:
    """The bytes of dicts (with str keys), lists, tuples (read back as lists), str, int, float, bool, None and tensors.

    Of a tensor its dtype, shape and values go over; not its strides, gradient or device.
    Raises ValueError for anything else, and for what is nested more than 64 deep.
    """
    tensors: dict[str, Tensor] = {}
    text = json.dumps(_to_json(thing, tensors, _DEEPEST)).encode()
    return _LENGTH.pack(len(text)) + text + save(tensors)


def unpack(data: bytes) -> Any:
    """The object that `pack` made these bytes of. Raises ValueError for bytes that it did not make."""
    if len(data) < _LENGTH.size:
        raise ValueError("shorter than its own header")
    end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    if end > len(data):
        raise ValueError("shorter than its header says")
    try:
        tree = json.loads(data[_LENGTH.size : end])
        tensors = {name: _checked(tensor) for name, tensor in load(data[end:]).items()}
    except (SafetensorError, RecursionError, RuntimeError, TypeError, KeyError, AssertionError, OverflowError) as error:
        raise ValueError(f"not what was packed: {error}") from None
    return _from_json(tree, tensors, _DEEPEST)


def _to_json(thing: object, tensors: dict[str, Tensor], deeper: int) -> object:
    if thing is None or isinstance(thing, str | int | float):
        return thing
    if isinstance(thing, Tensor):
        if thing.dtype not in _DTYPES or thing.layout != torch.strided or len(tensors) == _MOST_TENSORS:
            raise ValueError(f"cannot pack a tensor of {thing.dtype}, {thing.layout}")
        name = str(len(tensors))
        # A copy: safetensors refuses tensors that share memory.
        tensors[name] = torch.empty(thing.shape, dtype=thing.dtype).copy_(thing.detach())
        return {"tensor": name}
    if deeper == 0:
        raise ValueError(f"nested more than {_DEEPEST} deep")
    if isinstance(thing, list | tuple):
        return [_to_json(item, tensors, deeper - 1) for item in thing]
    if isinstance(thing, dict) and all(isinstance(key, str) for key in thing):
        return {"dict": {key: _to_json(value, tensors, deeper - 1) for key, value in thing.items()}}
    raise ValueError(f"cannot pack {type(thing).__name__}")


def _from_json(tree: Any, tensors: dict[str, Tensor], deeper: int) -> Any:
    if not isinstance(tree, list | dict):
        return tree
    match tree:
        case {"tensor": str(name), **rest} if name in tensors and not rest:
            return tensors[name]
        case _ if deeper == 0:
            raise ValueError(f"nested more than {_DEEPEST} deep")
        case list():
            return [_from_json(item, tensors, deeper - 1) for item in tree]
        case {"dict": dict(items), **rest} if not rest:
            return {key: _from_json(value, tensors, deeper - 1) for key, value in items.items()}
    raise ValueError("neither a dict nor a tensor")


def _checked(tensor: Tensor) -> Tensor:
    if tensor.dtype not in _DTYPES:
        raise ValueError(f"a tensor of {tensor.dtype}")
    # A bool whose byte is neither 0 nor 1 would be equal to neither.
    return tensor.view(torch.uint8).ne(0) if tensor.dtype == torch.bool else tensor
