"""python -m bench.lm: SmolLM2 and MiniLM through core.attention against transformers' sdpa path, and the time to load.

Both sides run interleaved in one process on the same weights in float32, without attention weights. The ratio is the
median over rounds of one side by the other, so that what else the machine does falls on both: below 1, ours is faster.
"""

import statistics
import time
from collections.abc import Callable

import torch

from core import lm
from tests.core.lm.oracle import in_transformers

WARM_UP, ROUNDS = 2, 20


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


@torch.no_grad()
def forward(model_id: str, L: int) -> None:
    model = lm.load(model_id)
    reference = in_transformers(model, "sdpa")
    ids = torch.randint(1000, 2000, (1, L), generator=torch.Generator().manual_seed(0))
    if model.card.causal:  # logits at every position, on both sides
        ours, theirs = lambda: model.logits(ids[0]), lambda: reference(ids, use_cache=False).logits
    else:
        ours, theirs = lambda: model.module(ids), lambda: reference(ids).last_hidden_state
    pairs = []
    for round_ in range(WARM_UP + ROUNDS):
        order = (ours, theirs) if round_ % 2 else (theirs, ours)
        took = {run: seconds(run) for run in order}
        if round_ >= WARM_UP:
            pairs.append((took[ours], took[theirs]))
    a, b = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"{model_id:14} L {L:4}  ours {a * 1e3:7.1f} ms  transformers {b * 1e3:7.1f} ms  ratio {ratio:.3f}")


def load(model_id: str) -> None:
    times = [seconds(lambda: lm.load(model_id)) for _ in range(5)]
    print(f"{model_id:14} load, files already fetched: {statistics.median(times):.2f} s (at most {max(times):.2f} s)")


if __name__ == "__main__":
    for model_id in lm.MODELS:
        load(model_id)
    for model_id in lm.MODELS:
        for L in (128, 512):
            forward(model_id, L)
