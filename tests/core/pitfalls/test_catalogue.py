"""The catalogue as data: complete, in order, well written; and read without torch."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from core import pitfalls
from core.errors import LANGS, BadInput
from core.pitfalls import IDS, VOCABULARY, Case, Change, Entry

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "core" / "pitfalls" / "catalogue"

each_entry = pytest.mark.parametrize("entry", pitfalls.catalogue(), ids=lambda entry: entry.id)


def test_every_id_of_the_vocabulary_has_its_entry() -> None:
    written = {group.id: tuple(entry.id for entry in group.entries) for group in pitfalls.groups()}
    assert written == VOCABULARY
    assert len(set(IDS)) == len(IDS)


def test_the_files_are_the_groups() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{group}.yaml" for group in VOCABULARY}


def test_no_key_stands_twice() -> None:
    """Of which YAML silently takes the last."""

    class OneOfEach(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
            keys = [self.construct_object(key) for key, _ in node.value]
            assert len(set(keys)) == len(keys), (node.start_mark, keys)
            return super().construct_mapping(node, deep)

    for path in FOLDER.glob("*.yaml"):
        yaml.load(path.read_text(encoding="utf-8"), OneOfEach)


@each_entry
def test_related_entries_are_others(entry: Entry) -> None:
    assert set(entry.related) <= set(IDS) - {entry.id}
    assert len(set(entry.related)) == len(entry.related)


@each_entry
def test_texts_are_short(entry: Entry) -> None:
    """At most two sentences for why, one for what one sees and one for the repair, in both languages."""
    for name, most in (("why", 2), ("symptom", 1), ("repair", 1)):
        text = getattr(entry, name)
        english = re.sub(r"`[^`]*`|\[\[[^\]]*\]\]", "x", text["en"])
        assert len(re.findall(r"[.!?](?=\s|$)", english)) in range(1, most + 1), text["en"]
        assert len(re.findall(r"[。！？]", text["zh"])) in range(1, most + 1), text["zh"]
        assert len(text["en"]) <= 300
    assert not re.search(r"[.。]$", entry.title["en"] + entry.title["zh"])


@each_entry
def test_chinese_uses_the_words_of_the_glossary(entry: Entry) -> None:
    glossary = yaml.safe_load((ROOT / "quiz_data/glossary.yaml").read_text(encoding="utf-8"))
    avoid = [word for term in glossary for word in term["avoid"]]
    for text in (entry.title, entry.why, entry.symptom, entry.repair):
        assert not [word for word in avoid if word in text["zh"]]
        prose = re.sub(r"`[^`]*`|\[\[[^\]]*\]\]", "", text["zh"])
        assert not re.search(r"[\u3400-\u9fff] ?[,;:?!]|[,;:?!] ?[\u3400-\u9fff]", prose), text["zh"]


def test_texts_are_read_without_torch() -> None:
    code = (
        "import sys\nfrom core import pitfalls\n"
        "first = pitfalls.catalogue()[0]\nassert first.why['zh'] and pitfalls.IDS and pitfalls.apply(first).lines\n"
        "print('torch' in sys.modules)\npitfalls.run(first)\nprint('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]


ENTRY = pitfalls.catalogue()[0]
BAD = {
    "pitfalls.unknown-pitfall": lambda: pitfalls.entry("no-such-thing"),
    "pitfalls.unknown-form": lambda: pitfalls.apply(ENTRY, form="other"),
    "pitfalls.unknown-reference": lambda: pitfalls.reference("rnn"),
    "pitfalls.not-in-reference": lambda: pitfalls.apply(ENTRY, reference="sdpa"),
    "pitfalls.not-once": lambda: pitfalls.change("mha", [Change(right="split", wrong="")]),
    "pitfalls.changes-overlap": lambda: pitfalls.change(
        "mha", [Change(right="return t.view(", wrong="t("), Change(right="view(B, L, self.n_heads", wrong="")]
    ),
    "pitfalls.unknown-size": lambda: pitfalls.run(ENTRY, Case(sizes={"S": 3})),
    "pitfalls.mask-not-taken": lambda: pitfalls.compare(pitfalls.unchanged("causal"), Case(mask="causal")),
}


@pytest.mark.parametrize("code", BAD)
def test_what_cannot_be_done_is_said_in_both_languages(code: str) -> None:
    with pytest.raises(BadInput) as caught:
        BAD[code]()
    assert caught.value.code == code
    assert all(all(caught.value.parts(lang)) for lang in LANGS)


def test_changes_of_two_mistakes_go_together() -> None:
    """In any order; the lines are those of the text."""
    scale = Change(right=" / self.d_h**0.5", wrong="")
    merge = Change(right="transpose(1, 2).contiguous()", wrong="contiguous()")
    both = pitfalls.change("mha", [merge, scale])
    assert both == pitfalls.change("mha", [scale, merge])
    for lines, text in zip(both.lines, ("scores = q @", "out.contiguous()"), strict=True):
        assert text in both.source.splitlines()[lines.first - 1]
