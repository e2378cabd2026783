"""Words of the interface in the language of this session: `t("walk.next")`."""

from functools import cache
from pathlib import Path

import yaml

from core.errors import LANGS, Lang
from pages._ui import state

NAMES: dict[Lang, str] = {"en": "EN", "zh": "中文"}


def lang() -> Lang:
    """The language of this session."""
    return state.lang()


def t(key: str, **params: object) -> str:
    """The words for `key`, with its parameters put in. Raises KeyError for a key that no catalogue has."""
    return catalogue(lang())[key].format(**params)


@cache
def catalogue(language: Lang) -> dict[str, str]:
    """All keys and words of one language."""
    path = Path(__file__).parent / "locales" / f"{language}.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def from_locale(locale: str | None) -> Lang:
    """The language nearest to a browser's locale such as zh-CN."""
    return next((language for language in LANGS if (locale or "").lower().startswith(language)), "en")
