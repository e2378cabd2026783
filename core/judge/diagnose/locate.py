"""On which lines of the submission a mistake stands: the step of its own run that makes it.

Where the mistake is that something is missing, the line is that of the step at which it is missed: a mask that is not
used is missed where the scores are normalised, a scale where they are computed. One function for each kind of place and
one table of all pitfalls, which is what makes this file long.
"""

import ast
import re
from collections.abc import Callable, Iterable
from math import prod

from core.judge.diagnose.places import Places, node_span
from core.judge.diagnose.tape import REPEATS, Span, Step


def place_of(p: Places, pitfall: str, form: str = "") -> Span | None:
    """The span of a pitfall of the catalogue, in one of its forms; None where it cannot be told."""
    find = _FORMS.get((pitfall, form)) or _PLACES.get(pitfall)
    return None if find is None else find(p)


def place_of_shared(p: Places, source: str) -> Span | None:
    """Where a weight that has several roles was made, if it is one layer; else where it is asked a second time."""
    first = source.replace("*", "0")
    again = [s for s in p.plain.projections if any(i["name"] == first for i in s.inputs)]
    if len(again) > 1 and "*" not in source:
        return again[1].span
    lines = p.born.get(first, [])
    return p.line(lines[-1]) if lines else place_of(p, "projection-shared")


def suspects(p: Places) -> list[frozenset[str]]:
    """Kinds of mistakes that a run without a mask does not clear: of each kind there is at most one."""
    kinds = [_CAUSALS, _GROUPS, _SPLITS, _MERGES, _VALUES, _ROPES, _ROPES, _OTHERS]
    if not p.plain.normalises_keys:
        kinds.append(_SOFTMAX_KINDS)
    if not p.plain.scales_by_root:
        kinds.append(_SCALES)
    return [frozenset(kind) for kind in kinds]


def _softmax(p: Places) -> Span | None:
    """Where the axis is named: the softmax, or the sum of one that is written out."""
    if p.masked.softmaxes and p.masked.softmaxes[0].op.startswith("exp"):
        sums = [s for s in p.masked.steps if s.op == "sum" and s.index > p.masked.softmaxes[0].index]
        return p.first(sums, p.masked.softmaxes)
    return p.first(p.masked.softmaxes, p.masked.kernels)


def _scale(p: Places) -> Span | None:
    before = [s for s in p.plain.scalings if s.index not in p.plain.after_softmax]
    kernels = [s for s in p.plain.kernels if "scale" in s.options]
    folded = [s for s in p.plain.scores if {"alpha", "beta"} & set(s.options)]
    return p.first(kernels, before, folded, p.plain.scores)


def _scale_after(p: Places) -> Span | None:
    return p.first([s for s in p.plain.scalings if s.index in p.plain.after_softmax], p.plain.mixes)


def _score(p: Places) -> Span | None:
    return p.first(p.plain.scores)


def _key(p: Places) -> Span | None:
    """The transpose right before the scores, else the product itself."""
    for step in p.plain.scores:
        turned = [s for s in p.plain.steps[: step.index] if s.is_layout and s.line == step.line]
        return p.last(turned, [step])
    return None


def _mix(p: Places) -> Span | None:
    return p.first(p.plain.mixes)


def _mask_use(p: Places) -> Span | None:
    after = [s for s in p.plain.steps if s.op in ("tril", "triu", "tril_", "triu_") and s.index in p.plain.from_x]
    return p.first(
        [s for s in p.masked.mask_steps if s.index in p.masked.from_x],
        p.masked.mask_steps,
        p.plain.fills,
        after,
        p.plain.triangles,
    )


def _mask_inverted(p: Places) -> Span | None:
    """Where the mask is turned round, if that is not where it is used."""
    turned = [s for s in p.masked.mask_makers if s.op in ("bitwise_not", "logical_not", "eq", "ne", "rsub", "sub")]
    return p.last(turned) or _mask_use(p)


