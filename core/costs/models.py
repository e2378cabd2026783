"""The attention sizes of real models; the data are in models.yaml, each with its source."""

from functools import cache
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator

from core.costs.formulas import kv_bytes_per_token
from core.errors import BadInput

_FILE = Path(__file__).parent / "models.yaml"


class ModelConfig(BaseModel):
    """The sizes of one model's attention. `context` is the longest sequence it was made for, in tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: str = Field(pattern=r"^[a-z0-9]+(?:[.-][a-z0-9]+)*$")
    name: str
    n_layers: PositiveInt
    d_model: PositiveInt
    n_heads: PositiveInt
    n_kv_heads: PositiveInt
    d_h: PositiveInt
    context: PositiveInt
    source: str = Field(pattern=r"^https://")
    """Where the model's makers state the sizes."""
    checked: str
    """A second, independent place that states the same."""

    @property
    def kind(self) -> Literal["MHA", "GQA", "MQA"]:
        if self.n_kv_heads == self.n_heads:
            return "MHA"
        return "MQA" if self.n_kv_heads == 1 else "GQA"

    @property
    def group(self) -> int:
        """G = H / H_kv, the query heads that share a kv head; MHA's cache would be G times as large."""
        return self.n_heads // self.n_kv_heads

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of KV cache a token, in 16 bits a number."""
        return kv_bytes_per_token(n_layers=self.n_layers, n_kv_heads=self.n_kv_heads, d_h=self.d_h)

    @model_validator(mode="after")
    def _heads_are_shared_evenly(self) -> Self:
        if self.n_heads % self.n_kv_heads:
            raise ValueError(f"{self.id}: {self.n_heads} heads cannot share {self.n_kv_heads} kv heads evenly")
        return self


@cache
def configs() -> tuple[ModelConfig, ...]:
    """All models, in the order of the file."""
    return tuple(ModelConfig(**entry) for entry in yaml.safe_load(_FILE.read_text(encoding="utf-8")))


def config(model_id: str) -> ModelConfig:
    """The model with that id; raises BadInput (a ValueError) if there is none."""
    for entry in configs():
        if entry.id == model_id:
            return entry
    raise BadInput("costs.unknown-model", model=model_id, known=", ".join(entry.id for entry in configs()))
