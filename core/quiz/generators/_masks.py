"""Sizes for masks, rotary positions and the running softmax."""

from core.quiz.generators._draw import Draw, Sizes


def _chunk(draw: Draw) -> Sizes:
    """P keys in the cache and C new tokens behind them."""
    P, C = draw.within(3, 15), draw.within(3, 8)
    return {"P": P, "C": C, "total": P + C}


def _mask_visible_keys(draw: Draw) -> Sizes:
    P, C, W = draw.within(3, 7), draw.within(3, 5), draw.within(2, 4)
    return {"P": P, "C": C, "W": W, "last": P - 1, "total": P + C, "before": W - 1, "row": draw.within(1, C - 1)}


def _mask_combined_shape(draw: Draw) -> Sizes:
    B, H, Lq = draw.one(2, 3, 4), draw.one(6, 8), draw.one(5, 7, 10)
    case, index = draw.one(
        ("keys", "[:, None, None, :]"),
        ("keys", "[:, None, None]"),
        ("three-axes", "[:, None, :]"),
        ("queries", "[:, None, :, None]"),
    )
    Lk = Lq if case == "queries" else Lq + draw.one(0, 4, 5)
    return {"B": B, "H": H, "Lq": Lq, "Lk": Lk, "P": Lk - Lq, "case": case, "index": index}


def _mask_axis_it_meets(draw: Draw) -> Sizes:
    H, L = draw.one(4, 8), draw.one(6, 10)
    B = draw.one(2, 3, H, L)
    shape = draw.one(
        f"{B}, {L}", f"{B}, 1, {L}", f"{B}, 1, 1, {L}", f"{B}, 1, {L}, {L}", f"{H}, 1, {L}", f"{L}, {L}"
    )  # fmt: skip
    return {"B": B, "H": H, "L": L, "shape": shape, "first": int(shape.split(",")[0])}


def _rope_angle(draw: Draw) -> Sizes:
    d_h, pair = draw.one((8, 1), (8, 2), (8, 3), (16, 2), (16, 4), (4, 1))
    P, C = draw.within(11, 60), draw.within(2, 4)
    return {"d_h": d_h, "pair": pair, "P": P, "C": C, "row": draw.within(1, C - 1), "last": P - 1}


def _rope_same_score(draw: Draw) -> Sizes:
    n = draw.within(3, 12)
    m = n + draw.within(2, 6)
    s = draw.within(2, 9)
    return {
        "m": m,
        "n": n,
        "far": m - n,
        "s": s,
        "m_s": m + s,
        "n_s": n + s,
        "m2": 2 * m,
        "n2": 2 * n,
        "n_b": n + 2 * s,
    }


def _flash_running_sum(draw: Draw) -> Sizes:
    one = [draw.within(0, 3) for _ in range(2)]
    two = [draw.within(0, 5) for _ in range(draw.one(2, 3))]
    return {"one": one, "two": two}


SIZES = {
    "gen-mask-visible-keys": _mask_visible_keys,
    "gen-mask-cells-of-a-chunk": _chunk,
    "gen-mask-combined-shape": _mask_combined_shape,
    "gen-mask-axis-it-meets": _mask_axis_it_meets,
    "gen-rope-angle": _rope_angle,
    "gen-rope-same-score": _rope_same_score,
    "gen-flash-running-sum": _flash_running_sum,
}
