"""Every head, state and logit equals transformers' for the same files, on small files of the real kinds."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
import yaml
from torch import Tensor
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

import core.lm
from core.errors import LANGS, BadInput
from core.lm.llama import Llama, LlamaConfig
from core.lm.model import Model
from tests.core.lm.conftest import Tiny
from tests.core.lm.oracle import halves_from_neighbours, in_transformers, outputs
from tests.core.lm.tiny import SPECIAL

END = SPECIAL.index("<|im_end|>")
TEXTS = ["the", "the thing is in the thing", "多头注意力 12", "in\n  the 'things' " * 6]


def largest_difference(a: Tensor, b: Tensor) -> float:
    assert a.shape == b.shape
    return (a - b).abs().max().item()


@pytest.fixture(scope="module")
def llama_in_transformers(tiny_llama: Tiny) -> transformers.PreTrainedModel:
    """What transformers itself reads from the GGUF, by its own names, dequantised and unpermuted by its own code."""
    path = str(tiny_llama.folder / "tiny.gguf")
    config = transformers.LlamaConfig(**load_gguf_checkpoint(path)["config"])
    reference = transformers.LlamaForCausalLM(config)
    weights = load_gguf_checkpoint(path, return_tensors=True, model_to_load=reference)["tensors"]
    assert reference.load_state_dict(weights, strict=False) == (["lm_head.weight"], [])
    reference.tie_weights()
    reference.set_attn_implementation("eager")
    return reference.eval()


@pytest.mark.parametrize("text", TEXTS)
def test_a_gguf_gives_what_transformers_gets_from_it(
    text: str, tiny_llama: Tiny, llama_in_transformers: transformers.PreTrainedModel
) -> None:
    model = tiny_llama.model
    attention = model.attend(text)
    theirs = outputs(llama_in_transformers, attention.ids)
    assert largest_difference(attention.weights, torch.cat(theirs.attentions)) < 1e-5
    assert largest_difference(model.hidden_states(text), torch.cat(theirs.hidden_states)) < 1e-4
    assert largest_difference(model.logits(text), theirs.logits[0]) < 1e-4


@pytest.mark.parametrize("text", ["the", "The unable café, 2024", "力年 learning " * 3])
def test_a_bert_gives_what_it_gave_in_transformers(
    text: str, tiny_bert_and_origin: tuple[Tiny, transformers.BertModel]
) -> None:
    tiny, origin = tiny_bert_and_origin
    origin.set_attn_implementation("eager")
    attention = tiny.model.attend(text)
    theirs = outputs(origin, attention.ids)
    assert largest_difference(attention.weights, torch.cat(theirs.attentions)) < 1e-5
    assert largest_difference(tiny.model.hidden_states(text), torch.cat(theirs.hidden_states)) < 1e-4


@pytest.mark.parametrize("name", ["tiny_llama", "tiny_bert"])
def test_the_oracle_for_the_real_models_is_right_on_the_small_ones(name: str, request: pytest.FixtureRequest) -> None:
    model: Model = request.getfixturevalue(name).model
    attention = model.attend("the thing in it")
    theirs = outputs(in_transformers(model, "eager"), attention.ids)
    assert largest_difference(attention.weights, torch.cat(theirs.attentions)) < 1e-5
    assert largest_difference(model.hidden_states(attention.ids), torch.cat(theirs.hidden_states)) < 1e-4


def test_pairing_halves_instead_of_neighbours_would_be_seen(tiny_llama: Tiny) -> None:
    attention = tiny_llama.model.attend(TEXTS[1])
    reference = in_transformers(tiny_llama.model, "eager")
    state = tiny_llama.model.module.state_dict()
    for i, layer in enumerate(reference.model.layers):
        right = layer.self_attn.q_proj.weight
        assert torch.equal(right, halves_from_neighbours(state[f"blocks.{i}.attn.w_q.weight"], 8))
        right.copy_(state[f"blocks.{i}.attn.w_q.weight"])
        layer.self_attn.k_proj.weight.copy_(state[f"blocks.{i}.attn.w_k.weight"])
    theirs = outputs(reference, attention.ids)
    assert largest_difference(attention.weights, torch.cat(theirs.attentions)) > 1e-2


def test_attention_says_whose_it_is(tiny_llama: Tiny, tiny_bert: Tiny) -> None:
    a = tiny_llama.model.attend("the thing")
    assert (a.model_id, a.n_kv_heads, a.causal) == ("tiny-llama", 2, True)
    assert a.weights.shape == (2, 4, len(a.ids), len(a.ids))
    assert a.weights.dtype == torch.float32
    assert torch.equal(a.weights, a.weights.tril())
    b = tiny_bert.model.attend("the thing")
    assert (b.model_id, b.n_kv_heads, b.causal) == ("tiny-bert", 4, False)
    assert b.tokens[0] == "[CLS]"
    assert b.weights[:, :, 0, 1:].min() > 0, "both directions"
    for attention in (a, b):
        torch.testing.assert_close(attention.weights.sum(-1), torch.ones_like(attention.weights[..., 0]))
        assert len(attention.tokens) == len(attention.spans) == len(attention.ids)


@pytest.mark.parametrize("text", ["the 12", "it's", "多"])
def test_generation_through_the_cache_is_that_of_the_whole_text_read_again(text: str, tiny_llama: Tiny) -> None:
    model = tiny_llama.model
    ids = list(model.attend(text).ids)
    new = []
    for _ in range(20):
        likeliest = int(model.logits(ids + new)[-1].argmax())
        if likeliest == END:
            break
        new.append(likeliest)
    assert len(new) > 3
    assert model.generate(text, 20) == model.tokenizer.decode(new)
    assert model.generate(text, 3) == model.tokenizer.decode(new[:3])


def llama_that_always_says(token: int, tiny: Tiny, *, max_len: int = 600, end_id: int = END) -> Model:
    """The tiny model with the last norm's weights turned so that one token's logit is the largest."""
    config = LlamaConfig(**asdict(tiny.model.module.config) | {"max_len": max_len, "end_id": end_id})
    module: Any = Llama(config)
    module.load_state_dict(tiny.model.module.state_dict())
    with torch.no_grad():
        for block in module.blocks:  # what enters the last norm is then the same everywhere
            block.attn.w_o.weight.zero_()
            block.ffn.down.weight.zero_()
        module.embed.weight.fill_(0.1)
        module.embed.weight[token] = 1.0
    return Model(tiny.card, module, tiny.model.tokenizer)


def test_generation_ends_with_the_text_and_with_the_last_position(tiny_llama: Tiny) -> None:
    x = tiny_llama.model.tokenizer.encode("x").ids[0]
    assert llama_that_always_says(x, tiny_llama).generate("the", 5) == "xxxxx"
    assert llama_that_always_says(x, tiny_llama, end_id=x).generate("the", 5) == ""
    assert llama_that_always_says(x, tiny_llama, max_len=6).generate("in in", 512) == "xxxx"


def test_a_loaded_model_is_frozen_and_keeps_the_grad_mode_of_its_caller(tiny_llama: Tiny, tiny_bert: Tiny) -> None:
    for model in (tiny_llama.model, tiny_bert.model):
        assert not any(module.training for module in model.module.modules())
        assert not any(parameter.requires_grad for parameter in model.module.parameters())
        before = {name: tensor.clone() for name, tensor in model.module.state_dict().items()}
        assert torch.is_grad_enabled()
        weights = model.attend("the thing").weights
        assert torch.is_grad_enabled()
        assert not weights.is_inference()
        assert all(torch.equal(before[name], tensor) for name, tensor in model.module.state_dict().items())


def test_threads_share_a_model(tiny_llama: Tiny, tiny_bert: Tiny) -> None:
    texts = ["the thing", "in", "多 注 意", "it's 12"] * 2
    for model in (tiny_llama.model, tiny_bert.model):
        alone = [model.attend(text).weights for text in texts]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda text, m=model: m.attend(text).weights, texts))
        for a, b in zip(alone, together, strict=True):
            torch.testing.assert_close(a, b)


def test_ids_in_any_form_equal_their_text(tiny_llama: Tiny) -> None:
    model = tiny_llama.model
    ids = model.attend("the thing").ids
    for form in (ids, list(ids), torch.tensor(ids), torch.tensor(ids, dtype=torch.int32)):
        assert torch.equal(model.logits(form), model.logits("the thing"))
    assert model.logits([5, 6, 7]).shape == (3, model.module.config.n_vocab)


REFUSED: dict[str, tuple[Callable[[Any, Any], object], str, str]] = {
    "empty": (lambda llama, bert: llama.attend(""), "lm.empty-text", ""),
    "blank": (lambda llama, bert: llama.attend(" \n\u3000\t"), "lm.empty-text", ""),
    "nothing but [CLS] and [SEP]": (lambda llama, bert: bert.attend("\u200b"), "lm.empty-text", ""),
    "over 512 tokens": (lambda llama, bert: llama.attend("a b " * 300), "lm.too-long", "a text of 1200 tokens"),
    "over the model's limit": (lambda llama, bert: bert.attend("a " * 39), "lm.too-long", "a text of 41 tokens"),
    "ids over 512": (lambda llama, bert: llama.logits([5] * 513), "lm.too-long", "a text of 513 tokens"),
    "no text": (lambda llama, bert: llama.attend(5), "lm.not-text", "int"),
    "bytes": (lambda llama, bert: bert.attend(b"the"), "lm.not-text", "bytes"),
    "an id past the vocabulary": (lambda llama, bert: llama.logits([272]), "lm.bad-ids", ""),
    "an id below it": (lambda llama, bert: llama.hidden_states([-1]), "lm.bad-ids", ""),
    "no ids": (lambda llama, bert: llama.logits([]), "lm.bad-ids", ""),
    "ids with a batch": (lambda llama, bert: llama.logits(torch.tensor([[5, 6]])), "lm.bad-ids", ""),
    "fractions": (lambda llama, bert: llama.logits([0.5]), "lm.bad-ids", ""),
    "words": (lambda llama, bert: llama.logits(["the"]), "lm.bad-ids", ""),
    "truth values": (lambda llama, bert: llama.logits([True]), "lm.bad-ids", ""),
    "rows of unlike length": (lambda llama, bert: llama.logits([[5], [6, 7]]), "lm.bad-ids", ""),
    "logits of an encoder": (lambda llama, bert: bert.logits("the"), "lm.not-causal", "The tiny-bert"),
    "generation by an encoder": (lambda llama, bert: bert.generate("the"), "lm.not-causal", "The tiny-bert"),
    "no new tokens": (lambda llama, bert: llama.generate("the", 0), "lm.bad-count", "n_tokens = 0"),
    "too many new tokens": (lambda llama, bert: llama.generate("the", 513), "lm.bad-count", "n_tokens = 513"),
    "half a token": (lambda llama, bert: llama.generate("the", 1.5), "lm.bad-count", "n_tokens = 1.5"),
    "blank to continue": (lambda llama, bert: llama.generate(" "), "lm.empty-text", ""),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused(case: str, tiny_llama: Tiny, tiny_bert: Tiny) -> None:
    call, code, words = REFUSED[case]
    with pytest.raises(BadInput) as caught:
        call(tiny_llama.model, tiny_bert.model)
    assert caught.value.code == code
    assert words in caught.value.parts().given
    assert all(part for lang in LANGS for part in caught.value.parts(lang))


def test_the_longest_texts_are_taken(tiny_llama: Tiny, tiny_bert: Tiny) -> None:
    assert tiny_llama.model.attend("ab" * 256).weights.shape[-1] == 512
    assert tiny_bert.model.attend("a " * 38).weights.shape[-1] == 40


def test_every_error_has_its_words_and_every_words_their_error() -> None:
    folder = Path(core.lm.__file__).parent
    raised = set(re.findall(r'"lm\.([\w-]+)"', "".join(path.read_text() for path in folder.glob("*.py"))))
    words = yaml.safe_load((folder / "errors.yaml").read_text(encoding="utf-8"))
    assert raised == set(words)
    for code, parts in words.items():
        assert set(parts) == {"given", "expected", "action"}
        for part, by_language in parts.items():
            assert set(by_language) == set(LANGS)
            holes = [set(re.findall(r"{(\w+)", text)) for text in by_language.values()]
            assert holes[0] == holes[1], f"{code}: {part}"
