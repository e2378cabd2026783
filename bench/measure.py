"""Timing two things fairly, and saying what came of it beside what was promised."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

WARM_UP = 5


def interleaved(ways: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each way, `rounds` times; every round runs all of them, and every other one in the opposite order,
    so that none always comes after the same."""
    times: dict[str, list[float]] = {way: [] for way in ways}
    order = list(ways)
    for round_ in range(-WARM_UP, rounds):
        for way in order if round_ % 2 else order[::-1]:
            start = time.perf_counter()
            ways[way]()
            if round_ >= 0:
                times[way].append(time.perf_counter() - start)
    return times


def report(what: str, ours: Sequence[float], rival: Sequence[float], budget: float) -> bool:
    """Print the ratio of the medians beside its budget; whether it is kept."""
    mine, theirs = statistics.median(ours), statistics.median(rival)
    return print_ratio(f"{what:34} {mine * 1e3:8.2f} ms / {theirs * 1e3:8.2f} ms", mine / theirs, budget)


def print_ratio(what: str, ratio: float, budget: float) -> bool:
    kept = ratio <= budget
    print(f"{what}  = {ratio:5.3f}  (budget {budget:g}){'' if kept else '  OVER'}", flush=True)
    return kept


def quantile_95(times: Sequence[float]) -> float:
    """The time within which 95 of 100 stay."""
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
