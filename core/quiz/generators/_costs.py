"""Sizes for what attention costs, and for the caches of real models."""

from core.costs import config
from core.quiz.generators._draw import Draw, Sizes


def _cost_score_count(draw: Draw) -> Sizes:
    B, H, d_h = draw.one(2, 3, 4), draw.one(8, 12, 16), draw.one(64, 128)
    P, C = draw.one(80, 90, 190, 490), draw.one(1, 10, 20)
    return {"B": B, "H": H, "d_h": d_h, "P": P, "C": C, "total": P + C}


def _cost_score_flops(draw: Draw) -> Sizes:
    H, H_kv = draw.one((8, 2), (8, 4), (16, 4), (16, 8), (32, 8))
    L = draw.one(100, 200, 300, 400, 500, 1000, 2000)
    return {"H": H, "H_kv": H_kv, "G": H // H_kv, "d_h": draw.one(64, 128), "L": L}


def _cost_crossover(draw: Draw) -> Sizes:
    H, H_kv = draw.one(
        (8, 8), (8, 4), (8, 2), (12, 12), (12, 4), (16, 16), (16, 8), (16, 4), (20, 4), (24, 8), (28, 4), (32, 8)
    )  # fmt: skip
    d_h = draw.one(64, 128)
    return {"H": H, "H_kv": H_kv, "d_h": d_h, "d_model": H * d_h}


def _model(draw: Draw, *ids: str) -> Sizes:
    model = config(draw.one(*ids))
    sizes = model.model_dump(include={"n_layers", "n_heads", "n_kv_heads", "d_h"})
    return sizes | {"model": model.name, "url": model.source, "file": model.source.rsplit("/", 1)[-1]}


def _kv_per_token(draw: Draw) -> Sizes:
    ids = (
        "gpt2", "llama-2-7b", "llama-2-70b", "llama-3-8b", "mistral-7b-v0.3", "qwen2.5-7b", "falcon-7b", "smollm2-135m",
    )  # fmt: skip
    return _model(draw, *ids) | {"dtype": draw.one("bfloat16", "float8_e4m3fn", "float32")}


def _model_and_length(draw: Draw) -> Sizes:
    ids = {
        "llama-2-7b": (1024, 2048, 4096),
        "llama-2-70b": (2048, 4096),
        "llama-3-8b": (2048, 4096, 8192),
        "mistral-7b-v0.3": (4096, 8192, 16384, 32768),
        "qwen2.5-7b": (8192, 16384, 32768),
    }
    id_ = draw.one(*ids)
    return _model(draw, id_) | {"L": draw.one(*ids[id_])}


def _kv_total(draw: Draw) -> Sizes:
    return _model_and_length(draw) | {"B": draw.one(2, 4, 8, 16)}


def _kv_largest_batch(draw: Draw) -> Sizes:
    return _model_and_length(draw) | {"room": draw.one(10, 12, 20, 24, 30, 40)}


def _kv_window(draw: Draw) -> Sizes:
    period, layers = draw.one((2, 24), (3, 24), (4, 24), (4, 32), (6, 24), (6, 30), (6, 48))
    return {
        "period": period, "n_layers": layers, "n_global": layers // period, "n_local": layers - layers // period,
        "H_kv": draw.one(2, 4, 8), "d_h": draw.one(64, 128), "W": draw.one(512, 1024, 2048, 4096),
        "L": draw.one(8192, 16384, 32768),
    }  # fmt: skip


def _mla_cache(draw: Draw) -> Sizes:
    d_h = draw.one(64, 128)
    return {"d_c": draw.one(256, 384, 512, 768), "d_R": draw.one(32, 64), "d_h": d_h, "H": draw.one(16, 32, 64, 128)}


SIZES = {
    "gen-cost-score-count": _cost_score_count,
    "gen-cost-score-flops": _cost_score_flops,
    "gen-cost-crossover": _cost_crossover,
    "gen-kv-per-token": _kv_per_token,
    "gen-kv-total": _kv_total,
    "gen-kv-largest-batch": _kv_largest_batch,
    "gen-kv-window": _kv_window,
    "gen-mla-cache": _mla_cache,
}
