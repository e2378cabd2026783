"""Byte-level BPE as it is defined, written for reading: it shares nothing with the library that is tested.

Sources: GPT-2 (Radford et al., 2019), section 2.2, and its published pre-tokenization pattern; SmolLM2 first takes
every digit apart.
"""

from itertools import pairwise

import regex

from tests.core.lm.tiny import byte_alphabet

_DIGITS = regex.compile(r"\p{N}|[^\p{N}]+")
_WORDS = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def encode(text: str, vocabulary: dict[str, int], merges: list[tuple[str, str]], unknown: int) -> list[int]:
    """Token ids of a text without special tokens; a byte without a token becomes `unknown`."""
    rank = {pair: i for i, pair in enumerate(merges)}
    alphabet = byte_alphabet()
    ids = []
    for part in _DIGITS.findall(text):
        for word in _WORDS.findall(part):
            pieces = [alphabet[byte] for byte in word.encode()]
            while True:
                pairs = [(rank[pair], i) for i, pair in enumerate(pairwise(pieces)) if pair in rank]
                if not pairs:
                    break
                _, i = min(pairs)
                pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
            ids += [vocabulary.get(piece, unknown) for piece in pieces]
    return ids
