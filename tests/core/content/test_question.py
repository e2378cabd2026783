"""The content files: complete in both languages, no number typed in, and nothing that the schema does not know."""

import re
import subprocess
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from core import content
from core.content import schema, values
from core.content._load import _filled
from core.markup import parse

FOLDER = Path(__file__).parents[3] / "quiz_data"
FILES = ("question", "glossary", "reading", "related")
PLACEHOLDER = re.compile(r"\{(\w+)\}")
CJK = re.compile(r"[\u4e00-\u9fff]")


def raw(name: str):
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))


def texts(node, path: str = ""):
    """Every {en, zh} pair with its path in the file."""
    if isinstance(node, dict):
        if {"en", "zh"} & node.keys():
            yield path, node
        else:
            for key, entry in node.items():
                yield from texts(entry, f"{path}.{key}")
    elif isinstance(node, list):
        for entry in node:
            name = entry.get("id", "") if isinstance(entry, dict) else ""
            yield from texts(entry, f"{path}[{name}]")


ALL_TEXTS = [(f"{file}{path}", text) for file in FILES for path, text in texts(raw(file))]
ALL_PROSE = [(path, text) for path, text in ALL_TEXTS if not path.endswith(".term")]
each_text = pytest.mark.parametrize("text", [text for _, text in ALL_PROSE], ids=[path for path, _ in ALL_PROSE])


@each_text
def test_both_languages_are_written(text):
    assert text.keys() == {"en", "zh"}
    assert not CJK.search(text["en"])
    assert CJK.search(text["zh"]) or text["zh"] == text["en"].lower()


@each_text
def test_both_languages_use_the_same_numbers_and_shapes(text):
    def used(lang):
        shapes = Counter(segment.text for segment in parse(text[lang]) if segment.kind == "shape")
        return Counter(PLACEHOLDER.findall(text[lang])), shapes

    assert used("en") == used("zh")


@each_text
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_number_is_typed_in(text, lang):
    prose = " ".join(segment.text for segment in parse(text[lang]) if segment.kind in ("text", "bold"))
    assert typed_numbers(prose) == []


def typed_numbers(prose: str) -> list[str]:
    """Numbers of two digits and more that are no part of a name such as 70B, and decimals."""
    prose = re.sub(r"\bA\.2\.1\b|\b[23]\.[12]\b(?= is | 节)|(?<=Section )3\.2", "", prose)  # sections of papers
    return re.findall(r"(?<![A-Za-z\d{_])\d[\d,]*\.?\d+(?![\d}A-Za-z])", prose)


@pytest.mark.parametrize("prose", ["it takes 512 KiB", "缩小到 12 倍", "about 4,096 tokens", "2.5 times", "占 10%"])
def test_a_typed_number_would_be_found(prose):
    assert typed_numbers(prose)


def test_placeholders_and_values_belong_together():
    question = raw("question")
    declared = question.pop("values")
    used = set(chain.from_iterable(PLACEHOLDER.findall(text["en"]) for _, text in texts(question)))
    assert used == declared.keys()
    assert {function for function, _ in declared.values()} == values.FUNCTIONS.keys()


def test_loaded_texts_have_no_placeholder_left():
    question = content.load_question().model_dump()
    for _, text in texts(question):
        assert "{" not in text["en"] + text["zh"]


def test_placeholders_are_filled_in_texts_and_nowhere_else():
    node = {"say": {"en": "{a} and {b}", "zh": "{b}"}, "code": "f'{a}'", "list": [{"en": "{a}", "zh": "-"}]}
    filled = _filled(node, {"a": "1", "b": "2"})
    assert filled == {"say": {"en": "1 and 2", "zh": "2"}, "code": "f'{a}'", "list": [{"en": "1", "zh": "-"}]}
    with pytest.raises(KeyError):
        _filled({"en": "{missing}", "zh": "-"}, {"a": "1"})


