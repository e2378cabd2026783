"""Every axis of differently written attention, against the truth written above each statement (`#:`).

The truth is in the code by construction; sizes collide on purpose, so that nothing can be told from them.
"""

import ast
import importlib.util
import inspect
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import nn

from core.trace import Trace, record


@dataclass(frozen=True)
class Sizes:
    B: int
    L: int
    Lk: int
    H: int
    H_kv: int
    d_h: int

    @property
    def d_model(self) -> int:
        return self.H * self.d_h


SIZES = {
    "generic": Sizes(B=2, L=5, Lk=7, H=6, H_kv=2, d_h=4),
    "H=L": Sizes(B=2, L=4, Lk=6, H=4, H_kv=2, d_h=6),
    "d_h=H": Sizes(B=2, L=5, Lk=3, H=4, H_kv=2, d_h=4),
    "all equal": Sizes(B=4, L=4, Lk=4, H=4, H_kv=2, d_h=4),
    "B=H_kv=G": Sizes(B=2, L=2, Lk=2, H=4, H_kv=2, d_h=2),
    "B=1": Sizes(B=1, L=6, Lk=4, H=4, H_kv=2, d_h=2),
    "L=1": Sizes(B=3, L=1, Lk=4, H=4, H_kv=2, d_h=2),
    "B=L=1": Sizes(B=1, L=1, Lk=2, H=4, H_kv=2, d_h=6),
    "H=3": Sizes(B=3, L=3, Lk=5, H=3, H_kv=1, d_h=6),
    "d_h=3": Sizes(B=2, L=3, Lk=3, H=6, H_kv=3, d_h=3),
}


def load(name):
    path = Path(__file__).parent / "styles" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"styles_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module)["truth"] = truth(path)
    return module


def truth(path):
    """For each line of a file of styles: the number of its statement and the axes of the statement's steps."""
    text = path.read_text(encoding="utf-8")
    said = {
        number: [[out.split() for out in step.split(";")] for step in line.split("#:")[1].split(">")]
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip().startswith("#:")
    }
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and node.lineno - 1 in said:
            steps = said.pop(node.lineno - 1)
            last = node.body[0].lineno - 1 if isinstance(node, (ast.For, ast.If)) else node.end_lineno
            found |= dict.fromkeys(range(node.lineno, last + 1), (node.lineno, steps))
    assert not said, said
    return found


def styles():
    for file in ("separate", "positions", "fused", "functional", "grouped"):
        module = load(file)
        for name, style in vars(module).items():
            mine = getattr(style, "__module__", None) == module.__name__
            if mine and hasattr(style, "axes") and (inspect.isfunction(style) or hasattr(style, "forward")):
                if inspect.isclass(style) and "forward" not in vars(style):
                    continue
                style.truth = module.truth
                yield name, style


STYLES = dict(styles())


def run(style, s: Sizes) -> Trace:
    generator = torch.Generator().manual_seed(0)
    function = style(s) if inspect.isclass(style) else style
    inputs = {}
    for name, axes in {**style.axes, **getattr(style, "more", {})}.items():
        if isinstance(function, nn.Module) and hasattr(function, name):
            continue  # a parameter
        shape = [_size(token, s) for token in axes.split()]
        if name in getattr(style, "longer", ()):
            shape[2] = s.Lk + s.L
        values = torch.rand(shape, generator=generator)
        inputs[name] = (values * 7).long() if name in getattr(style, "ints", ()) else values
    inputs |= getattr(style, "plain", lambda s: {})(s)
    wanted = getattr(style, "sizes", ("H",))
    given = {n: getattr(s, n) for n in wanted}
    if getattr(style, "one_kv", False) and "H_kv" in given:
        given["H_kv"] = 1
    if "d_h" in " ".join(style.axes.values()) or getattr(style, "sizes", None) == ("H", "d_model"):
        given["d_h"] = s.d_h
    return record(function, axes=style.axes, sizes=given, **inputs)


def _size(token, s):
    if token == "1":
        return 1
    if token == "qkv":
        return 3
    total = 1
    for part in token.split("·"):
        total *= getattr(s, part)
    return total


def _at_size(name, size):
    """`L/1`: L, or no name where a tensor made on the spot has size 1 there."""
    return name if "/" not in name else name.split("/")[size == 1]


def test_there_are_many_styles():
    assert len(STYLES) >= 60


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", STYLES)
def test_every_axis_means_what_it_was_built_to_mean(name, sizes):
    style, s = STYLES[name], SIZES[sizes]
    if getattr(style, "even", False) and s.d_h % 2:
        s = Sizes(**{**vars(s), "d_h": 2 * s.d_h})
    if getattr(style, "square", False):
        s = Sizes(**{**vars(s), "Lk": s.L})
    trace = run(style, s)
    assert trace.error is None, trace.error
    expected = style.truth
    taken: dict[int, int] = {}  # statement -> steps seen
    wrong = []
    for step in trace:
        line, steps = expected[step.source.line]
        want = steps[taken.get(line, 0) % len(steps)]
        taken[line] = taken.get(line, 0) + 1
        for k, out in enumerate(step.outputs):
            axes = [str(axis) for axis in out.axes]
            right = want[min(k, len(want) - 1)]
            right = [_at_size(name, n) for name, n in zip(right, out.shape, strict=False)]
            if right not in (["*"], [], axes):
                wrong.append(f"line {line} {step.source.text}: {' '.join(axes)}, not {' '.join(right)}")
    assert not wrong, "\n".join(wrong)
    assert trace._shared.inference.not_understood == []
