"""SmolLM2 and MiniLM as they are fetched, against transformers with the same weights."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy

from core import lm
from core.errors import BadInput
from core.lm.bert import BertBlock
from core.lm.llama import LlamaBlock
from core.lm.model import Model
from tests.core.lm.oracle import in_transformers, outputs
from tests.core.lm.test_models import largest_difference
from tests.core.lm.test_tokenizer import ODD, TEXTS, check_byte_level, text_of_any_kind, vocabulary_and_merges

pytestmark = pytest.mark.models

SENTENCES = [
    "The capital of France is",
    "The animal didn't cross the street because it was too tired.",
    "多头注意力让模型同时关注不同位置的信息。",
    "def f(x):\n    return x + 1  # 2024\n" * 5,
    ODD,
]


@pytest.fixture(scope="module")
def smollm2() -> Model:
    return lm.load("smollm2-135m")


@pytest.fixture(scope="module")
def minilm() -> Model:
    return lm.load("minilm-l6")


@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_every_head_and_state_is_that_of_transformers(name: str, request: pytest.FixtureRequest) -> None:
    model: Model = request.getfixturevalue(name)
    reference = in_transformers(model, "eager")
    for text in SENTENCES:
        attention = model.attend(text)
        theirs = outputs(reference, attention.ids)
        assert largest_difference(attention.weights, torch.cat(theirs.attentions)) < 1e-4
        states, their_states = model.hidden_states(text), torch.cat(theirs.hidden_states)
        assert largest_difference(states[-1], their_states[-1]) < 1e-3
        # Between the blocks of SmolLM2 single features reach 27 000, where float32 itself is no finer than 2e-3.
        torch.testing.assert_close(states, their_states, atol=1e-3, rtol=1e-5)
        if model.card.causal:
            assert largest_difference(model.logits(text), theirs.logits[0]) < 1e-3


@pytest.mark.parametrize("model_id", lm.MODELS)
def test_the_card_tells_the_truth(model_id: str) -> None:
    card, model = lm.MODELS[model_id], lm.load(model_id)
    config, attention = model.module.config, model.attend("One, two.")
    L = len(attention.ids)
    assert attention.weights.shape == (card.n_layers, card.n_heads, L, L)
    assert card.d_h * card.n_heads == config.d_model
    assert card.max_tokens == config.max_len
    for block in model.module.blocks:
        assert isinstance(block, LlamaBlock | BertBlock)
        assert (block.attn.n_kv_heads, block.attn.causal) == (card.n_kv_heads, card.causal)
    assert lm.is_installed(model_id)
    installed = sum(path.stat().st_size for path in lm.ensure(model_id).iterdir())
    assert 0.98 * card.installed_bytes < installed <= card.installed_bytes


def test_smollm2_knows_the_capital_of_france(smollm2: Model) -> None:
    assert smollm2.generate("The capital of France is", 1) == " Paris"
    assert smollm2.attend("The capital of France is").tokens == ("The", " capital", " of", " France", " is")


def test_smollm2_tokens(smollm2: Model) -> None:
    words = vocabulary_and_merges(smollm2.tokenizer)
    for text in [*SENTENCES, *TEXTS]:
        check_byte_level(smollm2.tokenizer, smollm2.tokenizer.encode(text), *words)

    @settings(deadline=None)
    @given(text_of_any_kind)
    def any_text(text: str) -> None:
        check_byte_level(smollm2.tokenizer, smollm2.tokenizer.encode(text), *words)

    any_text()


def test_minilm_tokens(minilm: Model, tmp_path_factory: pytest.TempPathFactory) -> None:
    vocabulary = minilm.tokenizer._tokenizer.get_vocab()
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(sorted(vocabulary, key=vocabulary.__getitem__)), encoding="utf-8")
    slow = BertTokenizerLegacy(str(path))
    for text in [*SENTENCES[:4], *TEXTS[:6]]:
        assert list(minilm.tokenizer.encode(text).ids) == slow(text)["input_ids"]
    words = st.lists(st.sampled_from(["unbelievably", "Café", "2024", "注意", "don't", "[MASK]", "e-mail", "ﬁ", "…"]))

    @settings(deadline=None)
    @given(words.map(" ".join))
    def any_words(text: str) -> None:
        assert list(minilm.tokenizer.encode(text).ids) == slow(text)["input_ids"]

    any_words()


def test_512_tokens_are_the_most(smollm2: Model, minilm: Model) -> None:
    assert smollm2.attend("a" + " the" * 511).weights.shape == (30, 9, 512, 512)
    assert minilm.attend("the " * 510).weights.shape == (6, 12, 512, 512)
    with pytest.raises(BadInput, match="513 tokens; at most 512"):
        smollm2.attend("a" + " the" * 512)
    with pytest.raises(BadInput, match="513 tokens; at most 512"):
        minilm.attend("the " * 511)
