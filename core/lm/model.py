"""A loaded model: the attention of every head, hidden states, logits and greedy continuation."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from core.attention import KVCache
from core.errors import BadInput
from core.lm._convert import CONFIG, TOKENIZER, WEIGHTS
from core.lm.bert import Bert, BertConfig
from core.lm.cards import MAX_TOKENS, Card
from core.lm.llama import Llama, LlamaConfig
from core.lm.tokenizer import Encoded, Tokenizer


@dataclass(frozen=True, eq=False)
class Attention(Encoded):
    """What every head of a model attends to in one text. `text`, `ids`, `tokens`, `spans` are as in `Encoded`.

    weights: (layers, H, L, L) float32; weights[layer, head, i, j] is how much token i attends to token j, and each row
        sums to 1. It takes layers * H * L * L * 4 bytes: 283 MB for SmolLM2 at 512 tokens.
    n_kv_heads: query heads h * H / n_kv_heads up to the next multiple share key/value head h.
    causal: whether weights[…, i, j] is 0 for all j > i.
    """

    weights: Tensor
    model_id: str
    n_kv_heads: int
    causal: bool


class Model:
    """A model in float32 on the CPU, frozen: it may be shared between threads, and must not be changed."""

    def __init__(self, card: Card, module: Llama | Bert, tokenizer: Tokenizer) -> None:
        self.card = card
        self.module = module.requires_grad_(False).eval()
        self.tokenizer = tokenizer

    @torch.no_grad()
    def attend(self, text: str) -> Attention:
        """The attention weights of every layer and head for `text`.

        Raises BadInput for a text that is blank or has more tokens than the model reads, 512 at most.
        """
        encoded = self._encode(text)
        L = len(encoded.ids)
        weights = torch.empty(self.card.n_layers, self.card.n_heads, L, L)
        x = self.module.embed(torch.tensor([encoded.ids]))  # (1, L, d_model)
        for layer, block in enumerate(self.module.blocks):
            x, weights[layer] = block(x, need_weights=True)
        return Attention(
            **vars(encoded),
            weights=weights,
            model_id=self.card.id,
            n_kv_heads=self.card.n_kv_heads,
            causal=self.card.causal,
        )

    @torch.no_grad()
    def hidden_states(self, text: str | Sequence[int] | Tensor) -> Tensor:
        """The features of a text or of token ids (L,) as they enter the first block and leave each block.

        Returns (layers + 1, L, d_model); the last entry has passed the final norm, where the model has one.
        Raises BadInput as `attend` does, and for ids that the vocabulary has not.
        """
        x = self.module.embed(self._ids(text))
        states = [x]
        for block in self.module.blocks:
            x, _ = block(x)
            states.append(x)
        states[-1] = self.module.norm(x)
        return torch.cat(states)

    @torch.no_grad()
    def logits(self, text: str | Sequence[int] | Tensor) -> Tensor:
        """For each position of a text or of token ids (L,), the logits of the next token: (L, n_vocab).

        Raises BadInput as `hidden_states` does, and for a model that does not predict the next token.
        """
        module = self._decoder()
        return module.unembed(module(self._ids(text))[0])

    @torch.no_grad()
    def generate(self, text: str, n_tokens: int = 16) -> str:
        """What the model continues `text` with: the likeliest next token, `n_tokens` times, through a KV cache.

        Ends earlier with the token that ends a text, or where the model can read no further. Raises BadInput as
        `logits` does, and for an `n_tokens` outside 1 … 512.
        """
        module = self._decoder()
        if not isinstance(n_tokens, int) or not 1 <= n_tokens <= MAX_TOKENS:
            raise BadInput("lm.bad-count", n_tokens=n_tokens, limit=MAX_TOKENS)
        ids = self._ids(text)
        caches = [KVCache() for _ in module.blocks]
        new: list[int] = []
        while len(new) < n_tokens and len(caches[0]) + ids.size(1) <= module.config.max_len:
            x = module(ids, caches)  # (1, L, d_model), then (1, 1, d_model)
            ids = module.unembed(x[:, -1]).argmax(dim=-1, keepdim=True)  # (1, 1)
            if ids.item() == module.config.end_id:
                break
            new.append(int(ids.item()))
        return self.tokenizer.decode(new)

    def _decoder(self) -> Llama:
        if not isinstance(self.module, Llama):
            raise BadInput("lm.not-causal", title=self.card.title)
        return self.module

    def _encode(self, text: str) -> Encoded:
        if not isinstance(text, str):
            raise BadInput("lm.not-text", type=type(text).__name__)
        self._check_length(self.tokenizer.count(text))
        encoded = self.tokenizer.encode(text)
        if not text.strip() or all(start == end for start, end in encoded.spans):
            raise BadInput("lm.empty-text")
        return encoded

    def _ids(self, text: str | Sequence[int] | Tensor) -> Tensor:
        """Token ids (1, L)."""
        if isinstance(text, str):
            return torch.tensor([self._encode(text).ids])
        n_vocab = self.module.config.n_vocab
        try:
            ids = torch.as_tensor(text)
        except (TypeError, ValueError, RuntimeError):
            ids = torch.empty(0)
        if ids.dim() != 1 or ids.dtype not in (torch.int32, torch.int64) or not len(ids):
            raise BadInput("lm.bad-ids", n_vocab=n_vocab)
        if not bool(((ids >= 0) & (ids < n_vocab)).all()):
            raise BadInput("lm.bad-ids", n_vocab=n_vocab)
        self._check_length(len(ids))
        return ids.long()[None]

    def _check_length(self, n: int) -> None:
        limit = min(MAX_TOKENS, self.card.max_tokens)
        if n > limit:
            raise BadInput("lm.too-long", n=n, limit=limit, title=self.card.title)


def read(card: Card, folder: Path) -> Model:
    """The model in `folder`, as `core.lm.ensure` leaves it."""
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    architecture = config.pop("architecture")
    with torch.device("meta"):  # no time is spent on weights that are about to be replaced
        module = Llama(LlamaConfig(**config)) if architecture == "llama" else Bert(BertConfig(**config))
    module.load_state_dict(load_file(folder / WEIGHTS), assign=True)
    return Model(card, module, Tokenizer(folder / TOKENIZER))
