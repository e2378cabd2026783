"""python -m bench.trace: what a trace costs beside the plain forward, on MiniLM at 128 tokens.

The plain forward, the trace as it is recorded, the trace with all its steps read (operation, kind, source, and every
tensor's shape, strides and storage) and the trace with the exact meaning of every axis run interleaved in one process;
the ratios are of the medians.

TorchLens, where it is installed, runs in between, in a process of its own: it changes torch's functions for good. It
is called in two ways. `trace(model, x)` is what its documentation shows: it keeps a copy of each output and tells the
lines of the source, not how they read. The leaner one keeps no outputs and has the text of the source, as `record` has.
Strides and storages it tells in neither. The budget is held against the faster of the two.
"""

import argparse
import importlib
import importlib.util
import statistics
import subprocess
import sys
from collections.abc import Callable

import torch

from bench.measure import interleaved, print_ratio, report
from core import lm
from core.trace import Trace, record

TOKENS = 128
PLAIN_BUDGET, MEANING_BUDGET, RIVAL_BUDGET = 1.25, 3.0, 0.1
RIVALS = {
    "TorchLens as documented": {},
    "TorchLens without outputs, with source": {"layers_to_save": "none", "save_code_context": True},
}

Ways = dict[str, Callable[[], object]]


def read_layouts(trace: Trace) -> None:
    """Ask for what every step did, where it stands in the source, and for the layout of all its tensors."""
    for step in trace:
        assert all((step.op, step.kind, step.source.text, step.source.line, step.source.col >= 0))
        for state in (*step.inputs, *step.outputs):
            layout = (state.shape, state.stride, state.offset, state.storage, state.dtype, state.nbytes)
            assert len(layout[0]) == len(layout[1]) and state.is_contiguous is not None  # noqa: PT018 one look at each


def read_meanings(trace: Trace) -> None:
    """Ask for the meaning of every axis of every tensor."""
    for step in trace:
        for state in (*step.inputs, *step.outputs):
            assert len(state.axes) == len(state.shape)


def model() -> tuple[torch.nn.Module, torch.Tensor]:
    """MiniLM and the token ids that it is run on."""
    ids = torch.randint(1000, 2000, (1, TOKENS), generator=torch.Generator().manual_seed(0))
    return lm.load("minilm-l6").module, ids


@torch.no_grad()
def measure(rounds: int) -> list[bool]:
    """Print the ratios; for each of them whether it is within its budget."""
    module, ids = model()
    ways: Ways = {
        "plain": lambda: module(ids),
        "recorded": lambda: record(module, ids),
        "read": lambda: read_layouts(record(module, ids)),
        "meaning": lambda: read_meanings(record(module, ids, axes=["B L"], sizes={"d_model": 384, "H": 12})),
    }
    if not importlib.util.find_spec("torchlens"):
        print("TorchLens is not installed: not compared")
        return _reported(interleaved(ways, rounds))
    with subprocess.Popen(
        [sys.executable, "-m", "bench.trace", "--answer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        times = interleaved(ways | {way: lambda way=way: _asked(other, way) for way in RIVALS}, rounds)
    kept = _reported(times)
    plain, read, *theirs = (statistics.median(times[way]) for way in ("plain", "read", *RIVALS))
    for way, seconds in zip(RIVALS, theirs, strict=True):
        print(f"{way}: {seconds * 1e3:.0f} ms, {seconds / plain:.1f} x the plain forward")
    return [*kept, print_ratio("recorded and read / TorchLens", read / min(theirs), RIVAL_BUDGET)]


def _reported(times: dict[str, list[float]]) -> list[bool]:
    return [
        report("recorded / plain forward", times["recorded"], times["plain"], PLAIN_BUDGET),
        report("recorded and read / plain", times["read"], times["plain"], PLAIN_BUDGET),
        report("with exact meaning / plain", times["meaning"], times["plain"], MEANING_BUDGET),
    ]


def _asked(other: subprocess.Popen[str], way: str) -> None:
    """Have the other process trace once; asking takes well under a millisecond."""
    assert other.stdin is not None
    assert other.stdout is not None
    print(way, file=other.stdin, flush=True)
    if other.stdout.readline() != "done\n":
        raise RuntimeError(f"{way}: no answer")


@torch.no_grad()
def answer() -> None:
    """Trace the same forward with TorchLens in each way that is asked for."""
    rival = importlib.import_module("torchlens")
    module, ids = model()
    for line in sys.stdin:
        rival.trace(module, ids, capture=rival.options.CaptureOptions(**RIVALS[line.strip()]))
        print("done", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="what a trace costs")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.answer:
        answer()
    else:
        measure(given.rounds)
