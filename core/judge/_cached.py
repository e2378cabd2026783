"""The checks of problems with a KV cache: any chunking gives what one pass gives, and a cache is what was promised."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

from core.judge import _cases
from core.judge._compare import Fault, difference, fault_of

if TYPE_CHECKING:
    from core.judge._examine import Check, Examination
    from core.judge._subject import Call


def chunked(exam: "Examination") -> "Iterator[Check]":
    """chunks, cache (its shape) and aliasing (a cache that was handed out keeps its values)."""
    from core.judge._examine import Check

    base = exam.base
    assert base is not None
    yield Check("cache", _shape(exam))
    if exam.assignment is None:
        return
    worst = None
    for chunks in _cases.CHUNKS:
        sizes = _cases.generic(L=sum(chunks))
        x = exam.subject.draw.inputs(exam.reference, sizes)[0]
        whole = exam.expected(base, [x])
        assert whole is not None
        past: Call | None = None
        for piece, expected in zip(x.split(chunks, dim=1), whole.split(chunks, dim=1), strict=True):
            past = exam.call(base, [piece], cache=past)
            fault = fault_of(past, expected, tolerance=exam.tolerance, cached=True)
            if fault is not None:
                worst = worst or (fault, " + ".join(map(str, chunks)))
                break
    yield Check("chunks", worst and worst[0], worst[1] if worst else "")
    yield Check("aliasing", _aliasing(exam))


def _shape(exam: "Examination") -> Fault | None:
    """Each part of the cache has the promised shape after a first call and after a second one."""
    base, draw = exam.base, exam.subject.draw
    assert base is not None
    past = None
    for T in (5, 8):
        x = draw.normal(base.sizes["B"], T if past is None else 3, base.sizes["d_model"])
        past = exam.call(base, [x], cache=past)
        if past.error is not None or past.cache is None:
            return fault_of(past, torch.zeros(0), cached=True)
        wanted = _promised(exam.problem, base.sizes, T)
        found = [tuple(part.shape) for part in past.cache]
        if found != wanted:
            return Fault("cache-shape", {"found": found, "expected": wanted, "T": T})
    return None


def _promised(problem: str, sizes: _cases.Sizes, T: int) -> list[tuple[int, ...]]:
    B, d_h = sizes["B"], sizes["d_h"]
    if problem == "mla":
        return [(B, T, sizes["d_latent"]), (B, 1, T, sizes["d_rope"])]
    heads = sizes["H_kv"] if problem == "kv_cache" else sizes["H"]
    return [(B, heads, T, d_h)] * 2


def _aliasing(exam: "Examination") -> Fault | None:
    """Two ways on from one cache do not disturb one another, nor does another text."""
    base, draw = exam.base, exam.subject.draw
    assert base is not None
    start, one, other = (draw.normal(base.sizes["B"], n, base.sizes["d_model"]) for n in (4, 3, 2))
    first = exam.call(base, [start])
    exam.call(base, [one], cache=first)
    exam.call(base, [one])  # another text altogether
    call = exam.call(base, [other], cache=first)
    whole = exam.expected(base, [torch.cat((start, other), dim=1)])
    if call.out is None or whole is None:
        return None
    fault = difference(call.out, whole[:, 4:], exam.tolerance)
    return fault and Fault("written", fault.params)
