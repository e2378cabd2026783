"""The reference with a submission's own weights: what it would compute if it were right."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from core.judge._roles import Slot
from core.pitfalls import Changed, Reference, reference, unchanged

Sizes = Mapping[str, int]
Roles = Mapping[str, tuple[Tensor, Tensor | None]]


def slots_of(problem: str, sizes: Sizes) -> tuple[Slot, ...]:
    """The roles that the weights of a problem play; none for functions."""
    ref = reference(problem)
    if ref.arguments is None:
        return ()
    D, H, d_h = sizes["d_model"], sizes["H"], sizes["d_model"] // sizes["H"]
    out = Slot("o", H, d_h, D, merges=True)
    if problem == "mla":
        d_latent, d_rope = sizes["d_latent"], sizes["d_rope"]
        return (
            Slot("q", H, d_h + d_rope, D), Slot("down", 1, d_latent, D), Slot("k", H, d_h, d_latent),
            Slot("v", H, d_h, d_latent), Slot("rope", 1, d_rope, D), out,
        )  # fmt: skip
    kv_heads = {"gqa": sizes["H_kv"], "kv_cache": sizes["H_kv"], "mqa": 1}.get(problem, H)
    return Slot("q", H, d_h, D), Slot("k", kv_heads, d_h, D), Slot("v", kv_heads, d_h, D), out


class Oracle:
    """A reference, or one with mistakes in it, that takes weights by role. Raises what its source raises."""

    def __init__(self, changed: Changed, sizes: Sizes, *, dtype: torch.dtype = torch.float64) -> None:
        self.reference: Reference = changed.reference
        self._function = _compiled(changed)
        self.module: nn.Module | None = None
        if self.reference.arguments is not None:
            values = {**sizes, "n_heads": sizes["H"], "n_kv_heads": sizes["H_kv"]}
            self.module = self._function(*(values[name] for name in self.reference.arguments)).to(dtype).eval()

    def load(self, roles: Roles) -> bool:
        """Put a submission's weights in; False where a weight has no place or another size."""
        if self.module is None:
            return True
        given = {f"w_{role}": pair for role, pair in roles.items()}
        layers = dict(self.module.named_children())
        if "w_qkv" in layers and "w_qkv" not in given:
            if not all(f"w_{role}" in given for role in "qkv"):
                return False
            parts = [given.pop(f"w_{role}") for role in "qkv"]
            biases = [b if b is not None else w.new_zeros(w.shape[0]) for w, b in parts]
            given["w_qkv"] = torch.cat([w for w, _ in parts]), torch.cat(biases)
        if set(given) != set(layers):
            return False
        with torch.no_grad():
            for name, (weight, bias) in given.items():
                layer: Any = layers[name]
                if not isinstance(layer, nn.Linear) or layer.weight.shape != weight.shape:
                    return False
                layer.weight.copy_(weight)
                if layer.bias is not None:
                    layer.bias.zero_() if bias is None else layer.bias.copy_(bias)
        return True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return (self.module or self._function)(*args, **kwargs)


def right(problem: str, sizes: Sizes, *, dtype: torch.dtype = torch.float64) -> Oracle:
    return Oracle(unchanged(problem), sizes, dtype=dtype)


def _compiled(changed: Changed) -> Any:
    return _run(changed.source, changed.filename, changed.reference.call)


@lru_cache(maxsize=2048)
def _run(source: str, filename: str, call: str) -> Any:
    namespace: dict[str, Any] = {"__name__": filename.strip("<>")}
    exec(compile(source, filename, "exec"), namespace)  # the catalogue's own text, never a submission's
    return namespace[call]
