"""The check of the whole bank: our own passes, and each planted fault is found and told with what to do."""

import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from core.pitfalls import IDS
from core.quiz import check, checks, generators, load_bank, run_proof
from core.quiz.__main__ import main
from core.quiz.bank import BANK
from core.quiz.kinds import KINDS
from tests.core.quiz.samples import CHOICE, question, typed

ROOT = Path(__file__).parents[3]


def found(bank):
    return [fault.problem.code.removeprefix("quiz.") for fault in check(bank)]


@pytest.mark.parametrize("asked", load_bank().questions, ids=lambda asked: asked.id)
def test_every_question_of_ours_is_proved(asked):
    result = run_proof(asked)
    assert result.proved, [str(fault) for fault in result.faults]
    assert result.output


def test_our_bank_covers_the_ground():
    """The least that a person needs to practise; only ever to be raised."""
    bank = load_bank()
    assert len(bank.questions) >= 320
    assert len(generators.GENERATORS) >= 30
    by_kind = Counter(question.kind for question in bank.questions)
    assert by_kind.keys() == set(KINDS)
    assert min(by_kind.values()) >= 10
    assert min(len(bank.of(topic.id)) for topic in bank.topics) >= 10
    assert min(len(bank.of(level=level)) for level in (1, 2, 3)) >= 70
    assert {pitfall for question in bank.questions for pitfall in question.pitfalls} == set(IDS)
    assert all(q.source for q in bank.of("kv-cache") if "Llama" in q.prompt.en or "Gemma" in q.prompt.en)


def test_generators_are_part_of_our_check(monkeypatch):
    """A generator whose key is wrong is a fault, and so is one that is gone while its id is published."""
    drawn = generators.generate("gen-strides-element", 1)
    wrong = drawn.model_copy(update={"answer": drawn.answer + 1})
    monkeypatch.setattr(checks, "_proofs", lambda bank: ())  # of the written ones, which are not meant
    monkeypatch.setattr(generators, "sample", lambda per: [wrong])
    assert [fault.text().split()[1] for fault in check(load_bank())] == ["(gen-strides-element-s1)"]
    monkeypatch.setattr(generators, "GENERATORS", {})
    lost = {fault.question for fault in check(load_bank()) if fault.problem.code == "quiz.id-lost"}
    assert "gen-strides-element" in lost


def test_a_sound_bank_has_no_fault(make_bank):
    assert found(make_bank(question())) == []


def test_wrong_key(make_bank):
    assert found(make_bank(question(answer="tokens-meet"))) == ["distractor-true", "key-not-true"]


def test_wrong_typed_answer(make_bank):
    assert found(make_bank(typed("shape", answer=[2, 4, 10, 10]))) == ["key-not-true"]


def test_faults_of_loading_are_faults_of_the_check(make_bank):
    bank = make_bank(question(prompt={"en": "What?"}), question(id="twice"), question(id="twice"))
    assert found(bank) == ["language-missing", "id-twice"]


def test_id_that_was_not_published(make_bank):
    assert found(make_bank(question(), ids="")) == ["id-unpublished"]


def test_published_id_that_got_lost(make_bank):
    bank = make_bank(question(), ids="scores-shape\ngone\nold retired  # asked the same as scores-shape\n")
    (fault,) = check(bank)
    assert fault.problem.code == "quiz.id-lost"
    assert "write “gone retired” in _ids.txt" in fault.text()


def test_ids_of_a_file_that_cannot_be_read_are_not_lost(make_bank):
    bank = make_bank(files={"split.yaml": [question()], "mask.yaml": "- ["}, ids="scores-shape\nother\n")
    assert found(bank) == ["yaml-broken"]


ZH = {
    "zh-no-space": ["有8个头", "用view 拆头", "看`scores` 的", "头数（H）是8", "占 50%显存"],
    "zh-half-width": ["少了转置,头错位", "为什么?", "形状是: 二", "这样不行.", "先拆头; 再转置"],
    "zh-quotes": ["所谓“多头”", '所谓 "多头" 的'],
}


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in ZH.items() for text in texts])
def test_chinese_that_is_not_set_as_chinese(make_bank, code, text):
    assert code in found(make_bank(question(explanation={"en": "So.", "zh": text})))


@pytest.mark.parametrize(
    "text",
    [
        "有 8 个头，`q.view(2, 10)` 之后是 [[B 2|H 8]]。",
        "「头看头」：(2, 8, 10, 10)；见 `x`，`y`。",
        "约 0.5 倍，即 1/8；L = 10，H = 8。",
        "占 50%，够了。",
    ],
)
def test_chinese_that_is_set_well(make_bank, text):
    assert found(make_bank(question(explanation={"en": "So.", "zh": text}))) == []


