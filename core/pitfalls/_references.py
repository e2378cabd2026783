"""The reference implementations: what each is called, which sizes it has, what it is given and what it gives back."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from core.errors import BadInput

_FOLDER = Path(__file__).parent / "references"

SELF_MASKS = ("none", "causal", "padding", "joint", "random", "empty-row")


@dataclass(frozen=True)
class Reference:
    """A right solution of `problem`. Several references may solve one problem in different styles; "check" solves none
    (""), it is what one writes to check a solution.

    `call` is the name of the function, or of the class whose forward is meant; `arguments` are the sizes that the
    class is made with (None for a function). `takes` are the tensors it is given, `gives` what it returns: "out", with
    "attn" beside it, or with a "cache" that goes into the next call. `masks` are the kinds of mask it can be given.
    """

    name: str
    problem: str
    call: str
    arguments: tuple[str, ...] | None
    takes: tuple[str, ...] = ("x",)
    gives: tuple[str, ...] = ("out",)
    masks: tuple[str, ...] = ("none",)
    differentiable: bool = True

    @property
    def source(self) -> str:
        """Its file as people read it, which is the text that runs."""
        return _read(self.name)

    @property
    def filename(self) -> str:
        """The name that its compiled code goes by, in a trace's sources and in tracebacks."""
        return f"<{self.name}>"

    @property
    def cached(self) -> bool:
        return "cache" in self.gives


_HEADS = ("d_model", "n_heads")
_KV_HEADS = (*_HEADS, "n_kv_heads")
_CACHE = ("out", "cache")

REFERENCES: dict[str, Reference] = {
    reference.name: reference
    for reference in (
        Reference("sdpa", "sdpa", "scaled_dot_product_attention", None, takes=("q", "k", "v"), masks=SELF_MASKS),
        Reference("mha", "mha", "MultiHeadAttention", _HEADS, masks=SELF_MASKS),
        Reference("mha_fused", "mha", "MultiHeadAttention", _HEADS, masks=SELF_MASKS),
        Reference("mha_dropout", "mha", "MultiHeadAttention", _HEADS, masks=SELF_MASKS),
        Reference("mha_module", "mha", "MultiHeadAttention", _HEADS, gives=("out", "attn"), masks=SELF_MASKS[:-1]),
        Reference("causal", "causal", "CausalSelfAttention", _HEADS),
        Reference("gqa", "gqa", "GroupedQueryAttention", _KV_HEADS, masks=SELF_MASKS),
        Reference("gqa_fused", "gqa", "GroupedQueryAttention", _KV_HEADS, masks=SELF_MASKS),
        Reference("mqa", "mqa", "MultiQueryAttention", _HEADS, masks=SELF_MASKS),
        Reference(
            "cross", "cross", "CrossAttention", _HEADS, takes=("x", "context"),
            masks=("none", "padding", "random", "empty-row"),
        ),
        Reference("kv_cache", "kv_cache", "CachedAttention", _KV_HEADS, gives=_CACHE),
        Reference("rope", "rope", "RotaryAttention", _HEADS, gives=_CACHE),
        Reference("sliding_window", "sliding_window", "SlidingWindowAttention", (*_HEADS, "window")),
        Reference("online_softmax", "online_softmax", "blockwise_attention", None, takes=("q", "k", "v", "block_size")),
        Reference("mla", "mla", "MultiHeadLatentAttention", (*_HEADS, "d_latent", "d_rope"), gives=_CACHE),
        Reference("check", "", "Check", _HEADS, differentiable=False),
    )
}  # fmt: skip
PROBLEMS: tuple[str, ...] = tuple(
    dict.fromkeys(reference.problem for reference in REFERENCES.values() if reference.problem)
)
"""The coding tasks, easiest first."""


def reference(name: str) -> Reference:
    """The reference called `name`; each problem has one that is called like it. Raises BadInput for any other name."""
    if name not in REFERENCES:
        raise BadInput("pitfalls.unknown-reference", name=name, known=", ".join(REFERENCES))
    return REFERENCES[name]


@cache
def _read(name: str) -> str:
    return (_FOLDER / f"{name}.py").read_text(encoding="utf-8")