def test_the_question_is_complete():
    question = content.load_question()
    assert len(question.key_points) == 4
    assert [followup.table for followup in question.followups] == ["heads", "kv-cache"]
    assert {listened.level for listened in question.listens_for} == {"expected", "strong", "warning"}
    for name in ("key_points", "steps", "pitfalls", "followups"):
        ids = [entry.id for entry in getattr(question, name)]
        assert len(set(ids)) == len(ids), name
    required = {"split-no-transpose", "merge-view-noncontiguous", "scale-by-d-model", "mask-inverted"}
    required |= {"softmax-over-queries", "output-projection-missing"}
    assert required <= {pitfall.id for pitfall in question.pitfalls}


def test_lengths_of_glossary_and_related():
    assert len(content.load_glossary()) >= 25
    assert len(content.load_related()) >= 8
    for entries in (content.load_glossary(), content.load_reading(), content.load_related()):
        assert len({entry.id for entry in entries}) == len(entries)


def test_chinese_texts_use_the_words_of_the_glossary():
    avoided = {word: term.term.zh for term in content.load_glossary() for word in term.avoid}
    found = [
        f"{path}: {word}, say {better}"
        for path, text in ALL_TEXTS
        for word, better in avoided.items()
        if word in text["zh"]
    ]
    assert found == []
    assert "视图" in avoided


def test_no_term_avoids_what_another_one_says():
    terms = content.load_glossary()
    for term in terms:
        for word in term.avoid:
            assert not [other.id for other in terms if word in other.term.zh], word


def test_papers_have_an_address_made_of_their_id():
    papers = {item.id: item for item in content.load_reading() if item.kind == "paper"}
    assert papers["attention-is-all-you-need"].url == "https://arxiv.org/abs/1706.03762"
    assert papers["gqa"].arxiv == "2305.13245"
    for item in papers.values():
        assert item.arxiv
        assert item.year
        years = (2000 + int(item.arxiv[:2]), item.year)
        assert years[0] == years[1], item.id


TEXT = {"en": "a", "zh": "一"}
RELATED = {"id": "x", "page": "quiz", "question": TEXT, "hint": TEXT}
ITEM = {"id": "x", "kind": "paper", "title": "T", "authors": "A", "year": 2020, "arxiv": "2001.00001", "why": TEXT}
TERM = {"id": "x", "term": TEXT, "avoid": [], "pitfalls": ["mask-inverted"], "definition": TEXT}


@pytest.mark.parametrize(
    ("model", "good", "wrong"),
    [
        (schema.Related, RELATED, {"page": "somewhere"}),
        (schema.Related, RELATED, {"hint": {"en": "a"}}),
        (schema.Related, RELATED, {"hint": {"en": "a", "zh": ""}}),
        (schema.Related, RELATED, {"hint": {"en": "a `b", "zh": "一"}}),
        (schema.Related, RELATED, {"id": "Not An Id"}),
        (schema.Related, RELATED, {"extra": 1}),
        (schema.Item, ITEM, {"arxiv": "1706.3762"}),
        (schema.Item, ITEM, {"arxiv": None}),
        (schema.Item, ITEM, {"kind": "docs"}),
        (schema.Item, ITEM, {"url": "http://plain"}),
        (schema.Item, ITEM, {"year": "2020"}),
        (schema.Term, TERM, {"pitfalls": ["Mask"]}),
        (schema.Term, TERM, {"pitfalls": ["mask"]}),
    ],
)
def test_what_does_not_fit_the_schema_is_refused(model, good, wrong):
    model.model_validate(good)
    with pytest.raises(ValidationError):
        model.model_validate({**good, **wrong})


def test_reading_the_content_needs_no_torch():
    code = """if True:
        import sys
        from core import content
        content.load_question(), content.load_glossary(), content.load_reading(), content.load_related()
        content.heads_table(), content.cache_table(), content.step_lines("split")
        sys.exit("torch" in sys.modules)"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