def _mask_shape(p: Places) -> Span | None:
    shaped = [
        s for s in p.masked.mask_makers if s.op in ("unsqueeze", "view", "reshape", "unflatten", "transpose", "permute")
    ]
    indexed = [s for s in p.masked.mask_makers if s.op == "getitem"]
    return p.first(shaped, indexed) or _mask_use(p)


def _mask_missed(p: Places) -> Span | None:
    return p.first(p.masked.softmaxes, p.masked.kernels, p.masked.scores)


def _causal(p: Places) -> Span | None:
    return p.last(p.plain.triangles) or p.first(p.plain.fills, p.plain.softmaxes, p.plain.kernels)


def _causal_missing(p: Places) -> Span | None:
    """Where a mask is used only under a condition, the condition; else where it is missed."""
    if p.plain.fills and p.masked is not p.plain and not p.masked.fills:
        test = p.condition(p.plain.fills[0].line)
        if test is not None:
            return test
    return p.first(p.plain.fills, p.plain.softmaxes, p.plain.kernels, p.plain.scores)


def _split(p: Places) -> Span | None:
    """The step that cuts the features into heads: the first that gives a tensor one more axis."""
    shaped = [s for s in p.plain.splits if s.op in ("view", "reshape", "unflatten", "chunk", "split", "tensor_split")]
    cuts = [s for s in shaped if s.inputs and s.outputs and len(s.outputs[0]["shape"]) > len(s.inputs[0]["shape"])]
    cuts += [s for s in shaped if s.op in ("view", "reshape")]
    return p.first(cuts, shaped[::-1], p.plain.splits, p.plain.scores)


