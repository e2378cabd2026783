"""What a trace costs: the forward of a small real model, plain and traced, interleaved in one run.

    python -m bench.trace [--rounds 30]

Prints ratios to the plain forward. The budget: at most 1.25 for shapes, strides, storage and source, at most 3
with the exact meaning of every axis. TorchLens is measured too where it is installed.
"""

import argparse
import importlib
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

from core.errors import Unavailable
from core.trace import record

TOKENS = 128


def model() -> tuple[str, Callable[[torch.Tensor], object], torch.Tensor]:
    """MiniLM where its files are there, else an encoder of the same sizes with random weights."""
    try:
        lm = importlib.import_module("core.lm")
        loaded = lm.load("minilm-l6")
        ids = torch.arange(1000, 1000 + TOKENS)[None]
        return "MiniLM", loaded.module, ids
    except (ImportError, AttributeError, Unavailable):
        layer = nn.TransformerEncoderLayer(384, 12, 1536, dropout=0.0, activation="gelu", batch_first=True)
        return "encoder of MiniLM's sizes", nn.TransformerEncoder(layer, 6).eval(), torch.randn(1, TOKENS, 384)


def with_meaning(module: Callable[..., object], x: torch.Tensor) -> None:
    for step in record(module, x, axes=["B L"]):
        for state in (*step.inputs, *step.outputs):
            _ = state.axes


def measure(rounds: int = 30) -> dict[str, float]:
    """The median over rounds of time traced / time plain, each round taking all of them in turn."""
    name, module, x = model()
    ways: dict[str, Callable[[], object]] = {
        "plain": lambda: module(x),
        "traced": lambda: record(module, x),
        "traced, steps built": lambda: record(module, x).steps,
        "traced, with meaning": lambda: with_meaning(module, x),
    }
    try:
        torchlens = importlib.import_module("torchlens")
        ways["TorchLens"] = lambda: torchlens.log_forward_pass(module, x, vis_opt="none")
    except ImportError:
        pass
    times: dict[str, list[float]] = {way: [] for way in ways}
    with torch.no_grad():
        for _ in range(rounds + 3):
            for way, run in ways.items():
                start = time.perf_counter()
                run()
                times[way].append(time.perf_counter() - start)
    plain = times.pop("plain")[3:]
    print(f"{name}, {TOKENS} tokens: plain forward {1e3 * statistics.median(plain):.1f} ms (median of {rounds})")
    ratios = {
        way: statistics.median(t / p for t, p in zip(taken[3:], plain, strict=True)) for way, taken in times.items()
    }
    for way, ratio in ratios.items():
        print(f"  {way:24} {ratio:5.2f} x")
    return ratios


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=30)
    measure(parser.parse_args().rounds)
