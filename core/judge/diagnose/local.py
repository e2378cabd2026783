"""Looks at each stage of a run by itself: how the heads were cut, the scale, the softmax, the mask, the merge.

Every number that a projection makes is drawn at random, and so is met nowhere else: wherever it turns up again, it is
known of which sample, token, head and feature it is. So the meaning of every axis of the operands of the scores is
read off their numbers, whatever the code looks like. What is found here is a proposal, which `match` may prove.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import torch
from torch import Tensor

from core.judge._examine import Examination
from core.judge._expect import with_roles
from core.judge._oracle import Roles, slots_of
from core.judge._roles import hinted
from core.judge.diagnose.locate import place_of
from core.judge.diagnose.places import Places
from core.judge.diagnose.tape import KERNELS, Span, Step

DIMS = ("b", "l", "h", "d")


@dataclass(frozen=True)
class Proposal:
    """A pitfall that a stage of the run looks like, and where."""

    pitfall: str
    span: Span | None


@dataclass(frozen=True)
class Known:
    """Numbers whose places are known: sorted, with the coordinates of each along `dims`."""

    numbers: Tensor
    coordinates: Tensor
    dims: tuple[str, ...]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, tensor: Tensor, dims: tuple[str, ...]) -> "Known":
        flat = tensor.detach().double().flatten()
        numbers, order = flat.sort()
        if numbers.numel() > 1 and (numbers.diff() == 0).any():  # met twice: no number says where it is from
            numbers = numbers.new_full(numbers.shape, float("inf"))
        where = torch.stack(torch.unravel_index(order, tensor.shape), dim=-1)
        return cls(numbers, where, dims, tuple(tensor.shape))

    def places(self, tensor: Tensor) -> Tensor | None:
        """For each element its coordinates here, up to one factor for all; None where one is not here."""
        flat = tensor.detach().double().flatten()
        if not flat.numel() or not flat.isfinite().all():
            return None
        for factor in (1.0, (flat.abs().max() / self.numbers.abs().max()).item()):
            if factor == 0:
                continue
            wanted = flat / factor
            at = torch.searchsorted(self.numbers, wanted).clamp(max=self.numbers.numel() - 1)
            near = torch.where(
                (self.numbers[(at - 1).clamp(min=0)] - wanted).abs() < (self.numbers[at] - wanted).abs(),
                (at - 1).clamp(min=0),
                at,
            )
            if ((self.numbers[near] - wanted).abs() <= 1e-9 * (1 + wanted.abs())).all():
                return self.coordinates[near].reshape(*tensor.shape, len(self.dims))
        return None


def proposals(exam: Examination, places: Places) -> list[Proposal]:
    """What the stages look like, in their order."""
    look = _Look(exam, places)
    found = [
        p
        for stage in (
            look.width,
            look.sources,
            look.split,
            look.groups,
            look.value,
            look.scale,
            look.softmax,
            look.merge,
            look.output,
            look.fill,
        )
        for p in stage()
    ]
    return [p for p in found if p.pitfall == "head-dim-wrong"] or found


class _Look:
    def __init__(self, exam: Examination, places: Places) -> None:
        self.exam, self.places, self.tape = exam, places, places.plain
        assert exam.base is not None
        assert exam.first is not None
        self.sizes, self.inputs, self.made = exam.base.sizes, exam.first.inputs, exam.first.call.out

    @cached_property
    def projected(self) -> dict[str, Known]:
        """q, k and v of (B, L, heads, d_h), with the roles for which the first scores are made of them."""
        if "q" in self.exam.reference.takes:
            swapped = {name: t.transpose(1, 2) for name, t in zip("qkv", self.inputs, strict=False)}
            return {name: Known.of(t, DIMS) for name, t in swapped.items()}
        best: dict[str, Known] = {}
        for roles in self._roles():
            found = self._project(roles)
            if (
                self.left is None
                or found["q"].places(self.left) is not None
                or found["k"].places(self.left) is not None
            ):
                return found
            best = best or found
        return best

    def _roles(self) -> Iterator[Roles]:
        assert self.exam.base is not None
        slots = tuple(s for s in slots_of(self.exam.problem, self.sizes) if not s.merges)
        for shared in (False, True):
            for i, (_, roles) in enumerate(with_roles(self.exam.base.tensors, slots, shared=shared)):
                if i > 20:
                    break
                yield roles

    def _project(self, roles: Roles) -> dict[str, Known]:
        found = {}
        for name in "qkv":
            weight, bias = roles[name]
            x = self.inputs[0] if name == "q" else self.inputs[-1]
            made = torch.nn.functional.linear(x, weight, bias)
            found[name] = Known.of(made.unflatten(-1, (-1, self.sizes["d_h"])), DIMS)
        return found

    @cached_property
    def score(self) -> Step | None:
        return self.tape.scores[0] if self.tape.scores else None

    @cached_property
    def single(self) -> bool:
        """Whether all heads are scored at once."""
        return len(self.tape.scores) == 1 and self.exam.problem not in ("mla", "rope", "online_softmax")

    def _operand(self, step: Step | None, which: int) -> Tensor | None:
        """The numbers of an operand, where a step of the run or the caller made it."""
        if step is None or len(step.inputs) <= which:
            return None
        state = step.inputs[which]
        chain = self.tape.chain(state)
        if chain:
            return next((o.get("value") for o in chain[0].outputs if _same_place(o, state)), None)
        given = dict(zip(self.exam.reference.takes, self.inputs, strict=False))
        return given.get(state["name"] or "")

    @cached_property
    def left(self) -> Tensor | None:
        return self._operand(self.score, _operands(self.score)[0]) if self.score else None

    @cached_property
    def right(self) -> Tensor | None:
        return self._operand(self.score, _operands(self.score)[1]) if self.score else None

    def width(self) -> Iterator[Proposal]:
        """How many features a product of a query and a key adds up."""
        score, d_h = self.score, self.sizes["d_h"]
        if score is None or self.exam.problem in ("mla", "online_softmax") or not score.inputs:
            return
        letters = _letters(score, len(score.inputs[0]["shape"]), len(score.inputs[-1]["shape"]))
        if letters is None or score.op in ("baddbmm", "addmm"):
            return
        own = letters[0].partition("|")[0]
        summed = [n for i, n in enumerate(score.inputs[0]["shape"]) if _part(*letters, i) == "summed" and i < len(own)]
        wide = {self.sizes["d_model"], self.sizes["d_model"] // self.sizes["H_kv"]} - {d_h}
        if len(summed) == 1 and summed[0] in wide and len(score.inputs[0]["shape"]) > 2:
            yield Proposal("head-dim-wrong", place_of(self.places, "head-dim-wrong"))

    def sources(self) -> Iterator[Proposal]:
        """Whose projections the keys and values are: the context's."""
        if self.exam.problem != "cross":
            return
        for step in self.tape.projections:
            given = step.inputs[0]["name"]
            told = {r for i in step.inputs[1:] if i["parameter"] and i["name"] for r in hinted(i["name"])}
            if step.index < self.tape.first_score and (
                (given == "x" and told & {"k", "v"}) or (given == "context" and "q" in told)
            ):
                yield Proposal("cross-roles-swapped", step.span)
                return

    def split(self) -> Iterator[Proposal]:
        if not self.single or self.score is None or self.left is None or not self.projected:
            return
        letters = _letters(self.score, self.left.ndim, self.right.ndim if self.right is not None else self.left.ndim)
        if letters is None:
            return
        left, right = letters
        for name, tensor, own, other in (("q", self.left, left, right), ("k", self.right, right, left)):
            if tensor is None:
                continue
            source = "q" if self.projected["q"].places(tensor) is not None else "k"
            at = self.projected[source].places(tensor)
            if at is None:
                continue
            id = self._named(at, own, other, self.projected[source], named=name)
            if id:
                yield Proposal(id, place_of(self.places, id))
                return

    def _named(self, at: Tensor, own: str, other: str, known: Known, *, named: str) -> str | None:
        """What is wrong with an operand of the scores whose elements come from `at`."""
        axes = {dim: _varies(at[..., i]) for i, dim in enumerate(known.dims)}
        mixed = any(axes[a] & axes[b] for i, a in enumerate(DIMS) for b in DIMS[i + 1 :] if {a, b} != {"b", "h"})
        mixed = mixed or len(axes["l"]) > 1 or len(axes["d"]) > 1
        if not mixed:
            part = {dim: {_part(own, other, axis) for axis in a} for dim, a in axes.items()}
            if "row" in part["h"] and "batch" in part["l"]:
                return "split-no-transpose" if self.tape.scores[0].op != "einsum" or named == "q" else None
            if "summed" in part["l"] or part["b"] & {"row", "summed"}:
                return "split-wrong-permute" if named == "q" else "key-wrong-transpose"
            return None
        flat = torch.zeros_like(at[..., 0])
        for size, i in zip(known.shape, range(len(known.dims)), strict=True):
            flat = flat * size + at[..., i]
        if torch.equal(flat.flatten(), torch.arange(flat.numel())) or self._direct(flat, own, other):
            return "split-view-direct" if flat.ndim > 3 else "split-fold-into-batch"
        features = at[..., 2] * known.shape[3] + at[..., 3]
        pair = sorted(axes["h"] | axes["d"])
        if len(axes["l"]) <= 1 and len(axes["b"]) <= 1 and len(pair) == 2:
            heads, width = known.shape[2], known.shape[3]
            for a, b in (pair, pair[::-1]):
                shape = [1] * flat.ndim
                shape[a] = flat.shape[a]
                along_a = torch.arange(flat.shape[a]).reshape(shape)
                shape = [1] * flat.ndim
                shape[b] = flat.shape[b]
                along_b = torch.arange(flat.shape[b]).reshape(shape)
                if (
                    flat.shape[a] == heads
                    and flat.shape[b] == width
                    and torch.equal(features, (along_b * heads + along_a).expand_as(features))
                ):
                    return "split-swapped-factors"
        return None

    def _direct(self, flat: Tensor, own: str, other: str) -> bool:
        """Whether the numbers lie in the projection's own order, once the transpose for the product is taken back."""
        return flat.ndim > 1 and torch.equal(flat.transpose(-2, -1).flatten(), torch.arange(flat.numel()))

    def groups(self) -> Iterator[Proposal]:
        """How kv heads are handed to query heads."""
        H, H_kv = self.sizes["H"], self.sizes["H_kv"]
        means = [s for s in self.tape.named("mean") if s.index < self.tape.first_score and s.index in self.tape.from_x]
        if means and self.exam.problem in ("gqa", "mqa", "kv_cache"):
            yield Proposal("gqa-kv-averaged", means[0].span)
            return
        if self.exam.problem not in ("gqa", "kv_cache") or not self.single or self.right is None or not self.projected:
            return
        at = self.projected["k"].places(self.right)
        if at is None:
            return
        heads, tokens = at[..., 2], at[..., 1]
        axes = _varies(heads)
        if len(axes) == 1:
            axis = next(iter(axes))
            index = heads.movedim(axis, 0).flatten(1)[:, 0]
            if axis in _varies(tokens):
                yield Proposal("gqa-repeat-wrong-axis", place_of(self.places, "gqa-repeat-wrong-axis"))
            elif len(index) == H and torch.equal(index, torch.arange(H) % H_kv):
                yield Proposal("gqa-repeat-order", place_of(self.places, "gqa-repeat-order"))

    def value(self) -> Iterator[Proposal]:
        if not self.tape.mixes or not self.projected or "v" not in self.projected:
            return
        mix = self.tape.mixes[0]
        which = 2 if mix.op == "scaled_dot_product_attention" else None
        states = [mix.inputs[which]] if which is not None and len(mix.inputs) > which else list(mix.inputs)
        for i, _ in enumerate(states):
            tensor = self._operand(mix, which if which is not None else i)
            if tensor is None or not tensor.is_floating_point():
                continue
            if self.projected["k"].places(tensor) is not None and self.projected["v"].places(tensor) is None:
                yield Proposal("value-is-key", place_of(self.places, "value-is-key"))
                return

    def scale(self) -> Iterator[Proposal]:
        factor, d, D = self.tape.scale, self.sizes["d_h"], self.sizes["d_model"]
        after = [s for s in self.tape.scalings if s.index in self.tape.after_softmax]
        if after and (factor is None or abs(factor - 1) < 1e-9):
            yield Proposal("scale-after-softmax", place_of(self.places, "scale-after-softmax"))
            return
        if factor is None or abs(factor * d**0.5 - 1) < 1e-6:
            return
        twice = len([s for s in self.tape.scalings if s.index not in self.tape.after_softmax]) > 1
        known = {
            1.0: "scale-missing", D**-0.5: "scale-by-d-model", d**0.5: "scale-multiplied", float(d): "scale-multiplied",
            1 / d: "scale-twice" if twice or self.tape.kernels else "scale-no-sqrt", 1 / D: "scale-by-d-model",
        }  # fmt: skip
        id = next((id for value, id in known.items() if abs(factor / value - 1) < 1e-6), "scale-wrong-quantity")
        yield Proposal(id, place_of(self.places, id))

    def softmax(self) -> Iterator[Proposal]:
        tape = self.tape
        if tape.kernels or self.exam.problem == "online_softmax":
            return
        if not tape.softmaxes:
            yield Proposal("softmax-missing", place_of(self.places, "softmax-missing"))
            return
        sums = [s for s in tape.steps if s.op == "sum" and s.index > tape.softmaxes[0].index]
        if any(isinstance(g, list) and len(g) > 1 for s in sums[:1] for g in (*s.given[1:], s.options.get("dim"))):
            yield Proposal("softmax-flattened", sums[0].span)
        rank = len(tape.softmaxes[0].inputs[0]["shape"])
        ids = {-2: "softmax-over-queries", -3: "softmax-over-heads" if rank == 4 else "softmax-over-batch"}
        ids[-4] = "softmax-over-batch"
        for axis in tape.softmax_axes:
            if ids.get(axis) and tape.softmaxes[0].op != "exp":
                yield Proposal(ids[axis], place_of(self.places, ids[axis]))

    def merge(self) -> Iterator[Proposal]:
        """Where the numbers of the last product go before the output projection."""
        tape = self.tape
        if len(tape.mixes) != 1 or tape.mixes[0].value is None or self.left is None or not self.projected:
            return
        mixed = tape.mixes[0].value
        last = tape.output_projections[0] if tape.output_projections else None
        merged = self._operand(last, 0) if last is not None else self.made
        if merged is None or tuple(merged.shape[:2]) != (self.sizes["B"], self.sizes["L"]) or merged.ndim != 3:
            return
        dims = self._mixed_dims(mixed)
        if dims is None:
            return
        known = Known.of(mixed, dims)
        at = known.places(merged)
        if at is None:
            return
        by = {dim: at[..., i] for i, dim in enumerate(dims)}
        if "n" in by:  # grouped: the kv heads, and the query heads of each
            by["h"] = by["n"] * mixed.shape[dims.index("g")] + by["g"]
        axes = {dim: _varies(c) for dim, c in by.items()}
        width = mixed.shape[dims.index("d")]
        right = by["h"] * width + by["d"] if "h" in by else by["d"]
        if axes["b"] <= {0} and axes["l"] <= {1} and torch.equal(right, torch.arange(merged.shape[2]).expand_as(right)):
            return
        flat = torch.zeros_like(at[..., 0])
        for i, size in enumerate(mixed.shape):
            flat = flat * size + at[..., i]
        heads = min(dims.index(dim) for dim in ("h", "n", "g") if dim in dims)
        straight = torch.equal(flat.flatten(), torch.arange(flat.numel())) and heads < dims.index("l")
        id = "merge-no-transpose" if straight else "merge-wrong-permute"
        yield Proposal(id, place_of(self.places, id))

    def _mixed_dims(self, mixed: Tensor) -> tuple[str, ...] | None:
        """What the axes of the product of weights and values are, by their sizes, which all differ."""
        sizes = {"b": self.sizes["B"], "l": self.sizes["L"], "h": self.sizes["H"], "d": self.sizes["d_h"]}
        if mixed.ndim == 5:
            sizes |= {"n": self.sizes["H_kv"], "g": self.sizes["H"] // self.sizes["H_kv"]}
            del sizes["h"]
        named = tuple(next((dim for dim, size in sizes.items() if size == n), "") for n in mixed.shape)
        return named if sorted(named) == sorted(sizes) else None

    def fill(self) -> Iterator[Proposal]:
        """What a mask that the code makes itself writes over hidden scores."""
        fills = [s for s in self.tape.fills if s.op in ("masked_fill", "masked_fill_")]
        id = filled_with(fills)
        if id:
            yield Proposal(id, fills[0].span)

    def output(self) -> Iterator[Proposal]:
        tape, H, d = self.tape, self.sizes["H"], self.sizes["d_h"]
        for step in tape.output_projections:
            weights = [i for i in step.inputs[1:] if i["parameter"] or i["grad"]]
            if (
                weights
                and prod(weights[0]["shape"]) in (d * d, H * d * d)
                and self.exam.reference.arguments is not None
            ):
                yield Proposal("output-projection-per-head", step.span)
                return
        averaged = [k for k in tape.kernels if k.op == "MultiheadAttention" and len(k.outputs) > 1]
        for kernel in averaged:
            weights = kernel.outputs[1]
            read = any(
                _same_place(i, weights)
                for s in tape.steps
                if s.index > kernel.index and s.op != "detach"
                for i in s.inputs
            )
            if len(weights["shape"]) == 3 and read:
                yield Proposal("mha-api-averaged", kernel.span)
                return
        sums = [s for s in tape.steps if s.op in ("mean", "sum", "amax") and s.index > tape.last_mix]
        ends = tape.output_projections[0].index if tape.output_projections else len(tape.steps)
        if any(s.index < ends for s in sums) and self.exam.reference.arguments is not None:
            yield Proposal("merge-mean-heads", sums[0].span)


def filled_with(fills: Sequence[Step]) -> str:
    """The pitfall of a number that hides no score; "" where it does, or none is written."""
    for step in fills:
        numbers = [float(g) for g in (*step.given[1:], *step.options.values()) if isinstance(g, (int, float))]
        if numbers and numbers[-1] > -100:
            return "mask-filled-with-zero" if numbers[-1] == 0 else "mask-tiny-fill"
    return ""


def _operands(step: Step) -> tuple[int, int]:
    return (1, 2) if step.op in ("baddbmm", "addmm") else (0, 1)


def _same_place(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return all(a[key] == b[key] for key in ("storage", "offset", "shape", "stride"))


def _varies(coordinate: Tensor) -> set[int]:
    """The axes along which a coordinate changes."""
    return {a for a in range(coordinate.ndim) if (coordinate != coordinate.narrow(a, 0, 1)).any()}


def _letters(step: Step, left: int, right: int) -> tuple[str, str] | None:
    """Letters for the axes of the two operands of a product: those that both have are summed over or go along."""
    if step.op in KERNELS:
        return "BHqd", "BHkd"
    if step.op == "einsum":
        equation = step.given[0]
        if not isinstance(equation, str) or "." in equation or equation.count(",") != 1:
            return None
        given, _, result = equation.replace(" ", "").partition("->")
        one, other = given.split(",")
        return one + "|" + result, other + "|" + result
    lead = "abcdefg"
    return lead[: left - 2] + "mk", lead[: right - 2] + "kn"


def _part(own: str, other: str, axis: int | None) -> str:
    """Whether an axis is a row of the scores, goes along in both operands, or is summed over."""
    if axis is None:
        return ""
    (mine, _, result), theirs = own.partition("|"), other.partition("|")[0]
    if axis >= len(mine):
        return ""
    letter = mine[axis]
    if letter not in theirs:
        return "row"
    if result:
        return "batch" if letter in result else "summed"
    return "summed" if letter in ("k", "d") else "batch"
