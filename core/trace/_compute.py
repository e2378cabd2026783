"""Computing operations on meanings: which axes of the operands are the axes of the result."""

from core.trace import _meaning as mean
from core.trace._axes import Names
from core.trace._combine import Meeting, combine, project
from core.trace._contract import Decides, Evidence, contract, contraction, einsum_labels, sources
from core.trace._layout import argument
from core.trace._meaning import Meaning, Shape
from core.trace._ops import Tensor, plain_name, words
from core.trace._record import Op

# One element in, one element out: the result's axes are those of the operands, laid over each other.
POINTWISE = words(
    "add sub mul div rsub pow neg abs exp exp2 expm1 log log2 log1p sqrt rsqrt square reciprocal sign sin cos tan tanh "
    "sigmoid relu relu6 gelu silu mish elu leaky_relu selu celu softplus hardtanh hardswish logit erf clamp clip "
    "clamp_min clamp_max floor ceil round trunc floordiv floor_divide remainder fmod maximum minimum fmax fmin eq ne "
    "lt le gt ge logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not isnan "
    "isinf isfinite where masked_fill lerp addcmul addcdiv nan_to_num softmax log_softmax _softmax _log_softmax "
    "_safe_softmax dropout native_dropout alpha_dropout feature_dropout layer_norm native_layer_norm rms_norm "
    "_fused_rms_norm group_norm batch_norm normalize tril triu cumsum cumprod cummax cummin threshold "
    "masked_scatter heaviside xlogy atan2 polar complex isclose real imag bernoulli hypot logaddexp"
)
_NORMALISES = words("softmax log_softmax _softmax _log_softmax _safe_softmax")
_REDUCES = words(
    "sum mean amax amin max min argmax argmin any all prod var std norm logsumexp nansum nanmean median count_nonzero "
    "linalg_vector_norm vector_norm aminmax var_mean std_mean"
)


def compute(
    op: Op, index: int, ms: list[Meaning], names: Names, features: Decides, seen: Evidence, flipped: bool
) -> list[Meaning] | None:
    """The meanings of the outputs of a computing operation, None where this is none that is known."""
    name = plain_name(op.op)
    name = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    how = Meeting(last_first=flipped, twins=[])
    found: list[Meaning] | None = None
    if name in POINTWISE and ms:
        found = [_pointwise(name, op, ms, names, how, seen)]
    elif name in _REDUCES and len(ms) == 1:
        found = [_reduced(op, ms[0], tuple(raw.shape)) for raw in op.outputs]
    elif name == "scaled_dot_product_attention" or name.startswith("_scaled_dot_product"):
        how.strict = True
        found = _sdpa(op, ms, names, how, seen)
    elif name == "MultiheadAttention":
        found = _multihead(op, ms, names)
    else:
        labels = einsum_labels(op)
        if labels is not None:
            how.strict = True
            found = [contraction(name, labels, ms, tuple(op.outputs[0].shape), index, names, features, how, seen)]
    for first, twin in how.twins or ():
        seen.origin.setdefault(twin, (index, first))
    if found is None:
        return None
    found += [mean.fresh(tuple(raw.shape)) for raw in op.outputs[len(found) :]]
    return [
        m if m.shape == tuple(raw.shape) else mean.fresh(tuple(raw.shape))
        for m, raw in zip(found, op.outputs, strict=False)
    ]


def _pointwise(name: str, op: Op, ms: list[Meaning], names: Names, how: Meeting, seen: Evidence) -> Meaning:
    shape = tuple(op.outputs[0].shape)
    if name in _NORMALISES:
        dim = argument(op, 1, "dim")
        if isinstance(dim, int) and ms[0].shape:
            seen.normalised.update(sources(ms[0], dim % len(ms[0].shape)))
    if name in ("layer_norm", "native_layer_norm", "rms_norm", "dropout", "native_dropout") and ms[0].shape != shape:
        return mean.fresh(shape)
    operands = [*ms[1:], ms[0]] if name == "where" else ms
    if any(len(m.shape) > len(shape) for m in operands):
        return mean.fresh(shape)
    laid = []
    for m in operands:
        lead = len(shape) - len(m.shape)
        laid.append(project(m, [d + lead for d in range(len(m.shape))], shape))
    return combine(laid, shape, names, how)


