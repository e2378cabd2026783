"""Sizes for shapes, strides, splitting, merging, grouping: where the numbers of a head lie."""

from core.quiz.generators._draw import Draw, Sizes


def _heads(draw: Draw) -> Sizes:
    """B, L, H, d_h and d_model, all of them different numbers."""
    B, L, H = draw.one(2, 3), draw.one(6, 10, 12), draw.one(4, 8)
    d_h = draw.one(16, 32, 64)
    return {"B": B, "L": L, "H": H, "d_h": d_h, "d_model": H * d_h}


def _strides_chain(draw: Draw) -> Sizes:
    s = _heads(draw)
    case, then = draw.one(
        ("turned", ".transpose(1, 2)"),
        ("turned", ".transpose(1, 2).transpose(-2, -1)"),
        ("turned", ".permute(2, 0, 1, 3)"),
        ("turned", ".permute(0, 2, 3, 1)"),
        ("sliced", ".transpose(1, 2)[:, :, -1:]"),
        ("sliced", ".transpose(1, 2)[:, ::2]"),
        ("fused", "[:, :, 0].transpose(1, 2)"),
        ("fused", "[:, :, 1].transpose(1, 2)"),
    )
    parts = "3, " if case == "fused" else ""
    width = s["d_model"] * (3 if case == "fused" else 1)
    return s | {"case": case, "then": then, "width": width, "parts": parts}


def _strides_element(draw: Draw) -> Sizes:
    s = _heads(draw)
    turned = draw.one(False, True)
    b, h, t, f = 1, draw.within(1, 3), draw.within(1, 5), draw.within(1, 9)
    then = ".transpose(1, 2).transpose(-2, -1)" if turned else ".transpose(1, 2)"
    at = (b, h, f, t) if turned else (b, h, t, f)
    return s | {"then": then, "at": ", ".join(map(str, at)), "h": h, "t": t, "f": f}


def _strides_legal_view(draw: Draw) -> Sizes:
    B, L, H, d_h = draw.one(2, 3), draw.one(6, 10), draw.one(4, 8), draw.one(16, 32)
    then, order = draw.one(
        (".transpose(1, 2)", (0, 2, 1, 3)),
        (".permute(0, 2, 3, 1)", (0, 2, 3, 1)),
        (".permute(1, 0, 2, 3)", (1, 0, 2, 3)),
        (".permute(2, 3, 0, 1)", (2, 3, 0, 1)),
        (".permute(2, 0, 1, 3)", (2, 0, 1, 3)),
    )
    merged = draw.one((0,), (1,), (2,), (0, 2), (0, 1), (1, 2))
    sizes = [(B, L, H, d_h)[axis] for axis in order]
    target = [sizes[0]]
    for axis, size in enumerate(sizes[1:]):
        target[-1:] = [target[-1] * size] if axis in merged else [target[-1], size]
    return {
        "B": B, "L": L, "H": H, "d_h": d_h, "d_model": H * d_h, "then": then,
        "sizes": ", ".join(map(str, sizes)), "target": ", ".join(map(str, target)), "merged": list(merged),
    }  # fmt: skip


def _split_scores_shape(draw: Draw) -> Sizes:
    s = _heads(draw)
    case = draw.one("right", "right", "split-no-transpose", "split-swapped-factors")
    first, second = (s["d_h"], s["H"]) if case == "split-swapped-factors" else (s["H"], s["d_h"])
    then = "" if case == "split-no-transpose" else ".transpose(1, 2)"
    return s | {"case": case, "first": first, "second": second, "then": then, "asked": draw.one("kT", "scores")}


