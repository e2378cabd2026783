"""Loading: what is refused, with which words, at which line, and that the rest is kept."""

import string
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from core.quiz import load_bank
from tests.core.quiz.samples import CHOICE, question, typed

ERRORS = Path(__file__).parents[3] / "core" / "quiz" / "errors.yaml"


def options(**changes):
    first, *rest = CHOICE["options"]
    return [{name: value for name, value in {**first, **changes}.items() if value is not None}, *rest]


LONG = "x = 1  # " + "x" * 52  # 61 columns

REFUSED = {
    "missing language": (question(prompt={"en": "What?"}), "language-missing", "`prompt.zh` is missing"),
    "empty language": (question(explanation={"en": "So.", "zh": "  "}), "text-empty", "`explanation.zh` is empty"),
    "missing explanation": (question(explanation=None), "field-missing", "`explanation` is missing"),
    "not translated": (question(prompt={"en": "What?", "zh": "What?"}), "language-not-translated", "no Chinese"),
    "languages exchanged": (question(prompt={"en": "什么？", "zh": "什么？"}), "language-mixed-up", "`prompt.en`"),
    "over-long code": (question(code=LONG), "code-too-wide", "line 1 of `code` has 61 columns"),
    "over-long proof": (question(proof=f"1\n{LONG}\nx"), "code-too-wide", "line 2 of `proof` has 61 columns"),
    "code is no Python": (question(code="q = ("), "code-not-python", "line 1 of `code`"),
    "claim is no Python": (question(options=options(claims="(1,")), "code-not-python", "`options.0.claims`"),
    "option code is a statement": (question(options=options(code="x = 1")), "code-not-python", "`options.0`"),
    "proof without result": (question(proof="y = 1"), "proof-without-result", "ends without a value"),
    "text and code": (question(options=options(text={"en": "a", "zh": "甲"})), "option-text-or-code", "heads-meet"),
    "neither text nor code": (question(options=options(code=None, claims="1")), "option-text-or-code", "heads-meet"),
    "claims twice": (question(options=options(claims="1", holds="True")), "option-claims-twice", "heads-meet"),
    "claims nothing": (
        question(options=options(code=None, text={"en": "a", "zh": "甲"})),
        "option-claims-nothing",
        "claims nothing that can be run",
    ),
    "options alike": (question(options=options(code="(2, 4, 10, 10)")), "options-alike", "(2, 4, 10, 10)"),
    "option ids alike": (question(options=options(id="raises")), "options-alike", "raises"),
    "answer is no option": (question(answer="nobody"), "answer-not-an-option", "heads-meet, tokens-meet, raises"),
    "unknown field": (question(hint="no"), "field-unknown", "`hint`"),
    "unknown kind": (
        question(kind="essay"),
        "kind-unknown",
        "one-choice, several-choices, shape, strides, number, raises, faulty-line, order, blank, pairs",
    ),
    "unknown pitfall": (question(pitfalls=["split-no-transpos"]), "pitfall-unknown", "split-no-transpos"),
    "unknown topic": (question(topic="spilt"), "topic-unknown", "spilt"),
    "level out of range": (question(level=4), "field-invalid", "`level` is 4"),
    "level is a bool": (question(level=True), "field-invalid", "`level` is True"),
    "id not kebab-case": (question(id="Scores_shape"), "field-invalid", "`id` is 'Scores_shape'"),
    "source without address": (
        question(source={"title": "A paper", "place": "Table 1", "url": "arxiv"}),
        "field-invalid",
        "`source.url`",
    ),
    "unclosed code": (question(prompt={"en": "`a", "zh": "甲"}), "bad-markup", "`prompt.en`"),
    "unknown axis": (question(prompt={"en": "[[T 2]]", "zh": "甲"}), "bad-markup", "[[T 2]]"),
    "axis with two sizes": (question(prompt={"en": "[[B 2 3|H]]", "zh": "甲"}), "bad-markup", "[[B 2 3|H]]"),
    "markdown in words": (question(prompt={"en": "costs $1", "zh": "甲"}), "bad-markup", "$1"),
    "negative size": (typed("shape", answer=[2, -1]), "field-invalid", "`answer.1` is -1"),
    "number is a bool": (typed("number", answer=True), "field-invalid", "is True"),
    "unknown unit": (typed("number", answer=1, unit="kB"), "field-invalid", "`unit` is 'kB'"),
    "tolerance of everything": (typed("number", answer=1, tolerance=1.0), "field-invalid", "`tolerance` is 1.0"),
}


@pytest.mark.parametrize(("broken", "code", "words"), REFUSED.values(), ids=REFUSED)
def test_a_faulty_question_is_named_and_left_out(make_bank, broken, code, words):
    """Each kind of fault has its own code and readable words in both languages; the sound neighbour stays."""
    bank = make_bank(broken, question(id="sound"))
    assert [q.id for q in bank.questions] == ["sound"]
    assert code in {fault.problem.code.removeprefix("quiz.") for fault in bank.faults}
    text = next(fault.text() for fault in bank.faults if fault.problem.code == f"quiz.{code}")
    assert words in text
    assert text.startswith("split.yaml:")
    assert all(fault.question == broken["id"] for fault in bank.faults)
    assert any("\u3400" <= sign <= "\u9fff" for sign in bank.faults[0].text("zh"))


def test_the_base_of_the_cases_is_sound(make_bank):
    assert not make_bank(question()).faults


def test_markup_that_is_right_is_accepted(make_bank):
    prompt = {"en": "[[B 2|H_kv 8|Lq 1|d_model 64]] and `x[[0, 1]] * $ <`", "zh": "[[G 4]] 与 `[[x`"}
    assert not make_bank(question(prompt=prompt)).faults


