"""The configurations: complete, and equal to what an independent library ships."""

import subprocess
import sys

import pytest
from pydantic import ValidationError
from transformers import FalconConfig, GPT2Config

from core import costs
from core.errors import LANGS, BadInput

KINDS = {
    "gpt2": ("MHA", 1),
    "llama-2-7b": ("MHA", 1),
    "llama-2-70b": ("GQA", 8),
    "llama-3-8b": ("GQA", 4),
    "mistral-7b-v0.3": ("GQA", 4),
    "qwen2.5-7b": ("GQA", 7),
    "falcon-7b": ("MQA", 71),
    "smollm2-135m": ("GQA", 3),
}


def test_kind_and_group_of_each_model():
    assert {model.id: (model.kind, model.group) for model in costs.configs()} == KINDS


def test_ids_are_unique_and_heads_fill_d_model():
    models = costs.configs()
    assert len({model.id for model in models}) == len(models)
    for model in models:
        assert model.n_heads * model.d_h == model.d_model, model.id


def test_gpt2_and_falcon_are_as_transformers_has_them():
    gpt2, theirs = costs.config("gpt2"), GPT2Config()
    assert (gpt2.n_layers, gpt2.d_model, gpt2.n_heads, gpt2.context) == (
        theirs.num_hidden_layers,
        theirs.hidden_size,
        theirs.num_attention_heads,
        theirs.n_positions,
    )
    falcon, theirs = costs.config("falcon-7b"), FalconConfig()
    assert theirs.multi_query
    assert (
        falcon.n_layers,
        falcon.d_model,
        falcon.n_heads,
        falcon.n_kv_heads,
        falcon.d_h,
        falcon.context,
    ) == (
        theirs.num_hidden_layers,
        theirs.hidden_size,
        theirs.num_attention_heads,
        1,
        theirs.head_dim,
        theirs.max_position_embeddings,
    )


def test_cache_of_known_models():
    """Half a MiB a token for Llama 2 7B is a figure that the field quotes."""
    assert costs.config("llama-2-7b").kv_bytes_per_token == 512 * 1024
    assert costs.config("llama-3-8b").kv_bytes_per_token == 128 * 1024


def test_an_unknown_model_is_explained_in_both_languages():
    with pytest.raises(BadInput) as caught:
        costs.config("llama-2-8b")
    for lang in LANGS:
        parts = caught.value.parts(lang)
        assert "llama-2-8b" in parts.given
        assert "llama-2-7b" in parts.expected


def test_a_configuration_that_cannot_work_is_refused():
    sizes = costs.config("llama-2-7b").model_dump()
    for wrong in ({"n_kv_heads": 5}, {"n_layers": 0}, {"n_layers": "32"}, {"source": "memory"}, {"extra": 1}):
        with pytest.raises(ValidationError):
            costs.ModelConfig.model_validate({**sizes, **wrong})


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (23040, "22.5 KiB"),
        (2**40, "1 TiB"),
        (2**51, "2048 TiB"),
    ],
)
def test_bytes_text(count, text):
    assert costs.bytes_text(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(1, "1 FLOP"), (1000, "1 kFLOP"), (274_877_906_944, "274.9 GFLOP"), (10**15, "1 PFLOP")],
)
def test_flops_text(count, text):
    assert costs.flops_text(count) == text


def test_costs_need_no_torch():
    code = "import sys, core.costs; core.costs.configs(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
