"""The tensors that a traced call is given, by name, and the parameters that it may meet."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

import torch
from torch import nn

_DEPTH = 3


def named_inputs(function: Callable[..., Any], args: tuple, kwargs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Every tensor in the arguments, by parameter name: ``x``, ``cache.k``, ``past[0]``.

    Where the signature is not to be had, positional arguments are called ``arg0``, ``arg1`` …
    """
    target = function.forward if isinstance(function, nn.Module) else function
    found: dict[str, torch.Tensor] = {}
    try:
        bound = inspect.signature(target).bind(*args, **kwargs)
    except (TypeError, ValueError):
        named = {**{f"arg{i}": a for i, a in enumerate(args)}, **kwargs}
    else:
        named = {}
        for name, value in bound.arguments.items():
            parameter = bound.signature.parameters[name]
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                named |= value
            else:
                named[name] = value
    for name, value in named.items():
        found |= dict(_tensors(name, value, _DEPTH))
    return found


def _tensors(name: str, value: Any, depth: int) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield name, value
    elif depth and isinstance(value, (tuple, list)):
        for i, part in enumerate(value):
            yield from _tensors(f"{name}[{i}]", part, depth - 1)
    elif depth and isinstance(value, dict):
        for key, part in value.items():
            yield from _tensors(f"{name}[{key!r}]", part, depth - 1)
    elif depth and not isinstance(value, (nn.Module, type)) and hasattr(value, "__dict__"):
        for key, part in vars(value).items():
            yield from _tensors(f"{name}.{key}", part, depth - 1)


def parameters(function: Callable[..., Any], args: tuple) -> Iterator[tuple[str, torch.Tensor]]:
    """Parameters and buffers of every module in reach: the traced module itself, a method's, a closure's, a
    function's globals, the arguments; names as the function would write them (``w_q.weight``, ``mha.w_q.weight``).
    """
    for prefix, module in _modules(function, args):
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            yield f"{prefix}{name}", tensor


def _modules(function: Callable[..., Any], args: tuple) -> Iterator[tuple[str, nn.Module]]:
    owner = function if isinstance(function, nn.Module) else getattr(function, "__self__", None)
    if isinstance(owner, nn.Module):
        yield "", owner
    function = getattr(function, "__func__", function)
    if isinstance(function, FunctionType):
        code = function.__code__
        held = {n: function.__globals__.get(n) for n in code.co_names}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            try:
                held[name] = cell.cell_contents
            except ValueError:  # a cell not filled yet
                continue
        yield from ((f"{n}.", m) for n, m in held.items() if isinstance(m, nn.Module))
    yield from ((f"arg{i}.", m) for i, m in enumerate(args) if isinstance(m, nn.Module))