def _split_direct_view(draw: Draw) -> Sizes:
    H, L, d_h = draw.one(2, 4), draw.one(8, 12, 16, 20), draw.one(16, 32, 64)
    h, t = draw.within(1, H - 1), draw.within(1, L // H - 1)
    return {"L": L, "H": H, "d_h": d_h, "d_model": H * d_h, "h": h, "t": t}


def _merge_does_it_run(draw: Draw) -> Sizes:
    B, L, H, d_h = draw.one(2, 3), draw.one(1, 6, 10, 12), draw.one(4, 8), draw.one(16, 32)
    d_model = H * d_h
    turn = draw.one(*[".transpose(1, 2)"] * 3, ".transpose(1, 2).contiguous()", "")
    flat = draw.one("view", "view", "view", "reshape")
    rows = draw.one(d_model, d_model, d_h)
    return {"B": B, "L": L, "H": H, "d_h": d_h, "d_model": d_model, "turn": turn, "flat": flat, "rows": rows}


def _merge_bytes_copied(draw: Draw) -> Sizes:
    B, H, L, d_h = draw.one(1, 2, 4), draw.one(4, 8), draw.one(1, 16, 32, 64, 128), draw.one(32, 64)
    back = f"reshape({B}, {L}, {H * d_h})"
    then = draw.one(
        f"transpose(1, 2).{back}", f"transpose(1, 2).{back}", "transpose(1, 2).flatten(2)", "transpose(1, 2)",
        "transpose(1, 2).contiguous()", "flatten(0, 1)", "transpose(-2, -1).contiguous()",
    )  # fmt: skip
    dtype = draw.one("float16", "bfloat16", "float32")
    return {"B": B, "H": H, "L": L, "d_h": d_h, "then": then, "dtype": dtype}


def _scale_of_a_score(draw: Draw) -> Sizes:
    root = draw.one(4, 8, 16)
    H = draw.one(2, 3, 4, 8, 16)
    return {"d_h": root**2, "H": H, "d_model": H * root**2, "dot": root * draw.within(1, 4), "L": draw.one(100, 128)}


def _softmax_total(draw: Draw) -> Sizes:
    B, H, Lq = draw.one(2, 3), draw.one(4, 8), draw.one(5, 6, 10)
    return {"B": B, "H": H, "Lq": Lq, "Lk": Lq + draw.within(1, 10), "dim": draw.one(-1, -1, -2, 1, 0)}


def _shared(draw: Draw) -> Sizes:
    H, H_kv = draw.one((8, 2), (12, 4), (12, 3), (16, 4), (16, 8), (24, 4), (32, 8), (28, 4), (40, 8))
    return {"H": H, "H_kv": H_kv, "G": H // H_kv}


def _gqa_who_reads(draw: Draw) -> Sizes:
    s = _shared(draw)
    return s | {"h": draw.within(1, s["H"] - 1)}


def _gqa_readers(draw: Draw) -> Sizes:
    H, H_kv = draw.one((12, 3), (12, 4), (16, 4), (24, 6), (32, 8))
    kv = draw.within(1, H_kv - 1)
    near = range(H // H_kv * kv - 1, H // H_kv * (kv + 1))  # a neighbour of theirs first
    far = [h for h in range(kv, H, H_kv) if h not in near]
    chosen = sorted([*draw.some(near, 3), *draw.some(far, 2)])
    return {"H": H, "H_kv": H_kv, "G": H // H_kv, "kv": kv} | {f"h{i}": h for i, h in enumerate(chosen)}


def _gqa_fused_split(draw: Draw) -> Sizes:
    H, H_kv = draw.one((8, 2), (8, 4), (12, 4), (16, 4), (16, 2), (32, 8))
    d_h = draw.one(32, 64, 128)
    return {"H": H, "H_kv": H_kv, "d_h": d_h, "d_model": H * d_h, "G": H // H_kv}


def _gqa_parameters(draw: Draw) -> Sizes:
    s = _shared(draw)
    d_h = draw.one(64, 128)
    d_model = draw.one(s["H"] * d_h, 1024, 2048)
    return s | {"d_h": d_h, "d_model": d_model}


def _cross_shape(draw: Draw) -> Sizes:
    s = _heads(draw)
    B, Lq = s["B"], s.pop("L")
    Lk = draw.one(7, 9, 15, 20)
    case = draw.one("right", "right", "cross-roles-swapped")
    made = "heads(x), heads(memory)" if case == "right" else "heads(memory), heads(x)"
    return s | {
        "Lq": Lq, "Lk": Lk, "d_enc": draw.one(48, 80, 96), "made": made, "case": case, "B": B,
        "values": "memory" if case == "right" else "x", "asked": draw.one("scores", "scores", "out", "k"),
    }  # fmt: skip


SIZES = {
    "gen-strides-chain": _strides_chain,
    "gen-strides-element": _strides_element,
    "gen-strides-legal-view": _strides_legal_view,
    "gen-strides-stages": _heads,
    "gen-split-scores-shape": _split_scores_shape,
    "gen-split-direct-view": _split_direct_view,
    "gen-scale-of-a-score": _scale_of_a_score,
    "gen-softmax-total": _softmax_total,
    "gen-merge-does-it-run": _merge_does_it_run,
    "gen-merge-bytes-copied": _merge_bytes_copied,
    "gen-gqa-who-reads": _gqa_who_reads,
    "gen-gqa-readers": _gqa_readers,
    "gen-gqa-fused-split": _gqa_fused_split,
    "gen-gqa-parameters": _gqa_parameters,
    "gen-cross-shape": _cross_shape,
}
