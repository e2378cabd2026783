"""Computing operations on meanings: which axes of the operands are the axes of the result."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.trace import _meaning as mean
from core.trace._axes import Atom, Names, is_length
from core.trace._combine import Meeting, combine, project
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


@dataclass(slots=True)
class Evidence:
    """What the run does with the two axes of the scores, by which one tells queries from keys."""

    normalised: set[Atom] = field(default_factory=set)
    summed: set[Atom] = field(default_factory=set)
    origin: dict[Atom, tuple[int, Atom]] = field(default_factory=dict)  # twin -> (operation, first occurrence)


class Decides(Protocol):
    """Who says what the feature axes of weights are."""

    def told(self, m: Meaning) -> Meaning: ...
    def decide(self, feature: Atom, out: Meaning, index: int) -> "Factored | None": ...
    def decide_one_of_several(self, feature: Atom) -> "Factored | None": ...


class Factored(Protocol):
    def applied(self, m: Meaning, feature: Atom) -> Meaning: ...


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
            ms = _with_features(labels, ms, tuple(op.outputs[0].shape), index, names, features)
            found = [contract(labels, ms, tuple(op.outputs[0].shape), names, how, seen)]
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
            seen.normalised.update(ms[0].known_along(dim % len(ms[0].shape)))
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


# Contractions -------------------------------------------------------------------------------------------------

Labels = tuple[list[list[str]], list[str]]  # for each operand, for each axis its letter; and those of the result


def einsum_labels(op: Op) -> Labels | None:
    """A contraction written as an einsum, None where the operation is none."""
    shapes = [tuple(raw.shape) for raw in op.inputs]
    ranks = [len(s) for s in shapes]
    name = plain_name(op.op)
    match name:
        case "matmul" | "bmm" | "mm" | "mv" | "dot" | "inner" if len(ranks) >= 2:
            return _matmul(ranks[0], ranks[1])
        case "baddbmm" | "addmm" | "addmv" | "addbmm" if len(ranks) == 3 and name != "addbmm":
            (a, b), out = _matmul(ranks[1], ranks[2])
            return [out[len(out) - ranks[0] :], a, b], out
        case "linear" if len(ranks) >= 2:
            lead = [f"x{d}" for d in range(ranks[0] - 1)]
            out = [*lead, *(["n"] if ranks[1] == 2 else [])]
            return [[*lead, "k"], ["n", "k"] if ranks[1] == 2 else ["k"], *([["n"]] if len(ranks) > 2 else [])], out
        case "einsum" if isinstance(op.args[0], str):
            return _einsum(op.args[0], ranks)
        case "embedding" if len(ranks) >= 2:
            weight, ids = (0, 1) if op.op.startswith("aten::") else (1, 0)
            lead = [f"i{d}" for d in range(ranks[ids])]
            return [["v", "n"], lead] if weight == 0 else [lead, ["v", "n"]], [*lead, "n"]
        case "outer" | "ger":
            return [["a"], ["b"]], ["a", "b"]
        case "tensordot":
            return _tensordot(op, ranks)
    return None


def _matmul(a: int, b: int) -> Labels:
    lead = max(a, b, 2) - 2
    batch = [f"b{d}" for d in range(lead)]
    left = [*batch[lead - max(a - 2, 0) :], *(["m"] if a > 1 else []), "k"]
    right = [*batch[lead - max(b - 2, 0) :], "k", *(["n"] if b > 1 else [])]
    return [left, right], [*batch, *(["m"] if a > 1 else []), *(["n"] if b > 1 else [])]


def _einsum(equation: str, ranks: list[int]) -> Labels | None:
    given, arrow, result = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    if len(terms) != len(ranks):
        return None
    dots = max(
        [rank - len(t.replace("...", "")) for t, rank in zip(terms, ranks, strict=True) if "..." in t], default=0
    )
    if not arrow:
        letters = sorted(c for c in set(given) if c.isalpha() and given.count(c) == 1)
        result = ("..." if "..." in given else "") + "".join(letters)

    def letters_of(term: str, many: int) -> list[str]:
        front, _, back = term.partition("...") if "..." in term else (term, "", "")
        middle = [f".{d}" for d in range(dots - many, dots)] if "..." in term else []
        return [*front, *middle, *back]

    operands = [letters_of(t, rank - len(t.replace("...", ""))) for t, rank in zip(terms, ranks, strict=True)]
    return operands, letters_of(result, dots)


def _tensordot(op: Op, ranks: list[int]) -> Labels:
    dims: Any = argument(op, 2, "dims", default=2)
    if isinstance(dims, int):
        dims = (tuple(range(ranks[0] - dims, ranks[0])), tuple(range(dims)))
    left, right = [f"l{d}" for d in range(ranks[0])], [f"r{d}" for d in range(ranks[1])]
    for i, (a, b) in enumerate(zip(*dims, strict=True)):
        left[a % ranks[0]] = right[b % ranks[1]] = f"k{i}"
    return [left, right], [c for c in left + right if not c.startswith("k")]


def contract(
    labels: Labels, ms: Sequence[Meaning], shape: Shape, names: Names, how: Meeting, seen: Evidence
) -> Meaning:
    """An einsum: letters of the result lie over each other, letters of no result are summed over."""
    operands, out = labels
    ms = [_diagonal(m, letters) for m, letters in zip(ms, operands, strict=False)]
    operands = [list(dict.fromkeys(letters)) for letters in operands]
    _meet_inside(ms, operands, out, names, seen)
    laid = []
    for m, letters in zip(ms, operands, strict=False):
        laid.append(project(m, [out.index(c) if c in out else None for c in letters], shape))
    return combine(laid, shape, names, how)


def _with_features(
    labels: Labels, ms: list[Meaning], shape: Shape, index: int, names: Names, features: Decides
) -> list[Meaning]:
    """The operands with the unnamed axes of a weight, that meet named activations and survive, told apart."""
    operands, out = labels
    ms = [features.told(m) for m in ms]
    for k, (m, letters) in enumerate(zip(ms, operands, strict=False)):
        others = [(o, at) for j, (o, at) in enumerate(zip(ms, operands, strict=False)) if j != k]
        if any(map(_declared, m.fields)) or not any(_declared(a) for o, _ in others for a in _all_atoms(o)):
            continue
        met = {c for o, at in others for d, c in enumerate(at) if any(a.known for a in o.along(d))}
        new = [a for d, c in enumerate(letters) if c in out and c not in met for a in m.along(d)]
        unnamed = list(dict.fromkeys(new))
        if len(unnamed) == 1:
            last = max(k + 1, 2)  # a bias has nothing to add
            laid = contract((operands[:last], out), ms[:last], shape, names, Meeting(strict=True), Evidence())
            chosen = features.decide(unnamed[0], laid, index)
            ms[k] = chosen.applied(m, unnamed[0]) if chosen else m
        for atom in unnamed if len(unnamed) > 1 else ():
            chosen = features.decide_one_of_several(atom)
            ms[k] = chosen.applied(ms[k], atom) if chosen else ms[k]
    _name_heads(ms, operands, out, names)
    return ms


def _all_atoms(m: Meaning) -> list[Atom]:
    return [*m.fields, *(atom for units in m.units for atom, _ in units)]


def _declared(atom: Atom) -> bool:
    return atom.known and not atom.alias


def _name_heads(ms: list[Meaning], operands: list[list[str]], out: list[str], names: Names) -> None:
    """Feature axes of equal width, told apart by their part in the scores.

    Where queries meet keys, what is kept for both is the heads and what is summed over is a head's features;
    where weights meet values, what only the values bring is a head's features.
    """
    if len(ms) != 2 or len(operands) < 2:
        return
    lines = [{c: m.known_along(d) for d, c in enumerate(letters)} for m, letters in zip(ms, operands, strict=False)]

    def length(k: int, c: str) -> bool:
        atoms = [r for a in lines[k].get(c, ()) for r in a.resolved()]
        return bool(atoms) and all(a.name is not None and is_length(a.name) for a in atoms)

    own = [[c for c in lines[k] if c in out and c not in lines[1 - k] and length(k, c)] for k in (0, 1)]
    scores = bool(own[0]) and bool(own[1])
    values = any(length(0, c) and length(1, c) for c in lines[0] if c in lines[1] and c not in out)
    for k in (0, 1):
        for c, atoms in lines[k].items():
            if len(atoms) != 1 or atoms[0].parts or atoms[0].alias or not atoms[0].feature:
                continue
            shared = c in lines[1 - k]
            if (scores and shared and c not in out) or (values and not shared):
                _call(atoms[0], ("d_h",), names)
            elif (scores or values) and shared and c in out:
                _call(atoms[0], ("H", "H_kv"), names)


def _call(atom: Atom, possible: tuple[str, ...], names: Names) -> None:
    name = next((n for n in possible if names.sizes.get(n) == atom.size), None)
    if name is not None:
        atom.alias = names.factors(name, atom.size)


def _diagonal(m: Meaning, letters: list[str]) -> Meaning:
    """An operand in which a letter stands twice, read along its diagonal: nothing is known of it."""
    if len(set(letters)) == len(letters):
        return m
    first = [letters.index(c) for c in dict.fromkeys(letters)]
    return mean.fresh(tuple(m.shape[d] for d in first))


def _meet_inside(
    ms: Sequence[Meaning], operands: list[list[str]], out: list[str], names: Names, seen: Evidence
) -> None:
    """Letters that are summed over: unnamed axes (of weights) are what they are multiplied with."""
    for letter in {c for letters in operands for c in letters if c not in out}:
        here = [(m, letters.index(letter)) for m, letters in zip(ms, operands, strict=False) if letter in letters]
        for m, at in here:
            atoms = set(m.known_along(at))
            others = {a.root for o, d in here if o is not m for a in o.known_along(d)}
            seen.summed.update(a for a in atoms if a.root in others)
        learn(here, names)


def learn(here: list[tuple[Meaning, int]], names: Names) -> None:
    """Let axes that are multiplied and summed over name each other."""
    if len(here) < 2 or all(a.known for m, at in here for a in m.along(at)):
        return
    lines = [project(m, [0 if d == at else None for d in range(len(m.shape))], (m.shape[at],)) for m, at in here]
    if all(line.shape == lines[0].shape for line in lines):
        combine(lines, lines[0].shape, names, Meeting())


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
