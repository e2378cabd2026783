"""Where several mistakes give the same numbers, the run decides which of them it is."""

from collections.abc import Sequence

from core.judge.diagnose.locate import Places
from core.judge.diagnose.match import Match
from core.judge.diagnose.tape import Tape


def prefer(matches: Sequence[Match], places: Places) -> list[Match]:
    """The matches, those that the run speaks for first."""
    return sorted(matches, key=lambda m: (m.loud, m.rank, sum(_doubt(id, places) for id in m.variant.ids)))


def _doubt(id: str, places: Places) -> float:
    """0 where the run shows the very thing, more where it shows another, 0.5 where it is not asked."""
    plain, masked = places.plain, places.masked
    scalings = [s for s in plain.scalings if s.index not in plain.after_softmax]
    lines = {(s.line, s.span[2]) for s in scalings}
    twice = len(lines) + any(k.op == "scaled_dot_product_attention" for k in plain.kernels) > 1
    fills = [s for s in masked.mask_steps if s.op in ("masked_fill", "masked_fill_", "where")]
    value = _fill_value(masked)
    answers = {
        "scale-twice": twice,
        "scale-no-sqrt": not twice,
        "mask-multiplied": any(s.op in ("mul", "mul_") for s in masked.mask_steps) and not fills,
        "mask-filled-with-zero": bool(fills) and value == 0,
        "mask-tiny-fill": bool(fills) and value != 0,
        "mask-result-dropped": _dropped(masked),
        "mask-ignored": not _dropped(masked),
        "mask-added": any(s.op in ("add", "add_") for s in masked.mask_steps),
        "split-fold-into-batch": any(len(s.outputs[0]["shape"]) == 3 for s in plain.splits if s.outputs),
        "mha-api-layout": any(k.op == "MultiheadAttention" for k in plain.kernels),
        "mha-api-polarity": any(k.op == "MultiheadAttention" for k in plain.kernels),
    }
    # The wider name of what has a name of its own in our words.
    return {None: 0.5, True: 0.0, False: 1.0}[answers.get(id)]


def _fill_value(tape: Tape) -> float | None:
    """The number that masked scores are set to, where a plain one is written."""
    for step in tape.mask_steps:
        if step.op in ("masked_fill", "masked_fill_"):
            given = [g for g in (*step.given[1:], *step.options.values()) if isinstance(g, (int, float))]
            if given:
                return float(given[-1])
        if step.op == "where" and step.inputs:
            made = [tape.steps[i] for i in range(step.index) if tape.steps[i].op in ("zeros_like", "full_like", "zeros")]
            given = [g for g in step.given if isinstance(g, (int, float))]
            return float(given[-1]) if given else (0.0 if any(s.op.startswith("zeros") for s in made) else None)
    return None


def _dropped(tape: Tape) -> bool:
    """Whether the mask meets the scores in a step whose result nobody reads."""
    read = {(s["storage"], s["offset"]) for step in tape.steps for s in step.inputs}
    uses = [s for s in tape.mask_steps if s.index in tape.from_x and s.op in ("masked_fill", "where", "add", "mul")]
    return bool(uses) and all((o["storage"], o["offset"]) not in read for s in uses for o in s.outputs)
