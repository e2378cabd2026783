"""python -m bench.trace: what a trace costs beside the plain forward, on MiniLM at 128 tokens.

The plain forward, the trace (shapes, strides, storage, source) and the trace with the exact meaning of every axis run
interleaved in one process; the ratios are of the medians. TorchLens, where it is installed, is measured after them: it
changes torch's own functions when it is first used.
"""

import argparse
import importlib
import statistics
from collections.abc import Callable

import torch

from bench.measure import interleaved, print_ratio, report
from core import lm
from core.trace import Trace, record

TOKENS = 128
PLAIN_BUDGET, MEANING_BUDGET, RIVAL_BUDGET = 1.25, 3.0, 0.1


def read(trace: Trace) -> None:
    """Ask for the meaning of every axis of every tensor."""
    for step in trace:
        for state in (*step.inputs, *step.outputs):
            assert len(state.axes) == len(state.shape)


@torch.no_grad()
def measure(rounds: int) -> list[bool]:
    """Print the ratios; for each of them whether it is within its budget."""
    module = lm.load("minilm-l6").module
    ids = torch.randint(1000, 2000, (1, TOKENS), generator=torch.Generator().manual_seed(0))
    ways: dict[str, Callable[[], object]] = {
        "plain": lambda: module(ids),
        "traced": lambda: record(module, ids),
        "steps": lambda: len(record(module, ids)),
        "meaning": lambda: read(record(module, ids, axes=["B L"], sizes={"d_model": 384, "H": 12})),
    }
    times = interleaved(ways, rounds)
    kept = [
        report("traced / plain forward", times["traced"], times["plain"], PLAIN_BUDGET),
        report("traced, steps built / plain", times["steps"], times["plain"], PLAIN_BUDGET),
        report("with exact meaning / plain", times["meaning"], times["plain"], MEANING_BUDGET),
    ]
    rival = torchlens(module, ids, max(rounds // 5, 3))
    if rival is None:
        print("TorchLens is not installed: not compared")
        return kept
    plain, traced, meaning = (statistics.median(times[way]) for way in ("plain", "traced", "meaning"))
    added = rival - plain
    added = rival - plain
    print(
        f"TorchLens / plain forward: {rival / plain:.1f}; it adds {added / (traced - plain):.0f} x what a trace adds,"
    )
    print(f"{added / (meaning - plain):.0f} x what a trace with exact meaning adds")
    kept.append(print_ratio("traced / TorchLens", traced / rival, RIVAL_BUDGET))
    return kept


def torchlens(module: torch.nn.Module, ids: torch.Tensor, rounds: int) -> float | None:
    """Seconds that TorchLens takes for the same forward (the median), None where it is not installed."""
    try:
        rival = importlib.import_module("torchlens")
    except ImportError:
        return None
    return statistics.median(interleaved({"TorchLens": lambda: rival.trace(module, ids)}, rounds)["TorchLens"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="what a trace costs")
    parser.add_argument("--rounds", type=int, default=30)
    measure(parser.parse_args().rounds)
