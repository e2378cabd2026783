"""A recorded run to ask questions of: which steps made the scores, where the mask went, what came before the output."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from torch import Tensor

CONTRACTIONS = frozenset(
    ["matmul", "bmm", "baddbmm", "einsum", "mm", "linear", "inner", "tensordot", "addmm", "addbmm", "dot", "mv"]
)
SOFTMAXES = frozenset(["softmax", "log_softmax", "softmin"])
KERNELS = frozenset(("scaled_dot_product_attention", "MultiheadAttention"))
SCALINGS = frozenset(["mul", "mul_", "div", "div_", "true_divide", "rdiv"])
FILLS = frozenset(["masked_fill", "masked_fill_", "where", "add", "add_", "mul", "mul_", "sub", "baddbmm"])
REPEATS = frozenset(
    [
        "repeat",
        "repeat_interleave",
        "expand",
        "tile",
        "broadcast_to",
        "expand_as",
        "index_select",
        "index_put",
        "cat",
        "stack",
        "getitem",
    ]
)
TRIANGLES = frozenset(["tril", "triu", "tril_", "triu_", "lt", "le", "gt", "ge", "lt_", "triu_indices", "tril_indices"])

Span = tuple[int, int, int, int]  # line, end line, column, end column


@dataclass(frozen=True)
class Step:
    """One step of the tape; `data` as in `core.judge._tape`."""

    index: int
    data: Mapping[str, Any]

    @property
    def op(self) -> str:
        return self.data["op"]

    @property
    def span(self) -> Span:
        d = self.data
        return d["line"], d["end_line"], d["col"], d["end_col"]

    @property
    def line(self) -> int:
        return self.data["line"]

    @property
    def given(self) -> list[Any]:
        return self.data["given"]

    @property
    def options(self) -> Mapping[str, Any]:
        return self.data["options"]

    @property
    def inputs(self) -> Sequence[Mapping[str, Any]]:
        return self.data["inputs"]

    @property
    def outputs(self) -> Sequence[Mapping[str, Any]]:
        return self.data["outputs"]

    @property
    def value(self) -> Tensor | None:
        """The numbers of its first output."""
        return self.outputs[0].get("value") if self.outputs else None

    @property
    def is_layout(self) -> bool:
        return self.data["kind"] in ("view", "copy")

    @property
    def numbers(self) -> list[float]:
        """The plain numbers among its arguments."""
        given = [*self.given, *self.options.values()]
        return [float(g) for g in given if isinstance(g, (int, float)) and not isinstance(g, bool)]

    @property
    def outer(self) -> Span:
        """Where the outermost of the submission's functions calls it."""
        if not self.data["callers"]:
            return self.span
        line, col, end_line, end_col = self.data["callers"][-1]
        return line, end_line, col, end_col


