"""Text to token ids and back, with the place of every token in the text and a form of it that can be read."""

import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tokenizers


@dataclass(frozen=True)
class Encoded:
    """A text as the model reads it; the three tuples have one entry a token.

    text: the text itself, with U+FFFD in the place of each unpaired surrogate (which no encoding can hold).
    ids: the token ids.
    spans: (start, end) such that text[start:end] are the characters the token covers, wholly or in part. A token that
        the tokenizer adds (`[CLS]`, `[SEP]`) covers nothing: start = end.
    tokens: what to show. A byte-level token is shown as its own characters, spaces included (" capital"); where a
        character is split over n tokens, each shows the character and which part of it it is ("注 1/3"). A WordPiece
        token is shown as in the vocabulary ("##ing"). Characters that would be invisible or move their surroundings
        are shown by a picture ("␊" for a line break) or by number ("U+200D").
    """

    text: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


class Tokenizer:
    """A tokenizer file read by the `tokenizers` library. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        import tokenizers

        self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        self._tokenizer.no_truncation()  # too long a text is an error to show, not something to cut in silence
        self._tokenizer.no_padding()
        self._is_byte_level = isinstance(self._tokenizer.decoder, tokenizers.decoders.ByteLevel)
        self._added = {i: t.content for i, t in self._tokenizer.get_added_tokens_decoder().items()}

    def count(self, text: str) -> int:
        """How many tokens `encode` would give; much faster than that for a text that is far too long."""
        return len(self._tokenizer.encode(_encodable(text)))

    def encode(self, text: str) -> Encoded:
        """The tokens of `text`, those included that the model expects around every text."""
        text = _encodable(text)
        encoding = self._tokenizer.encode(text)
        if self._is_byte_level:
            tokens, spans = self._byte_level(text, encoding)
        else:
            tokens, spans = _word_pieces(text, encoding)
        return Encoded(text, tuple(encoding.ids), tuple(tokens), tuple(spans))

    def decode(self, ids: list[int]) -> str:
        """The text of `ids`, without the special tokens; U+FFFD where they hold only a part of a character."""
        return self._tokenizer.decode(ids)

    def _byte_level(self, text: str, encoding: "tokenizers.Encoding") -> tuple[list[str], list[tuple[int, int]]]:
        """Tokens and spans from bytes, since one character can be split over several tokens."""
        data = text.encode()
        char_of = [i for i, char in enumerate(text) for _ in char.encode()]  # the character each byte belongs to
        bounds, start = [], 0  # [start, stop) of each token, in bytes
        for id_, piece in zip(encoding.ids, encoding.tokens, strict=True):
            stop = start + self._n_bytes(id_, piece, data, start)
            bounds.append((char_of[start], char_of[stop - 1] + 1, start, stop))
            start = stop

        pieces_of: dict[int, int] = {}  # character → over how many tokens it is spread
        for first, end, _, _ in bounds:
            for i in {first, end - 1}:
                pieces_of[i] = pieces_of.get(i, 0) + 1
        seen: dict[int, int] = {}
        tokens = []
        for first, end, _, _ in bounds:
            shown = []
            for i in range(first, end):
                seen[i] = seen.get(i, 0) + 1
                n = pieces_of.get(i, 1)
                shown.append(f"{visible(text[i])} {seen[i]}/{n}" if n > 1 else text[i])
            tokens.append(visible("".join(shown)))
        return tokens, [(first, end) for first, end, _, _ in bounds]

    def _n_bytes(self, id_: int, piece: str, data: bytes, start: int) -> int:
        """How many bytes of the text a token stands for."""
        if id_ not in self._added:
            return len(piece)  # byte-level vocabularies spell each byte as one character
        written = self._added[id_].encode()
        return len(written) if data.startswith(written, start) else 1  # else it stands for a byte that has no token


def _encodable(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _word_pieces(text: str, encoding: "tokenizers.Encoding") -> tuple[list[str], list[tuple[int, int]]]:
    spans: list[tuple[int, int]] = []
    for span, is_added in zip(encoding.offsets, encoding.special_tokens_mask, strict=True):
        edge = len(text) if spans else 0
        spans.append((edge, edge) if is_added else span)
    return [visible(piece) for piece in encoding.tokens], spans


def visible(text: str) -> str:
    """`text` such that each character can be seen and none changes the direction or the place of what follows."""
    shown = "".join(_visible(char) for char in text)
    return f"◌{shown}" if shown and unicodedata.category(shown[0]).startswith("M") else shown


def _visible(char: str) -> str:
    category = unicodedata.category(char)
    if ord(char) < 0x20:
        return chr(0x2400 + ord(char))  # the control pictures: ␀ … ␊ …
    if category in ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"):
        return f"U+{ord(char):04X}"
    return char
