"""Where several mistakes give the same numbers, the run decides which of them it is."""

from collections.abc import Sequence

from core.judge._roles import hinted
from core.judge.diagnose.match import Match
from core.judge.diagnose.places import Places
from core.judge.diagnose.tape import Step, Tape


def prefer(matches: Sequence[Match], places: Places) -> list[Match]:
    """The matches, those that the run speaks for first."""
    return sorted(matches, key=lambda m: (m.loud, m.rank, sum(_doubt(id, places) for id in m.variant.ids)))


REPEATED = ("repeat", "repeat_interleave", "expand", "tile", "broadcast_to", "cat", "stack", "index_select")
# Names of one and the same numbers: the run says which of them it is.
_TWINS = (
    ("scale-no-sqrt", "scale-twice"),
    ("mask-filled-with-zero", "mask-multiplied", "mask-tiny-fill"),
    ("mask-added", "sdpa-float-mask"),
    ("mask-inverted", "mha-api-polarity"),
    ("mask-ignored", "mask-result-dropped"),
    ("causal-missing", "mask-result-dropped"),
    ("merge-view-noncontiguous", "gqa-view-after-expand"),
)


def called(id: str, places: Places) -> str:
    """The name among its twins that the run speaks for most."""
    twins = next((group for group in _TWINS if id in group), (id,))
    return min((id, *twins), key=lambda name: _doubt(name, places))


def _doubt(id: str, places: Places) -> float:
    """0 where the run shows the very thing, more where it shows another, 0.5 where it is not asked."""
    plain, masked = places.plain, places.masked
    scalings = [s for s in plain.scalings if s.index not in plain.after_softmax]
    lines = {(s.line, s.span[2]) for s in scalings}
    twice = len(lines) + any(k.op == "scaled_dot_product_attention" for k in plain.kernels) > 1
    last = masked.softmaxes[0].index if masked.softmaxes else len(masked.steps)
    uses = [s for s in masked.mask_steps if s.index in masked.from_x and s.index < last]
    times = bool(uses) and uses[0].op in ("mul", "mul_")
    fills = [s for s in (uses or plain.fills) if s.op in ("masked_fill", "masked_fill_", "where")]
    value = _fill_value(masked if uses else plain, fills)
    dropped = _dropped(masked if uses else plain, fills)
    answers = {
        "scale-twice": twice,
        "scale-no-sqrt": not twice,
        "mask-multiplied": times,
        "mask-filled-with-zero": bool(fills) and not times and value == 0,
        "mask-tiny-fill": bool(fills) and not times and value != 0,
        "mask-result-dropped": dropped,
        "mask-ignored": not dropped,
        "causal-missing": not dropped,
        "softmax-missing": not plain.softmaxes and not plain.kernels,
        "softmax-over-queries": plain.softmax_axes == {-2},
        "softmax-over-heads": plain.softmax_axes in ({-3}, set()) and bool(plain.softmaxes),
        "softmax-over-batch": plain.softmax_axes in ({-4}, {-3}),
        "gqa-no-repeat": not any(s.op in REPEATED for s in plain.splits),
        "gqa-repeat-wrong-axis": any(s.op in REPEATED for s in plain.splits),
        "merge-view-noncontiguous": not _expanded(plain),
        "gqa-view-after-expand": _expanded(plain),
        "qk-swapped": _keys_first(plain),
        "attn-transposed": not _keys_first(plain),
        "mask-added": any(s.op in ("add", "add_") for s in masked.mask_steps),
        "sdpa-float-mask": any(k.op == "scaled_dot_product_attention" for k in masked.kernels),
        "mask-inverted": not any(k.op == "MultiheadAttention" for k in masked.kernels),
        "split-fold-into-batch": any(len(s.outputs[0]["shape"]) == 3 for s in plain.splits if s.outputs),
        "mha-api-layout": any(k.op == "MultiheadAttention" for k in plain.kernels),
        "mha-api-polarity": any(k.op == "MultiheadAttention" for k in plain.kernels),
    }
    return {None: 0.5, True: 0.0, False: 1.0}[answers.get(id)]


def _fill_value(tape: Tape, fills: Sequence[Step]) -> float | None:
    """The number that masked scores are set to, where a plain one is written."""
    for step in fills:
        given = [g for g in (*step.given[1:], *step.options.values()) if isinstance(g, (int, float))]
        if given:
            return float(given[-1])
        if step.op == "where" and any(s.op.startswith("zeros") for s in tape.steps[: step.index]):
            return 0.0
    return None


def _dropped(tape: Tape, fills: Sequence[Step]) -> bool:
    """Whether a mask meets the scores in a step whose result nobody reads."""
    read = {(s["storage"], s["offset"]) for step in tape.steps for s in step.inputs}
    return bool(fills) and all((o["storage"], o["offset"]) not in read for s in fills for o in s.outputs)


def _expanded(tape: Tape) -> bool:
    """Whether the step that raised was given an expanded tensor."""
    failing = next((s for s in reversed(tape.steps) if s.data["error"]), None)
    return failing is not None and any(0 in s["stride"] for s in failing.inputs)


def _keys_first(tape: Tape) -> bool:
    """Whether the left operand of the scores is the keys, by their names."""
    if not tape.scores or not tape.scores[0].inputs:
        return False
    left = tape.scores[0].inputs[0]
    if left["name"]:
        return left["name"] in ("k", "key")
    source = tape.chain(left)[-1:]
    names = [state["name"] for step in source for state in step.inputs if state["parameter"] and state["name"]]
    return any(hinted(name) == {"k"} for name in names)