class Tape:
    """The steps of one call. Tensors are followed by their storage: what lies in one storage shares its history."""

    def __init__(self, steps: Iterable[Mapping[str, Any]]) -> None:
        self.steps = [Step(i, data) for i, data in enumerate(steps)]

    def __bool__(self) -> bool:
        return bool(self.steps)

    def chain(self, state: Mapping[str, Any]) -> list[Step]:
        """The steps that led to a tensor, the last first: layout steps, back to the one that computed it."""
        found: list[Step] = []
        key: tuple | None = _key(state)
        while key is not None:
            step = self._maker.get(key)
            if step is None or step in found:
                break
            found.append(step)
            key = _key(step.inputs[0]) if step.is_layout and step.inputs else None
        return found

    @cached_property
    def _maker(self) -> dict[tuple, Step]:
        return {_key(state): step for step in self.steps for state in step.outputs}

    def named(self, *ops: str) -> list[Step]:
        return [step for step in self.steps if step.op in ops]

    def reached(
        self, from_: Callable[[Mapping[str, Any]], bool], made: Callable[[Step], bool] | None = None
    ) -> set[int]:
        """The indices of steps that depend on a tensor for which `from_` holds, or on a step for which `made` holds."""
        tainted: set[tuple] = set()
        whole: set[int] = set()
        found = set()
        for step in self.steps:
            touched = any(from_(s) or _key(s) in tainted or s["storage"] in whole for s in step.inputs)
            if touched or (made is not None and made(step)):
                if touched:
                    found.add(step.index)
                for state in step.outputs:
                    tainted.add(_key(state))
                    if not step.is_layout or step.data["kind"] == "copy":
                        whole.add(state["storage"])
        return found

    @cached_property
    def from_mask(self) -> set[int]:
        return self.reached(lambda s: s["name"] == "mask")

    @cached_property
    def from_x(self) -> set[int]:
        return self.reached(lambda s: s["name"] in ("x", "q", "k", "v", "context", "arg0"))

    @cached_property
    def softmaxes(self) -> list[Step]:
        """The steps that normalise: softmax itself, or the exp of one that is written out."""
        found = [s for s in self.steps if s.op in SOFTMAXES and s.index in self.from_x]
        return found or [s for s in self.steps if s.op in ("exp", "exp_", "exp2") and s.index in self.from_x]

    @cached_property
    def kernels(self) -> list[Step]:
        return [s for s in self.steps if s.op in KERNELS]

    @cached_property
    def after_softmax(self) -> set[int]:
        at = {s.index for s in (*self.softmaxes, *self.kernels)}
        return self.reached(lambda _: False, lambda step: step.index in at)

    def is_parameter(self, state: Mapping[str, Any]) -> bool:
        """A parameter, or a tensor that wants gradients and that nothing has made."""
        return state["parameter"] or (state["grad"] and state["storage"] not in self._made)

    @cached_property
    def _made(self) -> set[int]:
        return {state["storage"] for step in self.steps for state in step.outputs}

    @cached_property
    def of_parameters(self) -> set[tuple]:
        """Layouts of parameters, and scaled ones: all that is computed from parameters alone."""
        found: set[tuple] = set()
        for step in self.steps:
            if step.inputs and all(self.is_parameter(s) or _key(s) in found for s in step.inputs):
                found |= {_key(s) for s in step.outputs}
        return found

    @cached_property
    def projections(self) -> list[Step]:
        """Contractions of activations with a parameter."""
        return [
            s
            for s in self.steps
            if s.op in CONTRACTIONS
            and len(s.inputs) > 1
            and any(self.is_parameter(i) or _key(i) in self.of_parameters for i in s.inputs[1:])
        ]

    @cached_property
    def products(self) -> list[Step]:
        """Contractions of activations with activations: queries with keys, weights with values."""
        at = {s.index for s in self.projections}
        return [s for s in self.steps if s.op in CONTRACTIONS and s.index not in at and len(s.inputs) > 1]

    @cached_property
    def scores(self) -> list[Step]:
        """Where queries meet keys: the products before the softmax; where there is none, the first half of all."""
        if self.kernels:
            return self.kernels
        if self.softmaxes:
            return [
                s for s in self.products if s.index not in self.after_softmax and s.index < self.softmaxes[-1].index
            ]
        return [s for i, s in enumerate(self.products) if i % 2 == 0]

    @cached_property
    def mixes(self) -> list[Step]:
        """Where weights meet values."""
        if self.kernels:
            return self.kernels
        at = {s.index for s in self.scores}
        found = [s for s in self.products if s.index not in at]
        if found:
            return found
        joint = [s for s in self.projections if s.index in self.after_softmax and len(s.inputs) > 2]
        return joint or self.scores[-1:]

    @cached_property
    def first_score(self) -> int:
        return self.scores[0].index if self.scores else len(self.steps)

    @cached_property
    def last_mix(self) -> int:
        return self.mixes[-1].index if self.mixes else -1

    @cached_property
    def output_projections(self) -> list[Step]:
        return [s for s in self.projections if s.index > self.first_score and s.index in self.after_softmax]

    @cached_property
    def scalings(self) -> list[Step]:
        """Multiplications and divisions by one number on the way to the softmax or after it."""
        return [s for s in self.steps if s.op in SCALINGS and s.index in self.from_x and _by_scalar(s)]

    @cached_property
    def scale(self) -> float | None:
        """What the products of queries and keys are multiplied with before the softmax; None where it is not told."""
        if not self.scores or not self.scores[0].inputs:
            return None
        first = self.scores[0]
        factor, seen = 1.0, set()
        for step in self.scalings:
            if step.index in self.after_softmax or step.span in seen:
                continue
            seen.add(step.span)
            if len(step.numbers) != 1 or not step.numbers[0]:
                return None
            factor *= 1 / step.numbers[0] if step.op.startswith("div") else step.numbers[0]
        if first.op == "MultiheadAttention":
            return None
        if first.op in KERNELS:
            factor *= float(first.options.get("scale") or first.inputs[0]["shape"][-1] ** -0.5)
        alpha = first.options.get("alpha")
        return factor * (alpha if isinstance(alpha, (int, float)) else 1.0)

    @cached_property
    def scales_by_root(self) -> bool:
        """Whether scores are scaled by 1 / sqrt(d), d the length of the products that they are, and by nothing else."""
        if self.scale is None or not self.scores[0].inputs:
            return False
        return abs(self.scale * self.scores[0].inputs[0]["shape"][-1] ** 0.5 - 1) < 1e-6

    @cached_property
    def softmax_axes(self) -> set[int]:
        """The axes that softmaxes go along, from the last one (-1)."""
        found = set()
        for step in self.softmaxes:
            rank = len(step.inputs[0]["shape"]) if step.inputs else 0
            for dim in (*step.given[1:2], step.options.get("dim")):
                if isinstance(dim, int) and not isinstance(dim, bool):
                    found.add(dim - rank if dim >= 0 else dim)
        return found

    @cached_property
    def normalises_keys(self) -> bool:
        """Whether every softmax is along the last axis, as long as there are keys."""
        if self.kernels:
            return True
        return self.softmax_axes == {-1} and all(s.op in SOFTMAXES for s in self.softmaxes)

    @cached_property
    def values(self) -> list[Step]:
        """The steps that led to the values which are mixed first, the last first."""
        if not self.mixes or not self.mixes[0].inputs:
            return []
        mix = self.mixes[0]
        if mix.op in KERNELS:
            return self.chain(mix.inputs[min(2, len(mix.inputs) - 1)])
        weighed = {_key(o) for s in self.steps if s.index in self.after_softmax for o in s.outputs}
        weighed |= {_key(o) for s in self.softmaxes for o in s.outputs}
        plain = [state for state in mix.inputs if _key(state) not in weighed]
        return self.chain((plain or mix.inputs[-1:])[0])

    @cached_property
    def splits(self) -> list[Step]:
        """Layout steps between the projections and the scores."""
        return [s for s in self.steps if s.is_layout and s.index < self.first_score and s.index in self.from_x]

    @cached_property
    def merges(self) -> list[Step]:
        """Layout steps between the last product and the output projection."""
        end = self.output_projections[-1].index if self.output_projections else len(self.steps)
        return [s for s in self.steps if s.is_layout and self.last_mix < s.index < end]

    @cached_property
    def mask_steps(self) -> list[Step]:
        """Steps at which the given mask meets the scores or the weights."""
        return [
            s
            for s in self.steps
            if s.index in self.from_mask
            and (
                s.op in KERNELS
                or s.op in FILLS
                or (s.index in self.from_x and s.op in ("setitem", "tril", "index_put_"))
            )
        ]

    @cached_property
    def mask_makers(self) -> list[Step]:
        """Steps that turn the given mask before it meets the scores."""
        uses = [s.index for s in self.mask_steps if s.index in self.from_x]
        return [s for s in self.steps if s.index in self.from_mask and s.index < min(uses, default=len(self.steps))]

    @cached_property
    def triangles(self) -> list[Step]:
        """Steps that make a causal mask: tril, triu, comparisons of positions."""
        return [s for s in self.steps if s.op in TRIANGLES and s.index not in self.from_x]

    @cached_property
    def fills(self) -> list[Step]:
        """Steps that put a mask, given or made, over scores."""
        found = [s for s in self.steps if s.op in ("masked_fill", "masked_fill_", "where") and s.index in self.from_x]
        return found or [s for s in self.kernels if s.options.get("is_causal") or "attn_mask" in s.options]


def _key(state: Mapping[str, Any]) -> tuple:
    return state["storage"], state["offset"], tuple(state["shape"]), tuple(state["stride"])


def _by_scalar(step: Step) -> bool:
    sizes = [prod(s["shape"]) for s in step.inputs]
    return len(sizes) == 1 or (len(sizes) == 2 and 1 in sizes)