def test_right_answers_in_one_place(make_bank):
    """Twelve questions whose first option is always right; the same twelve, spread, pass."""
    words = ["alpha", "beta", "gamma", "delta", "kappa", "sigma", "omega", "theta", "upsilon", "zeta", "iota", "rho"]
    kanji = "一二三四五六七八九十百千"

    def asked(number, position):
        options = [dict(option) for option in CHOICE["options"][1:]]
        options.insert(position, dict(CHOICE["options"][0]))
        name, sign = words[number], kanji[number]
        lines = "".join(f"{name}_{i} = {number}\n" for i in range(40))
        prompt = {"en": f"What of {name}?", "zh": f"{sign}是什么？"}
        code = lines + CHOICE["code"]
        return question(id=f"q-{number}", options=options, code=code, prompt=prompt)

    bank = make_bank(*(asked(number, 0) for number in range(12)))
    assert found(bank) == ["positions-uneven"] * 3
    assert (
        "12 right answers of one-choice questions stand at position 1; about 4.0 are expected" in check(bank)[0].text()
    )
    assert found(make_bank(*(asked(number, number % 3) for number in range(12)))) == []


def test_two_questions_alike(make_bank):
    bank = make_bank(question(), question(id="again", explanation={"en": "Other.", "zh": "别的。"}))
    assert found(bank) == ["questions-alike", "questions-alike"]  # in either language
    assert "that of scores-shape" in check(bank)[0].text()


def test_a_question_alike_in_one_language_only(make_bank):
    """A copied translation is found though the English was rewritten."""
    options = [{"id": "a", "code": "(1,)"}, {"id": "b", "code": "(2,)"}]
    made = {"options": options, "answer": "a", "code": None, "proof": "(1,)"}
    zh = "甲乙丙丁戊己庚辛壬癸子丑寅卯"
    first = question(id="first", prompt={"en": "One asks this.", "zh": zh}, **made)
    second = question(id="second", prompt={"en": "Another wants to hear of something else.", "zh": zh}, **made)
    assert found(make_bank(first, second)) == ["questions-alike"]


def test_command_passes_on_our_bank():
    run = subprocess.run(
        [sys.executable, "-m", "core.quiz", "check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout
    assert "all proved, no faults" in run.stdout
    for name in ("kind", "topic", "level", "language", "pitfall"):
        assert f"\n{name} " in f"\n{run.stdout}"
    assert run.stderr == ""


def test_command_fails_with_file_line_and_what_to_do(make_bank, capsys):
    bank = make_bank(question(answer="tokens-meet"), question(id="wide", code="x = 1  #" + "x" * 60))
    assert main(["check", str(bank.path)]) == 1
    out = capsys.readouterr().out
    assert "split.yaml:1 (scores-shape) the key says “tokens-meet”" in out
    assert "(wide) line 1 of `code` has 68 columns" in out
    assert "Break the line." in out
    assert "faults" in out.splitlines()[-1]


PLANTED = {
    "a wrong key": (question(answer="tokens-meet"), None, "the keyed answer is what happens"),
    "a distractor that is right": (
        question(options=[*CHOICE["options"][:2], {"id": "too", "code": "tuple(scores.shape)"}]),
        None,
        "every option that is not keyed is false",
    ),
    "a missing language": (question(explanation={"en": "So."}), None, "`explanation.zh` is missing"),
    "a reused id": (question(), "scores-shape retired", "a retired id is never used again"),
    "a snippet that raises": (question(given="x = 1 / 0"), None, "ZeroDivisionError"),
    "an endless snippet": (question(given="while True: pass"), None, "was still running after 1 s"),
}


@pytest.mark.parametrize(("made", "ids", "told"), PLANTED.values(), ids=PLANTED)
def test_command_fails_for_each_kind_of_planted_fault(make_bank, monkeypatch, capsys, made, ids, told):
    monkeypatch.setattr(checks, "run_proof", partial(run_proof, seconds=1))
    bank = make_bank(
        made,
        question(id="sound", prompt={"en": "Other?", "zh": "别的？"}, code="scores = torch.zeros(2, 10, 4, 4)"),
        ids=f"{ids}\nsound" if ids else None,
    )
    assert main(["check", str(bank.path)]) == 1
    out = capsys.readouterr().out
    assert told in out
    assert "split.yaml:" in out
    assert "(sound)" not in out


def test_no_id_is_published_twice():
    lines = [line.split()[0] for line in (BANK / "_ids.txt").read_text().splitlines() if line and line[0] != "#"]
    assert len(lines) == len(set(lines))
