"""`python -m core.trace FILE.py`."""

import subprocess
import sys
from pathlib import Path

import pytest

from core.trace.__main__ import main

MODULE = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        self.h = n_heads
        self.w = nn.Linear(d_model, 3 * d_model, bias=bias)

    def forward(self, x, copy=True):
        B, L, D = x.shape
        q, k, v = self.w(x).chunk(3, -1)
        q, k, v = (t.view(B, L, self.h, -1).transpose(1, 2) for t in (q, k, v))
        out = ((q @ k.mT).softmax(-1) @ v).transpose(1, 2)
        return (out.contiguous() if copy else out).view(B, L, D)

def masked(x, mask):
    return x.masked_fill(~mask, 0)
"""
ARGS = ["--init", "8", "2", "--input", "x=2x3x8", "--axes", "x=B L d_model", "--sizes", "H=2"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MODULE, encoding="utf-8")
    return path


def test_the_table_has_shape_stride_meaning_kind_and_line(file, capsys):
    assert main([str(file), *ARGS]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["line", "name", "operation", "kind", "shape", "stride", "meaning"]
    assert lines[2].split(maxsplit=3)[:3] == ["0", "13", "linear"]
    assert any("q" in s and "(2, 3, 8)" in s and "(72, 24, 1)" in s and s.endswith("B L H·d_h") for s in lines)
    assert any("contiguous" in s and "copy" in s and s.endswith("B L H d_h") for s in lines)


def test_an_error_of_the_module_is_shown_and_explained(file, capsys):
    assert main([str(file), *ARGS, "--arg", "copy=False", "--lang", "zh"]) == 1
    shown = capsys.readouterr()
    assert "error" in shown.out
    assert "第 15 行的 `transpose`" in shown.out
    assert "RuntimeError" in shown.err


def test_functions_masks_and_dispatch(file, capsys):
    given = ["--function", "masked", "--input", "x=4x4", "mask=4x4:bool", "--axes", "L Lk", "L Lk", "--dispatch"]
    assert main([str(file), *given]) == 0
    assert "aten::masked_fill" in capsys.readouterr().out


@pytest.mark.parametrize(
    "args",
    [
        ["--init", "__import__('os')", "2"],
        ["--init", "8", "2", "--input", "x=2xx8"],
        ["--init", "8", "2", "--input", "x=2x8:complex"],
        ["--sizes", "H=x"],
        ["--class", "Missing"],
        ["--function", "nn"],
        [*ARGS[:5], "--axes", "x=B L"],
        [*ARGS[:5], "--axes", "y=B L d_model"],
    ],
)
def test_what_does_not_fit_is_said_without_a_traceback(file, args, capsys):
    args = args if "--init" in args else ["--init", "8", "2", *args]
    assert main([str(file), *args]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_missing_file(tmp_path, capsys):
    assert main([str(tmp_path / "none.py")]) == 2
    assert "none.py" in capsys.readouterr().err


def test_as_a_command(file):
    root = Path(__file__).parents[3]
    run = subprocess.run(
        [sys.executable, "-m", "core.trace", str(file), *ARGS], cwd=root, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "B L H·d_h" in run.stdout
