"""The references are right: held against the definition number by number, torch's own attention and each other."""

import itertools
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from core import content, pitfalls
from core.attention import MultiHeadAttention, causal_mask, oracle
from core.attention.rope import RoPE
from core.pitfalls import PROBLEMS, REFERENCES, Case
from core.pitfalls._cases import build, draw_weights, inputs

MODULES = [name for name, reference in REFERENCES.items() if reference.arguments is not None]
CACHED = [name for name, reference in REFERENCES.items() if reference.cached]
MASKS = ("none", "causal", "padding", "joint", "random", "empty-row")


def made(name: str, case: Case | None = None) -> Any:
    built = build(pitfalls.unchanged(name), case or Case())
    assert built.error is None
    draw_weights(built.made, built.made)
    return built.made


def given(name: str, case: Case | None = None) -> dict[str, Any]:
    return inputs(pitfalls.reference(name), case or Case()).given


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)


def defined(module: Any, x: Tensor, context: Tensor, mask: Tensor | None, n_kv_heads: int) -> Tensor:
    """What the definition says, in loops over Python's floats."""
    if hasattr(module, "w_qkv"):
        weights, biases = ({n: getattr(module.w_qkv, part).chunk(3)[i].tolist() for i, n in enumerate("qkv")}
                           for part in ("weight", "bias"))  # fmt: skip
    else:
        weights, biases = ({n: getattr(getattr(module, f"w_{n}"), part).tolist() for n in "qkv"}
                           for part in ("weight", "bias"))  # fmt: skip
    weights["o"], biases["o"] = module.w_o.weight.tolist(), module.w_o.bias.tolist()
    H = module.n_heads
    allowed = torch.ones(x.size(0), H, x.size(1), context.size(1)) if mask is None else mask
    allowed = allowed.expand(x.size(0), H, x.size(1), context.size(1))
    out, _ = oracle.attend(
        x.tolist(), context.tolist(), weights, biases, H, n_kv_heads, lambda b, h, i, j: bool(allowed[b, h, i, j])
    )
    return torch.tensor(out, dtype=torch.float64)


@pytest.mark.parametrize(("name", "n_kv_heads"), [("mha", 6), ("mha_fused", 6), ("gqa", 3), ("mqa", 1)])
@pytest.mark.parametrize("mask", MASKS)
def test_attention_to_itself_is_what_the_definition_says(name: str, n_kv_heads: int, mask: Any) -> None:
    module, arguments = made(name), given(name, Case(mask=mask))
    expected = defined(module, arguments["x"], arguments["x"], arguments.get("mask"), n_kv_heads)
    close(module(**arguments), expected)


@pytest.mark.parametrize("mask", ["none", "padding", "random", "empty-row"])
def test_cross_attention_is_what_the_definition_says(mask: Any) -> None:
    module, arguments = made("cross"), given("cross", Case(mask=mask))
    expected = defined(module, arguments["x"], arguments["context"], arguments.get("mask"), 6)
    close(module(**arguments), expected)


def test_causal_and_window_are_masks() -> None:
    x = given("causal")["x"]
    lower = causal_mask(5)
    causal, window = made("causal"), made("sliding_window")
    close(causal(x), defined(causal, x, x, lower, 6))
    band = lower & ~lower.tril(-3)  # the token and two before it: a window of 3
    close(window(x), defined(window, x, x, band, 6))
    assert not torch.allclose(window(x), defined(window, x, x, lower & ~lower.tril(-4), 6))


def test_a_cached_run_is_causal_attention() -> None:
    module, x = made("kv_cache"), given("kv_cache")["x"]
    close(module(x)[0], defined(module, x, x, causal_mask(13), 3))


@pytest.mark.parametrize("mask", MASKS)
def test_the_function_is_torchs_own(mask: Any) -> None:
    """Which gives zeros for an empty row, too."""
    arguments = given("sdpa", Case(mask=mask))
    function = made("sdpa")
    own = F.scaled_dot_product_attention(*(arguments[n] for n in "qkv"), attn_mask=arguments.get("mask"))
    close(function(**arguments), own)
    if mask != "none":
        arguments["mask"] = arguments["mask"].double()
        close(function(**arguments), own)


def test_hidden_padding_may_hold_nan() -> None:
    nan, none = Case(mask="padding", values="hidden-nan"), Case(mask="padding")
    assert given("sdpa", nan)["v"].isnan().any()
    close(made("sdpa")(**given("sdpa", nan)), made("sdpa")(**given("sdpa", none)))