def _head_size(p: Places) -> Span | None:
    """Where the size of a head is computed, else where the layers are made that have it."""
    try:
        tree = ast.parse(p.source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _HEAD_SIZE.search(ast.unparse(node.targets[0])):
            return node_span(node, p.source)
    return p.made("q", "k")


def _quotient(p: Places, by: str = "") -> Span | None:
    """Where the size of a head, or of a group, is found by a division."""
    for node in ast.walk(ast.parse(p.source)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv) and by in ast.unparse(node.right):
            return p.line(node.lineno)
    return None


def _split_permute(p: Places) -> Span | None:
    turned = [s for s in p.plain.splits if s.op in ("permute", "transpose", "movedim", "swapaxes", "mT", "T")]
    return p.first(turned) or _split(p)


def _no_transpose(p: Places) -> Span | None:
    """Where an einsum says which axes meet, it is there; else where heads are cut."""
    sums = [s for s in p.plain.scores if s.op == "einsum"]
    return p.first(sums) or _split(p)


def _merge(p: Places) -> Span | None:
    shaped = [s for s in p.plain.merges if s.op in ("reshape", "view", "flatten", "cat")]
    return p.last(shaped, p.plain.merges, p.plain.mixes)


def _merge_permute(p: Places) -> Span | None:
    turned = [s for s in p.plain.merges if s.op in ("permute", "transpose", "movedim", "swapaxes", "mT", "T")]
    return p.first(turned) or _merge(p)


def _mean(p: Places) -> Span | None:
    sums = [
        s for s in p.plain.steps if s.op in ("mean", "sum", "amax", "max", "add", "add_") and s.index > p.plain.last_mix
    ]
    return p.first(sums) or _merge(p)


def _output(p: Places) -> Span | None:
    return p.first(p.plain.output_projections) or p.returned()


def _projection(p: Places) -> Span | None:
    return p.first(p.plain.projections)


def _shared(p: Places) -> Span | None:
    """Where a layer is asked for a second time; where there is but one, where it was made."""
    before = [s for s in p.plain.projections if s.index < p.plain.first_score]
    names = [next((i["name"] for i in s.inputs if i["parameter"]), None) for s in before]
    again = [s for i, s in enumerate(before) if names[i] is not None and names[i] in names[:i]]
    if again and len(set(names)) > 1:
        return p.first(again)
    lines = p.born.get(names[0] or "", []) if names else []
    return p.line(lines[-1]) if lines else _projection(p)


def _activation(p: Places) -> Span | None:
    for number, text in enumerate(p.source.splitlines(), 1):
        if re.search(
            r"\b(ReLU|GELU|SiLU|Tanh|Sigmoid|LeakyReLU|ELU|relu|gelu|silu|tanh|sigmoid)\b", text.partition("#")[0]
        ) and not text.lstrip().startswith(("import", "from")):
            return p.line(number)
    bent = [s for s in p.plain.steps if s.op in ("relu", "gelu", "tanh", "sigmoid", "silu", "leaky_relu", "elu")]
    return p.first(bent) or _projection(p)


def _value(p: Places) -> Span | None:
    """Where the values are cut from what all three are cut from; where they have a layer of their own, it."""
    chain = [step for step in p.plain.values if step.line > 0]
    if p.plain.scores and len(p.plain.scores[0].inputs) > 1 and chain:
        keys = p.plain.chain(p.plain.scores[0].inputs[1])
        sliced = [s for s in chain if s.op in ("getitem", "narrow", "select")]
        if sliced:
            return p.last(sliced)
        if chain[0] in keys and chain[0].op != "linear":
            return _mix(p)
    cuts = [s for s in chain if s.op in ("getitem", "chunk", "split", "unbind", "narrow", "select", "tensor_split")]
    return p.last(cuts) or p.last(chain) or _mix(p)


def _repeat(p: Places) -> Span | None:
    steps = [s for s in p.plain.splits if s.op in REPEATS and s.line != 0 and _grows(s)]
    picks = [
        s
        for s in p.plain.splits
        if s.op in ("getitem", "index_select") and any("tensor" in str(g) for g in s.given[1:])
    ]
    return p.first([s for s in steps if s.op != "getitem"], picks, p.plain.scores)


def _repeat_outer(p: Places) -> Span | None:
    steps = [s for s in p.plain.splits if s.op in REPEATS and s.op != "getitem" and _grows(s)]
    return steps[0].outer if steps else _cat(p)


def _grows(step: Step) -> bool:
    """Whether a step makes more elements than it was given, counting what was given several times once."""
    given = {(s["storage"], s["offset"], *s["stride"]): prod(s["shape"]) for s in step.inputs}
    return bool(step.outputs) and prod(step.outputs[0]["shape"]) > sum(given.values())


def _averaged(p: Places) -> Span | None:
    picked = [s for s in p.plain.splits if s.op in ("getitem", "mean", "index_select", "narrow")]
    means = [s for s in p.plain.steps if s.op == "mean" and s.index < p.plain.first_score]
    return p.first(means, picks_with_step(picked), p.plain.scores)


def picks_with_step(steps: Iterable[Step]) -> list[Step]:
    """Slices that leave something out along an axis."""
    return [s for s in steps if "slice" in str(s.given[1:]) or s.op != "getitem"]


def _kv_made(p: Places) -> Span | None:
    return p.made("k", "v")


def _cat(p: Places) -> Span | None:
    joined = [s for s in p.masked.steps if s.op in ("cat", "concat", "stack", "setitem", "copy_", "index_copy_")]
    return p.first(joined, p.masked.named("pad"))


def _written(p: Places) -> Span | None:
    written = [s for s in p.masked.steps if s.op in ("setitem", "copy_", "index_copy_") or s.op.endswith("_")]
    return p.first(written) or _cat(p) or p.returned()


def _rope(p: Places) -> Span | None:
    counted = [s for s in p.plain.steps if s.op == "arange"]
    turned = [s for s in p.plain.steps if s.op in ("cos", "sin", "polar", "outer")]
    return p.last(counted) or p.first(turned) or _projection(p)


def _dropout(p: Places) -> Span | None:
    return p.first(p.plain.named("dropout", "dropout_"), p.plain.kernels)


def _mha(p: Places) -> Span | None:
    return p.first(p.masked.kernels) or _split(p)


def _squeeze(p: Places) -> Span | None:
    return p.last(p.plain.named("squeeze", "squeeze_")) or p.returned()


def _detach(p: Places) -> Span | None:
    cut = p.plain.named("detach", "detach_", "numpy", "item", "setitem", "tensor")
    return p.first(cut) or p.first(p.plain.softmaxes)


def _online(p: Places) -> Span | None:
    return p.last([s for s in p.plain.steps if s.op in ("add", "add_", "mul", "mul_", "iadd")])


_ACTIVATION = re.compile(r"\b(ReLU|GELU|SiLU|Tanh|Sigmoid|LeakyReLU|ELU|relu|gelu|silu|tanh|sigmoid)\b")
_HEAD_SIZE = re.compile(
    r"\b(d_?h(ead)?|d_?k(ey)?|hd|hs)\b|head_?(dim|size|width|d\b)|dim_?(per_)?head|头维|per_head|depth"
)

_FORMS: dict[tuple[str, str], Callable[[Places], Span | None]] = {
    ("head-dim-wrong", "full-width"): lambda p: p.made("q", "k"),
    ("head-dim-wrong", "scale-only"): lambda p: _scale(p),
    ("mla-rope-key-per-head", "one-for-each"): lambda p: p.made("rope"),
}
_PLACES: dict[str, Callable[[Places], Span | None]] = {
    **dict.fromkeys(("split-view-direct", "split-swapped-factors", "split-fold-into-batch", "split-raw-input"), _split),
    "no-divisibility-check": lambda p: _quotient(p) or _split(p),
    "split-tensor-called": Places.failed,
    "split-no-transpose": _no_transpose,
    "split-wrong-permute": _split_permute,
    "head-dim-wrong": _head_size,
    **dict.fromkeys(
        (
            "scale-missing",
            "scale-by-d-model",
            "scale-no-sqrt",
            "scale-multiplied",
            "scale-wrong-quantity",
            "scale-twice",
        ),
        _scale,
    ),
    "mla-scale-latent": _scale,
    "scale-after-softmax": _scale_after,
    "key-wrong-transpose": _key,
    **dict.fromkeys(("qk-swapped", "einsum-reused-letter", "gqa-no-repeat"), _score),
    "value-is-key": _value,
    "attn-transposed": _mix,
    "projection-activation": _activation,
    **dict.fromkeys(("projection-bias-mismatch", "cross-roles-swapped", "cross-batch-unchecked"), _projection),
    "projection-wrong-width": lambda p: p.made("q", "k"),
    "projection-shared": _shared,
    "projection-weight-transposed": lambda p: p.first(
        [s for s in p.plain.projections if s.op != "linear"], p.plain.projections
    ),
    **dict.fromkeys(
        ("softmax-over-queries", "softmax-over-heads", "softmax-over-batch", "softmax-flattened"), _softmax
    ),
    "softmax-unstable": lambda p: p.first(p.masked.softmaxes, p.masked.kernels),
    "softmax-sum-multiplied": _softmax,
    "softmax-missing": _mix,
    "mask-ignored": _mask_missed,
    **dict.fromkeys(("mask-inverted", "mha-api-polarity"), _mask_inverted),
    **dict.fromkeys(("mask-wrong-broadcast", "mask-transposed", "mha-api-mask-shape"), _mask_shape),
    **dict.fromkeys(("cross-self-mask", "mask-expanded-in-place"), _mask_shape),
    **dict.fromkeys(
        (
            "mask-filled-with-zero",
            "mask-tiny-fill",
            "mask-finite-fill",
            "mask-result-dropped",
            "mask-zero-times-inf",
            "mask-nan-leaks",
            "mask-after-softmax",
            "mask-added",
            "mask-multiplied",
            "mask-half-overflow",
            "mask-row-all-false-nan",
            "mask-nan-patched-late",
            "mask-bool-subtracted",
            "mask-fill-not-bool",
            "mask-additive-as-binary",
            "sdpa-float-mask",
            "sdpa-mask-and-causal",
        ),
        _mask_use,
    ),
    **dict.fromkeys(
        ("causal-off-by-one", "causal-wrong-triangle", "window-off-by-one", "causal-ignores-cache"), _causal
    ),
    **dict.fromkeys(("causal-missing", "mha-api-causal-hint"), _causal_missing),
    **dict.fromkeys(("merge-no-transpose", "merge-view-noncontiguous", "merge-unfold-order"), _merge),
    "merge-wrong-permute": _merge_permute,
    "merge-mean-heads": _mean,
    "output-projection-missing": Places.returned,
    "output-projection-per-head": _output,
    "layer-made-in-forward": _output,
    "params-unregistered": lambda p: p.made(),
    "graph-broken": _detach,
    **dict.fromkeys(("dropout-before-softmax", "dropout-always-on"), _dropout),
    "squeezed-axis": _squeeze,
    **dict.fromkeys(("batch-first-confused", "mha-api-layout", "mha-api-averaged", "mha-api-weights-off"), _mha),
    **dict.fromkeys(("returns-wrong-thing", "cache-not-grown"), Places.returned),
    **dict.fromkeys(("gqa-repeat-order", "gqa-repeat-wrong-axis"), _repeat),
    "gqa-repeat-wrong-count": _repeat_outer,
    **dict.fromkeys(("gqa-view-after-expand", "mla-rope-key-per-head"), _repeat),
    "gqa-fused-thirds": lambda p: p.first([s for s in p.plain.splits if s.op in ("chunk", "split", "tensor_split")]),
    "gqa-kv-full-size": _kv_made,
    "gqa-kv-averaged": _averaged,
    "gqa-no-sharing-check": lambda p: _quotient(p, "kv") or p.first(p.plain.splits),
    **dict.fromkeys(("cache-wrong-axis", "cache-order", "mla-cache-expanded"), _cat),
    "cache-expanded": _repeat_outer,
    "cache-aliased": _written,
    **dict.fromkeys(
        ("rope-wrong-axis", "rope-on-values", "rope-position-restarts", "rope-pairs-mixed", "rope-names-swapped"), _rope
    ),
    "online-not-rescaled": _online,
    "online-finite-start": lambda p: p.first(
        [s for s in p.plain.steps if "full" in s.op or "zeros" in s.op], p.plain.scores
    ),
}
_SCALES = ("scale-missing", "scale-by-d-model", "scale-no-sqrt", "scale-multiplied", "scale-wrong-quantity")
_SOFTMAX_KINDS = (
    "softmax-over-queries",
    "softmax-over-heads",
    "softmax-over-batch",
    "softmax-flattened",
    "softmax-missing",
)
_CAUSALS = ("causal-off-by-one", "causal-wrong-triangle", "causal-missing")
_GROUPS = ("gqa-repeat-order", "gqa-repeat-wrong-axis", "gqa-kv-averaged")
_SPLITS = (
    "split-view-direct",
    "split-no-transpose",
    "split-swapped-factors",
    "split-fold-into-batch",
    "key-wrong-transpose",
)
_MERGES = ("merge-no-transpose", "merge-wrong-permute", "output-projection-missing", "merge-mean-heads")
_ROPES = ("rope-on-values", "rope-pairs-mixed", "rope-wrong-axis", "rope-position-restarts")
_OTHERS = ("window-off-by-one", "mla-scale-latent", "mla-rope-key-per-head")
_VALUES = ("value-is-key", "attn-transposed", "qk-swapped", "projection-shared")
