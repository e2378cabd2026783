"""The checks: what a submission is tried on, in order, and what came of it.

An `Examination`, one class since each check goes on from what those before it found, runs them and keeps the evidence
that the diagnosis goes on from. A check that needs numbers is left out where there are none: a module that raises on
its first call is not asked for gradients.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from core.judge import _cases
from core.judge._compare import TOLERANCE, Fault, difference, fault_of, raised
from core.judge._expect import find_roles, likeliest, output
from core.judge._oracle import Oracle, Roles, right, slots_of
from core.judge._roles import Assignment, Slot, take
from core.judge._subject import Call, Made, Subject

_FLOAT32 = 2e-6  # relative: what a float32 in between leaves
_LARGE = 60.0  # times the inputs: exp of the scores overflows even in float64


@dataclass(frozen=True)
class Check:
    """One thing that was tried; `case` says on what."""

    id: str
    fault: Fault | None = None
    case: str = ""

    @property
    def passed(self) -> bool:
        return self.fault is None


@dataclass
class Trial:
    """A call and what it should have given; `expected` is None where the weights' roles are not known."""

    case: str
    sizes: _cases.Sizes
    inputs: list[Any]
    mask: Tensor | None
    call: Call
    expected: Tensor | None = None
    fault: Fault | None = None


