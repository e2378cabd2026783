"""Errors that people see: what was given, what was expected, what to do, in both languages.

An error carries a code and parameters; its words live beside the code that raises it, in
``core/<package>/errors.yaml``, both languages side by side::

    d_model-not-divisible:
      given:    {en: "d_model = {d_model} and n_heads = {n_heads}", zh: "…"}
      expected: {en: "…", zh: "…"}
      action:   {en: "…", zh: "…"}

The code ``attention.d_model-not-divisible`` is found in ``core/attention/errors.yaml``.
"""

from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import yaml

Lang = Literal["en", "zh"]
LANGS: tuple[Lang, ...] = ("en", "zh")


class Parts(NamedTuple):
    """The three parts of an error, in one language."""

    given: str
    expected: str
    action: str


class Explained(Exception):
    """An error that explains itself. Raise one of the subclasses, so that callers can tell them apart."""

    def __init__(self, code: str, **params: object) -> None:
        self.code = code
        self.params = params
        super().__init__(code, params)

    def parts(self, lang: Lang = "en") -> Parts:
        """The words of this error in `lang`, with its parameters put in."""
        words = _catalogue(self.code.partition(".")[0])[self.code.partition(".")[2]]
        return Parts(*(words[part][lang].format(**self.params) for part in Parts._fields))

    def __str__(self) -> str:
        given, expected, action = self.parts()
        return f"{given}; {expected}. {action}"


class BadInput(Explained, ValueError):
    """The caller gave something that cannot work."""


class Unavailable(Explained, RuntimeError):
    """Something that is needed is not there (a file, the network, room on the disk)."""


def preload(package: str) -> None:
    """Read the words of a package now: for a process that may read no files later."""
    _catalogue(package)


@cache
def _catalogue(package: str) -> dict[str, dict[str, dict[str, str]]]:
    path = Path(__file__).parent / package / "errors.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))
