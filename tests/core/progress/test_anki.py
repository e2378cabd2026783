"""The package is opened as Anki does, and read."""

import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Iterable
from contextlib import closing
from functools import cache

import pytest

from core.errors import LANGS, Lang
from core.progress import anki
from core.quiz import Question, generators, kinds, load_bank
from core.quiz.kinds import ADAPTER
from tests.core.progress.samples import DAY, NOW
from tests.core.quiz.samples import question

HOSTILE = '<script>alert("x")</script> & {{c1::x}}'


@cache
def one_of_each_kind() -> dict[str, Question]:
    found: dict[str, Question] = {}
    for one in load_bank().questions:
        found.setdefault(one.kind, one)
    return found


def unproved(_: Question) -> str:
    return ">>> 1 < 2\nTrue"


def opened(package: bytes) -> sqlite3.Connection:
    with zipfile.ZipFile(io.BytesIO(package)) as files:
        assert sorted(files.namelist()) == ["collection.anki2", "media"]
        assert json.loads(files.read("media")) == {}
        connection = sqlite3.connect(":memory:")
        connection.deserialize(files.read("collection.anki2"))
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return connection


def notes(questions: Iterable[Question], lang: Lang) -> dict[str, list[str]]:
    """The fields of each note, by its topic and level tags and whatever else it is tagged with."""
    with closing(opened(anki.deck(questions, lang, transcript=unproved))) as connection:
        rows = connection.execute("SELECT guid, flds FROM notes").fetchall()
        assert connection.execute("SELECT count(*) FROM cards").fetchone() == (len(rows),)
    return {guid: fields.split("\x1f") for guid, fields in rows}


def test_every_kind_of_question_is_in_the_bank() -> None:
    assert set(one_of_each_kind()) == set(kinds.KINDS)


@pytest.mark.parametrize("lang", LANGS)
def test_a_package_of_every_kind(lang: Lang) -> None:
    found = notes(one_of_each_kind().values(), lang)
    assert len(found) == len(kinds.KINDS)
    for fields in found.values():
        assert len(fields) == 4
        assert all(fields)
        assert all(re.search("[\u4e00-\u9fff]", fields[place]) for place in (0, 2)) == (lang == "zh")


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_the_answer_is_behind_and_not_in_front(kind: str) -> None:
    """Of the kinds in which it is typed; where it is chosen, it is one of several."""
    one = one_of_each_kind()[kind]
    answer = anki.answer_text(one, "en")
    (fields,) = notes([one], "en").values()
    assert fields[1] == answer
    assert answer not in fields[0]


def test_options_are_in_front_with_the_right_one_behind() -> None:
    choice = ADAPTER.validate_python(question())
    ((front, answer, explanation, proof),) = notes([choice], "zh").values()
    assert front.startswith("<p><code>scores.shape</code> 是什么？</p><pre>q = torch.zeros(2, 10, 4, 16)\n")
    assert front.endswith(
        "<ol><li><code>(2, 10, 4, 4)</code></li><li><code>(2, 4, 10, 10)</code></li><li>抛出异常</li></ol>"
    )
    assert answer == "<p><b>1. <code>(2, 10, 4, 4)</code></b></p>"
    assert explanation == '<p>头看头：<span class="shape">B 2, L 10, H 4, H 4</span>。</p>'
    assert proof == "<pre>&gt;&gt;&gt; 1 &lt; 2\nTrue</pre>"


def test_nothing_in_a_question_becomes_html() -> None:
    changes = {"code": "s = '''" + HOSTILE + "'''", "prompt": {"en": f"`{HOSTILE}`?", "zh": f"`{HOSTILE}` 呢？"}}
    ((front, *_),) = notes([ADAPTER.validate_python(question(**changes))], "en").values()
    assert "<script>" not in front
    assert front.count("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; ") == 2


def test_a_question_has_the_same_ids_in_every_package() -> None:
    some = list(one_of_each_kind().values())
    assert notes(some[:3], "en").keys() == notes(reversed(some[:3]), "en").keys()
    assert not notes(some, "en").keys() & notes(some, "zh").keys()
    times, decks = [], []
    for at in (NOW, NOW + DAY):
        with closing(opened(anki.deck(some, "en", at, unproved))) as connection:
            times.append(connection.execute("SELECT min(mod) FROM notes").fetchone()[0])
            decks.append(set(json.loads(connection.execute("SELECT decks FROM col").fetchone()[0])))
    assert decks[0] == decks[1]
    assert times[1] - times[0] == 24 * 3600  # so that Anki takes the newer


def test_tags_and_names() -> None:
    one = next(one for one in load_bank().questions if one.pitfalls)
    with closing(opened(anki.deck([one], "zh", transcript=unproved))) as connection:
        ((tags,),) = connection.execute("SELECT tags FROM notes").fetchall()
        decks = json.loads(connection.execute("SELECT decks FROM col").fetchone()[0])
    assert set(tags.split()) == {one.topic, f"level-{one.level}", *one.pitfalls}
    assert "Headwise（中文）" in {deck["name"] for deck in decks.values()}


def test_the_proof_is_run_unless_it_is_given_and_generated_questions_go_as_well() -> None:
    made = generators.generate(next(iter(generators.GENERATORS)), 17)
    with closing(opened(anki.deck([made], "en"))) as connection:
        ((fields,),) = connection.execute("SELECT flds FROM notes").fetchall()
    assert "&gt;&gt;&gt; " in fields.split("\x1f")[3]


def test_an_empty_selection_is_an_empty_package() -> None:
    assert notes([], "en") == {}


def test_a_kind_that_is_not_known_is_refused() -> None:
    unknown = Question.model_construct(kind="riddle", id="riddle")
    with pytest.raises(TypeError, match="riddle"):
        anki.answer_text(unknown, "en")