@dataclass
class Examination:
    """Runs the checks on one submission. `checks` are their results, the other fields the evidence."""

    subject: Subject
    problem: str
    checks: list[Check] = field(default_factory=list)
    base: Made | None = None
    first: Trial | None = None
    assignment: Assignment | None = None
    masked: list[Trial] = field(default_factory=list)
    roles_tried: dict[tuple[Slot, ...], list[Roles]] = field(default_factory=dict)
    """The ways that a diagnosis tries, of the roles that a variant has."""
    tolerance: float = TOLERANCE
    """Wider where the code computes something in float32 on purpose, as softmaxes of half precision code do."""
    only_first: bool = False
    """Whether more was returned than the output, which was noted and is left out from then on."""
    quiet: bool = False
    """Whether dropout is taken out of a submission that is not the same twice, so that its numbers can be looked at."""

    def run(self, source: str) -> None:
        error = self.subject.load(source)
        if self._add("loads", raised(error) if error else None):
            return
        self.base = self.subject.make(_cases.generic())
        if self.base.error is not None:
            self._add("builds", raised(self.base.error))
            self._bad_arguments()
            return
        self._add("builds", None)
        works = self._runs()
        if works:
            self._repeats()
            self._numbers()
        self._state()
        if not works:
            return
        self._bad_arguments()
        self._masks()
        self._future()
        if self.assignment is not None:
            self._sizes()
            self._reuse()
        for check in (
            self._large, self._low, self._gradients, self._training, self._half, self._device, self._backend,
            self._inputs, self._chunks,
        ):  # fmt: skip
            check()

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def reference(self) -> Any:
        return self.subject.reference

    def failed(self, id: str) -> Check | None:
        """The check called `id`, if it failed."""
        return next((check for check in self.checks if check.id == id and not check.passed), None)

    def call(self, made: Made, inputs: list[Any], mask: Tensor | None = None, **options: Any) -> Call:
        options.setdefault("quiet", self.quiet)
        call = self.subject.call(made, inputs, mask, **options)
        if self.only_first and call.raw.get("kind") == "tuple" and call.out is not None:
            call.raw |= {"kind": "tensor", "out": call.out}
        return call

    def expected(self, made: Made, inputs: list[Any], mask: Tensor | None = None) -> Tensor | None:
        """What the reference gives with the weights that were found; None where it refuses, or none were found."""
        oracle = self.oracle(made)
        return None if oracle is None else output(oracle, inputs, mask)

    def oracle(self, made: Made, dtype: torch.dtype = torch.float64) -> Oracle | None:
        if self.assignment is None:
            return None
        roles = take(self.assignment, made.tensors, slots_of(self.problem, made.sizes))
        if roles is None:
            return None
        oracle = right(self.problem, made.sizes, dtype=dtype)
        return oracle if oracle.load(roles) else None

    def _add(self, id: str, fault: Fault | None, case: str = "") -> bool:
        """Note a check's result; whether it failed."""
        self.checks.append(Check(id, fault, case))
        return fault is not None

    def _runs(self) -> bool:
        """The first call, on sizes that all differ, is traced. Whether it gave an output of the right shape."""
        base = self.base
        assert base is not None
        inputs = self.subject.draw.inputs(self.reference, base.sizes)
        call = self.call(base, inputs, trace=True)
        self.first = Trial("first", base.sizes, inputs, None, call)
        shape = torch.empty(_cases.output_shape(self.reference, base.sizes))
        fault = fault_of(call, shape, cached=self.reference.cached)
        if fault is not None and fault.reason == "numbers":
            fault = None
        self._add("runs", fault)
        self.first.fault = fault
        self.only_first = fault is not None and fault.reason == "returns" and not self.reference.cached
        if self.only_first and call.out is not None:
            call.raw |= {"kind": "tensor", "out": call.out}
        return fault is None or (fault.reason in ("returns", "nan") and _fits(call.out, shape))

    def _repeats(self) -> None:
        """In eval mode, the same call gives the same numbers; else chance is taken out and we go on."""
        assert self.base is not None
        assert self.first is not None
        first, again = (self.call(self.base, self.first.inputs, seed=seed) for seed in (1, 2))
        if first.out is None or again.out is None:
            return
        lost = ~first.out.isfinite() & ~again.out.isfinite() if first.out.shape == again.out.shape else None
        one, other = (t if lost is None else t.masked_fill(lost, 0.0) for t in (first.out, again.out))
        fault = difference(one, other)
        if self._add("eval", fault and replace(fault, reason="changes")):
            self.quiet = True
            self.first.call.raw |= self.call(self.base, self.first.inputs).raw

    def _numbers(self) -> None:
        """Looks for the roles with which the reference gives this output."""
        first, base = self.first, self.base
        assert first is not None
        assert base is not None
        assert first.call.out is not None
        if self.reference.arguments is None:
            self.assignment = {}
        else:
            self.assignment = find_roles(self.problem, base.tensors, base.sizes, first.inputs, first.call.out)
            if self.assignment is None and _in_float32(first.call.raw.get("trace", [])):
                self.tolerance = _FLOAT32
                self.assignment = find_roles(
                    self.problem, base.tensors, base.sizes, first.inputs, first.call.out, tolerance=_FLOAT32
                )
        expected = self.expected(base, first.inputs)
        if expected is None:
            expected = likeliest(self.problem, base, first.inputs)
            self._add("numbers", Fault("no-roles") if expected is None else difference(first.call.out, expected))
            return
        first.expected = expected
        first.fault = difference(first.call.out, expected, self.tolerance)
        if self._add("numbers", first.fault) and self.reference.arguments is None:
            self.assignment = None

    def _masks(self) -> None:
        base, draw = self.base, self.subject.draw
        assert base is not None
        for name, mask in draw.masks(self.reference, base.sizes).items():
            inputs = draw.inputs(self.reference, base.sizes)
            trial = Trial(name, base.sizes, inputs, mask, self.call(base, inputs, mask))
            self.masked.append(trial)
            known = self.reference.arguments is None or self.assignment is not None
            if known:
                oracle = self.oracle(base) or right(self.problem, base.sizes)
                trial.expected = output(oracle, inputs, mask)
                assert trial.expected is not None
                trial.fault = fault_of(trial.call, trial.expected, tolerance=self.tolerance)
            elif trial.call.error is not None:
                trial.fault = raised(trial.call.error)
        worst = next((t for t in self.masked if t.fault is not None), None)
        if self.masked and (self.assignment is not None or worst):
            self._add("masks", worst.fault if worst else None, worst.case if worst else "")
        if self.masked and worst is None and self.assignment is not None:
            self._hidden_key()

    def _hidden_key(self) -> None:
        """What a mask hides has no influence."""
        trial = next(t for t in self.masked if t.case == "padding")
        assert self.base is not None
        assert trial.mask is not None
        assert trial.call.out is not None
        at = 0 if self.reference.takes == ("x",) else -1
        source = trial.inputs[at].clone()
        hidden = ~trial.mask[:, 0, 0, :]  # (B, Lk)
        source[hidden.unsqueeze(1).expand(source.shape[:-1]) if source.ndim == 4 else hidden] += 1.0
        inputs = [*trial.inputs]
        inputs[at] = source
        call = self.call(self.base, inputs, trial.mask)
        if call.out is None:
            return
        seen = ~hidden if at == 0 else torch.ones(source.shape[0], call.out.shape[1], dtype=torch.bool)
        out, before = call.out, trial.call.out
        self._add("hidden", difference(out[seen], before[seen]) if at == 0 else difference(out, before))

    def _future(self) -> None:
        """Where the problem is causal, another last token leaves what comes before it as it is."""
        base = self.base
        assert base is not None
        if self.problem not in ("causal", "sliding_window") and not self.reference.cached:
            return
        (x,) = self.subject.draw.inputs(self.reference, base.sizes)
        other = torch.cat((x[:, :-1], x[:, -1:] + 1.0), dim=1)
        one, two = self.call(base, [x]).out, self.call(base, [other]).out
        if one is not None and two is not None and one.shape == two.shape == x.shape:
            fault = difference(two[:, :-1], one[:, :-1], self.tolerance)
            self._add("future", fault)

    def _sizes(self) -> None:
        worst: tuple[Fault, str] | None = None
        for name, sizes in _cases.others(self.reference):
            made = self.subject.make(sizes)
            inputs = self.subject.draw.inputs(self.reference, sizes)
            fault = raised(made.error) if made.error else self._fault(made, inputs)
            if fault is not None and worst is None:
                worst = fault, name
        self._add("sizes", worst and worst[0], worst[1] if worst else "")

    def _reuse(self) -> None:
        """One module, inputs of several sizes after one another."""
        base = self.base
        assert base is not None
        made = self.subject.make(base.sizes)
        worst: tuple[Fault, str] | None = None
        for B, L in ((4, 5), (2, 9), (3, 2), (1, 300)):
            sizes = _cases.generic(B=B, L=L)
            fault = self._fault(made, self.subject.draw.inputs(self.reference, sizes))
            if fault is not None and worst is None:
                worst = fault, f"B = {B}, L = {L}"
        self._add("reuse", worst and worst[0], worst[1] if worst else "")

    def _fault(self, made: Made, inputs: list[Any], *, tolerance: float = 0.0) -> Fault | None:
        expected = self.expected(made, inputs)
        if expected is None:
            return Fault("no-roles")
        tolerance = max(tolerance, self.tolerance)
        return fault_of(self.call(made, inputs), expected, tolerance=tolerance, cached=self.reference.cached)

    def _bad_arguments(self) -> None:
        """Sizes that do not divide have to be refused, at the latest by the first call."""
        if self.reference.arguments is None:
            return
        bad = {"arguments": ("d_model = 10, n_heads = 4", {**_cases.generic(), "d_model": 10, "H": 4, "H_kv": 2})}
        if "n_kv_heads" in self.reference.arguments:
            bad["groups"] = ("n_heads = 6, n_kv_heads = 4", {**_cases.generic(), "H_kv": 4})
        for id, (name, sizes) in bad.items():
            made = self.subject.make(sizes)
            accepted = made.error is None and (
                self.subject.call(made, self.subject.draw.inputs(self.reference, sizes)).error is None
            )
            self._add(id, Fault("accepts") if accepted else None, name if accepted else "")

    def _state(self) -> None:
        if self.base is not None and self.base.error is None and self.reference.arguments is not None:
            hidden = self.base.hidden
            self._add("state", Fault("hidden", {"names": ", ".join(hidden[:4])}) if hidden else None)

    def _large(self) -> None:
        """Scores of some thousands: a softmax that does not take the maximum off overflows."""
        base = self.base
        assert base is not None
        inputs = [
            t * _LARGE if isinstance(t, Tensor) else t for t in self.subject.draw.inputs(self.reference, base.sizes)
        ]
        call = self.call(base, inputs)
        if call.out is not None and not call.out.isfinite().all():
            self._add("large", difference(call.out, torch.zeros_like(call.out)))
        elif self.assignment is not None:
            self._add("large", self._fault(base, inputs, tolerance=1e-7))

    def _low(self) -> None:
        """Scores far below zero, of functions: a finite minus infinity, or a maximum that starts at 0, shows."""
        base = self.base
        assert base is not None
        if "q" not in self.reference.takes:
            return
        q, k, *others = self.subject.draw.inputs(self.reference, base.sizes)
        inputs = [q.abs() * 15 + 80, -k.abs() * 15 - 80, *others]  # scores below -10,000
        mask = self.subject.draw.masks(self.reference, base.sizes).get("random")
        expected = output(right(self.problem, base.sizes), inputs, mask)
        if expected is not None and not any(map(self.failed, ("numbers", "masks", "large"))):
            self._add("low", fault_of(self.call(base, inputs, mask), expected, tolerance=1e-5))

    def _gradients(self) -> None:
        base = self.base
        assert base is not None
        inputs = self.subject.draw.inputs(self.reference, base.sizes)
        call = self.call(base, inputs, grad=True)
        if call.error is not None:
            self._add("gradients", raised(call.error))
            return
        grads = call.raw.get("grads") or {}
        missing = [name for name, grad in grads.items() if grad is None]
        fault = Fault("no-gradient", {"names": ", ".join(missing[:4])}) if missing else None
        oracle = self.oracle(base)
        if fault is None and oracle is not None:
            leaves = [t.clone().requires_grad_() if isinstance(t, Tensor) else t for t in inputs]
            out = oracle(*leaves)
            out = out[0] if isinstance(out, tuple) else out
            total = (out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)).sum()
            found = torch.autograd.grad(total, [t for t in leaves if isinstance(t, Tensor)])
            for i, expected in enumerate(found):
                grad = grads.get(f"input {i}")
                fault = fault or (
                    difference(grad, expected, max(1e-7, 10 * self.tolerance)) if grad is not None else None
                )
        masked = self.subject.draw.masks(self.reference, base.sizes).get("random")
        if fault is None and masked is not None and not self.failed("masks"):
            error = self.call(base, inputs, masked, grad=True).error
            fault = raised(error) if error else None
        self._add("gradients", fault)

    def _training(self) -> None:
        """In training mode it runs too; dropout may change its numbers, and nothing else."""
        base = self.base
        assert base is not None
        if self.reference.arguments is None:
            return
        made = self.subject.make(base.sizes, training=True, values=base.tensors.values)
        inputs = self.subject.draw.inputs(self.reference, base.sizes)
        call = self.call(made, inputs, trace=True, quiet=False)
        fault = raised(call.error) if call.error else None
        if fault is None and _drops_scores(call.raw["trace"]):
            fault = Fault("drops-scores")
        expected = self.expected(base, inputs)
        if fault is None and expected is not None:
            call = self.call(made, inputs, quiet=True)
            fault = fault_of(call, expected, tolerance=self.tolerance, cached=self.reference.cached)
        self._add("training", fault)

    def _half(self) -> None:
        """float16 and bfloat16 run, and stay near the numbers of float64."""
        base = self.base
        assert base is not None
        masks = self.subject.draw.masks(self.reference, base.sizes)
        worst: tuple[Fault, str] | None = None
        for dtype, tolerance in (("float16", 0.02), ("bfloat16", 0.1)):
            made = self.subject.make(base.sizes, dtype=dtype, values=base.tensors.values)
            if made.error is not None:
                worst = worst or (raised(made.error), dtype)
                continue
            inputs = self.subject.draw.inputs(self.reference, base.sizes)
            halves = [t.to(getattr(torch, dtype)) if isinstance(t, Tensor) else t for t in inputs]
            for mask in (None, masks.get("random")):
                call = self.call(made, halves, mask)
                expected = self.expected(base, inputs, mask)
                fault = raised(call.error) if call.error else None
                if fault is None and call.out is not None and call.out.dtype != getattr(torch, dtype):
                    fault = Fault("dtype", {"found": str(call.out.dtype).removeprefix("torch."), "expected": dtype})
                if fault is None and expected is not None:
                    fault = fault_of(call, expected, tolerance=tolerance, cached=self.reference.cached)
                if fault is not None and worst is None:
                    worst = fault, dtype if mask is None else f"{dtype}, mask"
        self._add("half", worst and worst[0], worst[1] if worst else "")

    def _device(self) -> None:
        """On a device that is not the CPU, where tensors have no numbers; only what is said of devices counts."""
        base = self.base
        assert base is not None
        if base.hidden:  # which cannot be moved
            return
        made = self.subject.make(base.sizes, device="meta")
        inputs = self.subject.draw.inputs(self.reference, base.sizes)
        mask = self.subject.draw.masks(self.reference, base.sizes).get("random")
        error = made.error or self.subject.call(made, inputs, mask, device="meta").error
        told = error is not None and error["type"] == "RuntimeError" and "device" in error["text"]
        self._add("device", raised(error) if told and error else None)

    def _backend(self) -> None:
        """Code around F.scaled_dot_product_attention must not rest on the kernel that torch chooses."""
        base, first = self.base, self.first
        assert base is not None
        assert first is not None
        if not any(step["op"] == "scaled_dot_product_attention" for step in first.call.raw.get("trace", [])):
            return
        inputs = self.subject.draw.inputs(self.reference, base.sizes)
        mask = self.subject.draw.masks(self.reference, base.sizes).get("random")
        if self.call(base, inputs, mask).error is None:
            error = self.call(base, inputs, mask, backend="math").error
            self._add("backend", raised(error) if error else None)

    def _inputs(self) -> None:
        """What it is given is as it was."""
        base = self.base
        assert base is not None
        inputs = self.subject.draw.inputs(self.reference, base.sizes)
        mask = self.subject.draw.masks(self.reference, base.sizes).get("random")
        call = self.call(base, inputs, mask, after=True)
        if call.error is None:
            before = [t for t in (*inputs, mask) if isinstance(t, Tensor)]
            written = any(not torch.equal(a, b) for a, b in zip(before, call.raw["after"], strict=True))
            self._add("inputs", Fault("written") if written else None)

    def _chunks(self) -> None:
        if self.reference.cached:
            from core.judge._cached import chunked

            for check in chunked(self):
                self.checks.append(check)


def _in_float32(steps: list[dict[str, Any]]) -> bool:
    """Whether a step of a float64 run makes a float32."""
    return any(state["dtype"] == "float32" for step in steps for state in step["outputs"])


def _drops_scores(steps: list[dict[str, Any]]) -> bool:
    """Whether dropout falls on scores that go into a softmax afterwards."""
    from core.judge.diagnose.tape import Tape

    tape = Tape(steps)
    first = tape.softmaxes[0].index if tape.softmaxes else -1
    return any(tape.first_score < step.index < first for step in tape.named("dropout"))


def _fits(out: Tensor | None, shape: Tensor) -> bool:
    return out is not None and out.shape == shape.shape