@pytest.mark.parametrize("block_size", [1, 2, 3, 7, 100])
def test_block_by_block_is_all_at_once(block_size: int) -> None:
    for values in ("normal", "large", "low"):
        arguments = given("online_softmax", Case(sizes={"block_size": block_size}, values=values))
        q, k, v = (arguments[n] for n in "qkv")
        close(made("online_softmax")(**arguments), F.scaled_dot_product_attention(q, k, v))


@pytest.mark.parametrize("name", CACHED)
def test_any_chunks_give_what_one_pass_gives(name: str) -> None:
    """All 2 ** 6 ways to cut 7 tokens into chunks; the caches that were given keep their values."""
    module, x = made(name), given(name, Case(sizes={"L": 7}))["x"]
    with torch.no_grad():
        whole, full = module(x)
        for cuts in itertools.product((False, True), repeat=6):
            ends = [i + 1 for i, cut in enumerate(cuts) if cut]
            cache, outs = None, []
            for chunk in x.tensor_split(ends, dim=1):
                before = [part.clone() for part in cache or ()]
                out, later = module(chunk, cache)
                assert all(torch.equal(part, copy) for part, copy in zip(cache or (), before, strict=True))
                cache = later
                outs.append(out)
            close(torch.cat(outs, dim=1), whole)
            for part, expected in zip(cache or (), full, strict=True):
                close(part, expected)


def test_caches_are_as_small_as_they_can_be() -> None:
    """A token costs 2 * H_kv * d_h numbers, and d_latent + d_rope."""
    B, T = 4, 13
    for name, numbers in (("kv_cache", 2 * 3 * 8), ("rope", 2 * 6 * 8), ("mla", 12 + 10)):
        _, cache = made(name)(given(name)["x"])
        assert sum(part.numel() for part in cache) == B * T * numbers


def test_rotary_attention_is_the_modules_with_the_same_weights() -> None:
    ours, x = made("rope"), given("rope")["x"]
    module = MultiHeadAttention(48, 6, causal=True, rope=RoPE(8, pairing="halves")).double()
    module.load_state_dict(ours.state_dict())
    close(ours(x)[0], module(x))
    other = MultiHeadAttention(48, 6, causal=True, rope=RoPE(8, pairing="neighbours")).double()
    other.load_state_dict(ours.state_dict())
    assert not torch.allclose(ours(x)[0], other(x))


