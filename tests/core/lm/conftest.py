"""Small models made once a run; every test here that fetches does so into a home of its own."""

from dataclasses import dataclass
from pathlib import Path

import pytest
import transformers

from core.lm import Card, _store
from core.lm.model import Model, read
from tests.core.lm import tiny


@dataclass(frozen=True)
class Tiny:
    """A card, the folder that holds its wheel (and what the wheel was made from), and the model it loads to."""

    card: Card
    folder: Path
    model: Model


def _loaded(card: Card, folder: Path, home: Path) -> Tiny:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWISE_HOME", str(home))
        downloads = _store.models_folder() / "downloads"
        downloads.mkdir(parents=True)
        (downloads / card.wheel.filename).write_bytes((folder / card.wheel.filename).read_bytes())
        return Tiny(card, folder, read(card, _store.ensure(card, pip=["no-pip-is-run"])))


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    folder = tmp_path_factory.mktemp("llama")
    return _loaded(tiny.llama_card(folder), folder, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def tiny_bert_and_origin(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tiny, transformers.BertModel]:
    folder = tmp_path_factory.mktemp("bert")
    card, origin = tiny.bert_card(folder)
    return _loaded(card, folder, tmp_path_factory.mktemp("home")), origin


@pytest.fixture(scope="session")
def tiny_bert(tiny_bert_and_origin: tuple[Tiny, transformers.BertModel]) -> Tiny:
    return tiny_bert_and_origin[0]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HEADWISE_HOME."""
    monkeypatch.setenv("HEADWISE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"
