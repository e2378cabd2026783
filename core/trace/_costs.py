"""FLOPs and bytes of one recorded operation.

A multiply and an add are two FLOPs. The matmul family, linear, einsum, scaled_dot_product_attention and
MultiheadAttention are counted exactly; everything else counts 0: it is bound by memory, and `bytes_moved` says
by how much.
"""

import math

from core.trace._ops import Kind, plain_name
from core.trace._states import Raw, touched_bytes


def bytes_moved(kind: Kind, inputs: tuple[Raw, ...], outputs: tuple[Raw, ...]) -> int:
    """The least traffic of a step: every distinct element of the inputs read once, the outputs written once.

    A view moves nothing.
    """
    if kind == "view":
        return 0
    return sum(map(touched_bytes, {raw.place: raw for raw in inputs}.values())) + sum(map(touched_bytes, outputs))


def flops(op: str, args: tuple, kwargs: dict, inputs: tuple[Raw, ...], outputs: tuple[Raw, ...]) -> int:
    if not outputs:
        return 0
    op = plain_name(op)
    shapes = [raw.shape for raw in inputs]
    made = math.prod(outputs[0].shape)
    match op:
        case "matmul" | "bmm" | "mm" | "mv" | "dot" | "linear":
            return 2 * made * shapes[0][-1]
        case "baddbmm" | "addmm" | "addbmm" | "addmv":
            return 2 * math.prod(shapes[1]) * shapes[2][-1] + made
        case "einsum":
            return _einsum(args, shapes)
        case "scaled_dot_product_attention" | "_scaled_dot_product_flash_attention_for_cpu":
            q, k, v = shapes[:3]
            return 2 * math.prod(q[:-1]) * k[-2] * (q[-1] + v[-1])
        case "MultiheadAttention":
            return _multihead(shapes, bool(kwargs.get("batch_first")))
    return 0


def _einsum(args: tuple, shapes: list) -> int:
    equation = args[0]
    if not isinstance(equation, str):
        return 0
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=False):
        front, dots, back = term.partition("...")
        middle = len(shape) - len(front) - len(back)
        axes = [*front, *(f".{middle - i}" for i in range(middle if dots else 0)), *back]
        for axis, size in zip(axes, shape, strict=False):
            sizes[axis] = max(size, sizes.get(axis, 1))
    # Two operands: one multiply and add for every combination of indices; more: one multiply each, one add.
    return max(len(terms), 2) * math.prod(sizes.values()) if len(terms) > 1 else 0


def _multihead(shapes: list, batch_first: bool) -> int:
    q, k, v = shapes[:3]
    width = q[-1]
    lq, lk = math.prod(q[:-1]), math.prod(k[:-1])
    projections = 2 * width * (lq * width + lk * k[-1] + math.prod(v[:-1]) * v[-1] + lq * width)
    batch = 1 if len(q) == 2 else q[0 if batch_first else 1]
    return projections + 4 * (lq * lk // batch) * width