def test_latent_attention_is_multi_head_attention_over_longer_heads() -> None:
    """Written out head by head; the rotation by complex numbers."""
    module, x = made("mla"), given("mla")["x"]
    L, H, d_h, d_rope = 13, 6, 8, 10
    turn = torch.polar(
        torch.ones(L, d_rope // 2, dtype=torch.float64),
        torch.outer(torch.arange(L, dtype=torch.float64), 10000.0 ** -torch.linspace(0, 0.8, 5, dtype=torch.float64)),
    )

    def rotated(t: Tensor) -> Tensor:
        pairs = torch.complex(t[..., : d_rope // 2], t[..., d_rope // 2 :]) * turn
        return torch.cat((pairs.real, pairs.imag), dim=-1)

    latent = module.w_down(x)
    heads = []
    for h in range(H):
        q = module.w_q(x)[..., h * (d_h + d_rope) : (h + 1) * (d_h + d_rope)]
        q = torch.cat((q[..., :d_h], rotated(q[..., d_h:])), dim=-1)
        k = torch.cat((module.w_k(latent)[..., h * d_h : (h + 1) * d_h], rotated(module.w_rope(x))), dim=-1)
        v = module.w_v(latent)[..., h * d_h : (h + 1) * d_h]
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(d_h + d_rope)
        heads.append(scores.masked_fill(~causal_mask(L), -math.inf).softmax(-1) @ v)
    close(module(x)[0], module.w_o(torch.cat(heads, dim=-1)))


@pytest.mark.parametrize("mask", MASKS[:-1])
def test_the_module_of_torch_is_the_plain_one(mask: Any) -> None:
    plain, module, arguments = made("mha"), made("mha_module"), given("mha", Case(mask=mask))
    with torch.no_grad():
        for theirs, ours in (
            (module.mha.in_proj_weight, plain.w_qkv.weight),
            (module.mha.in_proj_bias, plain.w_qkv.bias),
            (module.mha.out_proj.weight, plain.w_o.weight),
            (module.mha.out_proj.bias, plain.w_o.bias),
        ):
            theirs.copy_(ours)
    out, attn = module(**arguments)
    close(out, plain(**arguments))
    assert attn.shape == (4, 6, 5, 5)
    hidden = torch.zeros(1, dtype=torch.bool) if mask == "none" else ~arguments["mask"]
    assert (attn[hidden.expand(attn.shape)] == 0).all()
    if mask == "padding":
        close(module(arguments["x"], padding=arguments["mask"][:, 0, 0])[0], out)


def test_the_plain_one_is_the_standard_answer() -> None:
    """In numbers wherever the standard answer has any: it has no rule for a query that may attend to nothing."""
    namespace: dict[str, Any] = {"__name__": "standard"}
    exec(content.standard_answer_source(), namespace)
    ours = made("mha")
    standard = namespace["MultiHeadAttention"](48, 6).double()
    standard.load_state_dict(ours.state_dict())
    for mask in MASKS[:-1]:
        arguments = given("mha", Case(mask=mask))
        assert torch.equal(standard(**arguments), ours(**arguments))
    arguments = given("mha", Case(mask="empty-row"))
    expected, found = standard(**arguments), ours(**arguments)
    assert expected.isnan().any()
    assert torch.equal(found[~expected.isnan()], expected[~expected.isnan()])
    assert not found.isnan().any()


@pytest.mark.parametrize("name", [name for name, reference in REFERENCES.items() if "empty-row" in reference.masks])
def test_an_empty_row_takes_nothing_and_has_gradients(name: str) -> None:
    """Its output is that of weights 0, W_o's bias where there is one; and nothing becomes nan on the way back."""
    function, arguments = made(name), given(name, Case(mask="empty-row"))
    for tensor in arguments.values():
        if tensor.is_floating_point():
            tensor.requires_grad_()
    out = function(**arguments)
    nothing = torch.zeros(8) if name == "sdpa" else function.w_o.bias
    row = out[0, :, -1] if name == "sdpa" else out[0, -1]
    close(row, nothing.to(row).expand(row.shape))
    out.sum().backward()
    leaves = [*arguments.values(), *(function.parameters() if name != "sdpa" else ())]
    assert all(leaf.grad.isfinite().all() for leaf in leaves if leaf.requires_grad)


@pytest.mark.parametrize("name", MODULES)
def test_sizes_that_do_not_fit_are_refused_with_both_numbers(name: str) -> None:
    if name in ("mha_module", "check"):  # torch's own check
        return
    error = build(pitfalls.unchanged(name), Case(sizes={"d_model": 50})).error
    assert isinstance(error, ValueError)
    assert str(error) == "d_model = 50 is not a multiple of n_heads = 6"


def test_other_sizes_are_refused() -> None:
    for name, sizes, words in (
        ("gqa", {"H_kv": 4}, "n_heads = 6 is not a multiple of n_kv_heads = 4"),
        ("kv_cache", {"H_kv": 4}, "n_heads = 6 is not a multiple of n_kv_heads = 4"),
        ("rope", {"d_h": 7}, "d_h = 7 is odd, and features are turned in pairs"),
        ("mla", {"d_rope": 3}, "d_rope = 3 is odd, and features are turned in pairs"),
    ):
        assert str(build(pitfalls.unchanged(name), Case(sizes=sizes)).error) == words
    with pytest.raises(ValueError, match="x has a batch of 4, context one of 1"):
        made("cross")(torch.zeros(4, 5, 48).double(), torch.zeros(1, 7, 48).double())
    with pytest.raises(ValueError, match="block_size = 0, and a block holds at least one key"):
        made("online_softmax")(*(torch.zeros(1, 1, 2, 2) for _ in "qkv"), block_size=0)
    with pytest.raises(ValueError, match="window = 0, and a token sees at least itself"):
        type(made("sliding_window"))(48, 6, 0)


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_it_runs_in_other_precisions(name: str, dtype: Any) -> None:
    """With the dtype kept and numbers that are close."""
    case = Case(dtype=dtype)
    found, expected = (
        result[0] if isinstance(result, tuple) else result
        for result in (made(name, case)(**given(name, case)), made(name)(**given(name)))
    )
    assert found.dtype == getattr(torch, dtype)
    assert (found - expected).abs().max() < 0.15


@pytest.mark.parametrize("name", REFERENCES)
def test_it_is_written_to_be_read(name: str) -> None:
    """torch alone is imported, a docstring says what it is, shapes stand where they are made."""
    source = pitfalls.reference(name).source
    assert source.startswith('"""')
    imported = re.findall(r"^(?:import|from) (\S+)", source, re.MULTILINE)
    assert all(module.split(".")[0] == "torch" for module in imported)
    assert len(re.findall(r"# .*\(B, .*\)", source)) >= 1
    assert source.count("\n") < 90


def test_every_problem_has_a_reference_of_its_name() -> None:
    assert set(PROBLEMS) <= set(REFERENCES)
    assert {reference.problem for reference in REFERENCES.values()} == {*PROBLEMS, ""}
    files = {path.stem for path in (Path(pitfalls.__file__).parent / "references").glob("*.py")}
    assert files == set(REFERENCES)
