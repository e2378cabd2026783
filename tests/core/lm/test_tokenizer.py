"""Tokens are those of independent tokenizers, and each says where in the text it stands and how to show it."""

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy

from core.lm.tokenizer import Encoded, Tokenizer
from tests.core.lm import slow_bpe, tiny
from tests.core.lm.conftest import Tiny

ODD = (
    "é ï ﬁ ß İ Å ǅ ½ ² ٣ 五 注意力 龘 한국 👨\u200d👩\u200d👧 e\u0301 \u200b \u202e \u2028 "
    "\x00 \x04 \x1d \x7f \x85 \ufeff \U00050000 \U000e0001"
)
TEXTS = [
    "the thing is in",
    "  two  spaces\n\n\nand lines\t\r\n ",
    "2024 is 12 and 3.14",
    "it's theirs, isn't IT'S?",
    "多头注意力 multi-head",
    "    four",
    ODD,
]
text_of_any_kind = st.text(st.characters(exclude_categories=()) | st.sampled_from("the in'gs 12\n多注意"), max_size=40)


def vocabulary_and_merges(tokenizer: Tokenizer) -> tuple[dict[str, int], list[tuple[str, str]]]:
    model = json.loads(tokenizer._tokenizer.to_str())["model"]
    return model["vocab"], [(left, right) for left, right in model["merges"]]


def check_byte_level(tokenizer: Tokenizer, encoded: Encoded, vocabulary: dict, merges: list) -> None:
    """The ids of the slow tokenizer; spans that cover the text in order; tokens that can be shown."""
    text = encoded.text
    assert list(encoded.ids) == slow_bpe.encode(text, vocabulary, merges, unknown=0)
    covered = [i for start, end in encoded.spans for i in range(start, end)]
    assert sorted(set(covered)) == list(range(len(text)))
    assert covered == sorted(covered)
    for token, (start, end) in zip(encoded.tokens, encoded.spans, strict=True):
        assert not any(unicodedata.category(char)[0] == "C" for char in token)
        if text[start:end].isascii() and text[start:end].isprintable():
            assert token == text[start:end]
    if 0 not in encoded.ids:
        assert tokenizer.decode(list(encoded.ids)) == text


@pytest.mark.parametrize("text", TEXTS)
def test_byte_level_tokens(text: str, tiny_llama: Tiny) -> None:
    tokenizer = tiny_llama.model.tokenizer
    check_byte_level(tokenizer, tokenizer.encode(text), *vocabulary_and_merges(tokenizer))


@given(text_of_any_kind)
def test_byte_level_tokens_of_any_text(tiny_llama: Tiny, text: str) -> None:
    tokenizer = tiny_llama.model.tokenizer
    encoded = tokenizer.encode(text)
    assert encoded.text == "".join("\ufffd" if unicodedata.category(char) == "Cs" else char for char in text)
    assert tokenizer.count(text) == len(encoded.ids)
    check_byte_level(tokenizer, encoded, *vocabulary_and_merges(tokenizer))


def test_a_digit_is_a_token_of_its_own_even_where_a_merge_would_join_it(tiny_llama: Tiny) -> None:
    assert ("1", "2") in vocabulary_and_merges(tiny_llama.model.tokenizer)[1]
    assert tiny_llama.model.tokenizer.encode("12").tokens == ("1", "2")


def test_a_character_split_over_tokens_is_shown_with_its_parts(tiny_llama: Tiny) -> None:
    encoded = tiny_llama.model.tokenizer.encode("in 多注")
    shown = dict(zip(zip(encoded.tokens, encoded.spans, strict=True), encoded.ids, strict=True))
    assert list(shown) == [
        ("in", (0, 2)),
        (" 多 1/2", (2, 4)),
        ("多 2/2", (3, 4)),
        ("注 1/2", (4, 5)),
        ("注 2/2", (4, 5)),
    ]
    halves = list(shown.values())
    assert "\ufffd" in tiny_llama.model.tokenizer.decode(halves[1:2]), "what the bytes alone would have shown"
    assert tiny_llama.model.tokenizer.decode(halves) == "in 多注"


def test_a_byte_without_a_token_is_told_from_the_special_token_of_the_same_id(tiny_llama: Tiny) -> None:
    encoded = tiny_llama.model.tokenizer.encode("a\x04<|endoftext|>\x04b")
    assert encoded.ids.count(0) == 3
    assert encoded.tokens == ("a", "␄", "<|endoftext|>", "␄", "b")
    assert encoded.spans == ((0, 1), (1, 2), (2, 15), (15, 16), (16, 17))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\n", "␊"),
        ("\t", "␉"),
        (" ", " "),
        ("\u200d", "U+200D 1/3"),
        ("\u202e", "U+202E 1/3"),
        ("\u0301", "◌\u0301 1/2"),
        ("\ud800", "\ufffd 1/3"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(text: str, shown: str, tiny_llama: Tiny) -> None:
    assert tiny_llama.model.tokenizer.encode(text).tokens[0] == shown


def test_surrogates_that_make_a_pair_are_the_character(tiny_llama: Tiny) -> None:
    assert tiny_llama.model.tokenizer.encode("\ud83d\ude00").text == "😀"


@pytest.fixture(scope="module")
def slow_word_piece(tmp_path_factory: pytest.TempPathFactory) -> BertTokenizerLegacy:
    """transformers' tokenizer in plain Python."""
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(tiny.BERT_VOCABULARY), encoding="utf-8")
    return BertTokenizerLegacy(str(path))


@pytest.mark.parametrize("text", ["The unable CAFÉ, learning 力年 2024", "zebra " * 30, "[MASK] the [SEP]", *TEXTS[:6]])
def test_word_pieces(text: str, tiny_bert: Tiny, slow_word_piece: BertTokenizerLegacy) -> None:
    assert list(tiny_bert.model.tokenizer.encode(text).ids) == slow_word_piece(text)["input_ids"]


@given(text_of_any_kind)
def test_word_pieces_of_any_text(tiny_bert: Tiny, text: str) -> None:
    encoded = tiny_bert.model.tokenizer.encode(text)
    assert encoded.tokens[0] == "[CLS]"
    assert encoded.tokens[-1] == "[SEP]"
    assert encoded.spans[0] == (0, 0)
    assert encoded.spans[-1] == (len(encoded.text),) * 2
    places = [place for span in encoded.spans for place in span]
    assert places == sorted(places)
    for token, (start, end) in zip(encoded.tokens[1:-1], encoded.spans[1:-1], strict=True):
        assert start < end
        assert not any(unicodedata.category(char)[0] == "C" for char in token)


def test_word_pieces_stand_where_they_were_before_normalising(tiny_bert: Tiny) -> None:
    encoded = tiny_bert.model.tokenizer.encode("The unable Café")
    assert encoded.tokens == ("[CLS]", "the", "un", "##able", "cafe", "[SEP]")
    covered = [encoded.text[start:end] for start, end in encoded.spans]
    assert covered == ["", "The", "un", "able", "Café", ""]


def test_nothing_is_cut_or_padded(tiny_bert: Tiny) -> None:
    stored = json.loads((Path(tiny_bert.folder) / "bert" / "tokenizer.json").read_text(encoding="utf-8"))
    assert stored["truncation"]["max_length"] == stored["padding"]["strategy"]["Fixed"] == 8
    assert tiny_bert.model.tokenizer.count("the") == 3
    assert tiny_bert.model.tokenizer.count("the " * 20) == 22