def _reduced(op: Op, m: Meaning, shape: Shape) -> Meaning:
    given = argument(op, 1, "dim", "axis")
    rank = len(m.shape)
    if given is None or isinstance(given, Tensor) or not isinstance(given, (int, tuple, list)):
        dims = set(range(rank))
    else:
        dims = {d % rank for d in ((given,) if isinstance(given, int) else given)} if rank else set()
    kept = len(shape) == rank and bool(dims)
    target: list[int | None] = []
    place = 0
    for d in range(rank):
        if d in dims:
            target.append(None)
            place += kept
        else:
            target.append(place)
            place += 1
    return project(m, target, shape)


def _sdpa(op: Op, ms: list[Meaning], names: Names, how: Meeting, seen: Evidence) -> list[Meaning]:
    """scaled_dot_product_attention: scores of q and k, met by the mask, then the sum over the values."""
    q, k, v = ms[:3]
    shape = tuple(op.outputs[0].shape)
    lead = [f"b{d}" for d in range(len(shape) - 2)]

    def letters(m: Meaning, *own: str) -> list[str]:
        # Fewer key/value heads (enable_gqa): each query head reads its own group, the heads of the result are q's.
        batch = lead[len(lead) - (len(m.shape) - 2) :]
        sizes = shape[len(lead) - len(batch) :]
        return [c if n in (1, s) else f"group {c}" for c, n, s in zip(batch, m.shape, sizes, strict=False)] + list(own)

    scores_shape = (*shape[:-1], k.shape[-2])
    first = [letters(q, "m", "d"), letters(k, "n", "d")], [*lead, "m", "n"]
    scores = contract(first, [q, k], scores_shape, names, how, seen)
    if len(ms) > 3 and len(ms[3].shape) <= len(scores_shape):
        offset = len(scores_shape) - len(ms[3].shape)
        mask = project(ms[3], [d + offset for d in range(len(ms[3].shape))], scores_shape)
        scores = combine([scores, mask], scores_shape, names, Meeting())
    second = [[*lead, "m", "n"], letters(v, "n", "e")], [*lead, "m", "e"]
    return [contract(second, [scores, v], shape, names, Meeting(strict=True), seen)]


def _multihead(op: Op, ms: list[Meaning], names: Names) -> list[Meaning]:
    """nn.MultiheadAttention: the output has the query's axes, the weights those of query and key."""
    q, k = ms[0], ms[1]
    rank = len(q.shape)
    out = project(q, list(range(rank)), tuple(op.outputs[0].shape))
    if names.sizes.get("d_model") == q.shape[-1]:  # W_o makes features of the model, whatever the query had
        features = mean.named((q.shape[-1],), [names.factors("d_model", q.shape[-1])])
        lead = project(q, [*range(rank - 1), None], out.shape)
        out = combine([lead, project(features, [rank - 1], out.shape)], out.shape, names, Meeting())
    found = [out]
    if len(op.outputs) > 1:
        shape = tuple(op.outputs[1].shape)
        heads = len(shape) - (rank - 1) - 1  # 1 where the weights are given for every head
        batch = [] if rank == 2 else [0]
        one = project(q, [len(shape) - 2, *batch, None], shape)
        two = project(k, [len(shape) - 1, *batch, None], shape)
        met = [one, two]
        if heads:
            at = len(shape) - 3
            line = mean.named((shape[at],), [names.factors("H", shape[at])])
            met.append(project(line, [at], shape))
        found.append(combine(met, shape, names, Meeting(strict=True)))
    return found