@pytest.mark.parametrize(
    ("yaml_text", "read_as"),
    [("no", "False"), ("on", "True"), ("yes", "True"), ("1:30", "90"), ("2026-01-01", "datetime.date"), ("1.5", "1.5")],
)
def test_yaml_that_reads_words_as_something_else_is_refused(make_bank, yaml_text, read_as):
    """YAML 1.1 turns plain words into other types: never converted back silently."""
    text = yaml.safe_dump([question()], allow_unicode=True).replace("What is `scores.shape`?", "WORD")
    bank = make_bank(files={"split.yaml": text.replace("WORD", yaml_text)}, ids="scores-shape")
    (fault,) = bank.faults
    assert fault.problem.code == "quiz.field-not-text"
    assert f"`prompt.en` was read as {read_as}" in fault.text()
    assert "quotes" in fault.text()
    quoted = make_bank(files={"split.yaml": text.replace("WORD", f'"{yaml_text}"')}, ids="scores-shape")
    assert not quoted.faults


def test_a_fault_is_reported_at_its_line(make_bank):
    text = yaml.safe_dump([question(id="first"), question(level=9)], allow_unicode=True, sort_keys=False)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "level: 9" in line)
    (fault,) = make_bank(files={"split.yaml": text}, ids="first\nscores-shape").faults
    assert (fault.place.path.name, fault.place.line) == ("split.yaml", line)


def test_a_broken_file_does_not_stop_the_others(make_bank):
    broken = {
        "a.yaml": "- id: [",
        "b.yaml": "just words",
        "c.yaml": "- id: x\n  id: y\n",
        "d.yaml": "- 7\n",
        "e.yaml": "- !!python/object/apply:os.system [ls]\n",
        "f.yaml": "- &a [*a]\n",
        "g.yaml": "",
        "split.yaml": [question()],
    }
    bank = make_bank(files=broken)
    assert [q.id for q in bank.questions] == ["scores-shape"]
    assert {fault.place.path.name for fault in bank.faults} == {f"{letter}.yaml" for letter in "abcdef"}
    double = next(fault for fault in bank.faults if fault.place.path.name == "c.yaml")
    assert double.place.line == 2
    assert "'id' is given twice" in double.text()


def test_a_file_that_is_no_text_is_named(make_bank, tmp_path):
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    bank = make_bank(question())
    assert len(bank.questions) == 1
    assert bank.faults[0].problem.code == "quiz.file-unreadable"


def test_a_folder_that_is_not_there_is_a_fault_and_no_exception(tmp_path):
    bank = load_bank(tmp_path / "nowhere")
    assert not bank.questions
    assert bank.faults


def test_an_id_given_twice_keeps_the_first(make_bank):
    bank = make_bank(question(), question(level=2))
    assert [q.level for q in bank.questions] == [1]
    assert bank.faults[0].problem.code == "quiz.id-twice"
    assert "is taken by split.yaml:1" in bank.faults[0].text()


def test_a_retired_id_is_not_used_again(make_bank):
    bank = make_bank(question(), ids="scores-shape retired\n")
    assert not bank.questions
    assert bank.faults[0].problem.code == "quiz.id-retired"


@pytest.mark.parametrize("line", ["scores-shape gone", "scores-shape retired today", "scores-shape\nscores-shape"])
def test_a_line_of_ids_that_says_something_else(make_bank, line):
    """A slip in the registry must not retire a question, nor bring one back."""
    bank = make_bank(question(), ids=line)
    assert [fault.problem.code for fault in bank.faults] == ["quiz.ids-line"]
    assert len(bank.questions) == 1


def test_topics_come_in_the_order_of_their_file_and_only_those_with_questions(make_bank):
    bank = make_bank(files={"a.yaml": [question(id="late", topic="mask")], "b.yaml": [question(id="early")]})
    assert [topic.id for topic in bank.topics] == ["split", "mask"]
    assert [q.id for q in bank.questions] == ["early", "late"]
    assert bank.topics[1].name["zh"] == "因果 mask"
    assert [topic.id for topic in make_bank(files={"a.yaml": [], "b.yaml": [question()]}).topics] == ["split"]


def test_questions_are_found_by_id_topic_and_level(make_bank):
    bank = make_bank(question(), question(id="harder", level=3))
    assert bank.question("harder").level == 3
    assert bank.question("<script>") is None
    assert [q.id for q in bank.of(level=3)] == ["harder"]
    assert len(bank.of("split")) == 2
    assert bank.of("mask") == ()


def test_a_bank_is_read_once_and_again_when_a_file_changes(make_bank):
    first = make_bank(question())
    assert load_bank(first.path) is first
    second = make_bank(question(), question(id="another"))
    assert len(second.questions) == 2


def test_a_bank_cannot_be_changed(make_bank):
    bank = make_bank(question())
    with pytest.raises(ValidationError, match="frozen"):
        bank.questions[0].answer = "raises"
    with pytest.raises(TypeError):
        bank.places["scores-shape"] = None
    with pytest.raises(AttributeError):
        bank.questions = ()


def test_loading_does_not_import_torch():
    code = "import sys; from core.quiz import load_bank; assert load_bank().questions; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ERRORS.parents[2], check=False).returncode == 0


def test_every_error_has_all_its_words_in_both_languages():
    def places(text):
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    for code, parts in yaml.safe_load(ERRORS.read_text(encoding="utf-8")).items():
        assert set(parts) == {"given", "expected", "action"}, code
        for words in parts.values():
            assert places(words["en"]) == places(words["zh"]), code
