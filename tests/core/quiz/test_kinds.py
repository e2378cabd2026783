"""Each kind of question that is answered with code, strides, an outcome or pairs: what proves it, what refutes it."""

import json
from pathlib import Path

import pytest

from core.errors import BadInput, Unavailable
from core.quiz import check, grade, run_proof
from core.quiz.deadline import Late, deadline
from core.quiz.filling import Filler
from tests.core.quiz.samples import typed

QKV = "q0, k0, v0 = (randn(2, 4, 10, 16) for _ in range(3))"

STRIDES = typed(
    "strides", answer=[640, 16, 64, 1], code="q = torch.empty(2, 10, 4, 16).transpose(1, 2)", proof="q.stride()"
)
RAISES = typed(
    "raises",
    proof=None,
    code="q = torch.empty(2, 10, 4, 16).transpose(1, 2)\nk = q.transpose(-2, -1)\nout = q @ k\nout = q.view(2, 10, 64)",
    outcomes=[
        {"id": "runs"},
        {"id": "matmul", "line": 3, "error": "RuntimeError"},
        {"id": "view", "line": 4, "error": "RuntimeError"},
    ],
    answer="view",
)
FAULTY = typed(
    "faulty-line",
    given=QKV,
    code="# without mask\nq, k, v = q0, k0, v0\nscores = q @ k.mT\nscores = scores / 16\nout = scores.softmax(-1) @ v",
    answer=4,
    repair="scores = scores / 16**0.5",
    decoys={3: "scores = k @ q.mT", 5: "out = scores.softmax(-2) @ v"},
    proof="same(out, F.scaled_dot_product_attention(q0, k0, v0))",
)
ORDER = typed(
    "order",
    answer=None,
    code=None,
    given=f"{QKV}\nwant = F.scaled_dot_product_attention(q0, k0, v0)",
    lines=["scores = q0 @ k0.mT", "scores = scores / 4", "attn = scores.softmax(-1)", "out = attn @ v0"],
    proof="same(out, want)",
)
BLANK = typed(
    "blank",
    given="x, B, L, H, d_h = randn(2, 10, 64), 2, 10, 4, 16",
    code="q = x.view(B, L, H, d_h).____",
    answer="transpose(1, 2)",
    also=["permute(0, 2, 1, 3)"],
    wrong=["transpose(-2, -1)", "reshape(B, H, L, d_h)"],
    proof="q.shape, q[0, 1, 2].tolist()",
)
PAIRS = typed(
    "pairs",
    given="B, L, H, d_h = 2, 10, 4, 16",
    code="q = torch.empty(B, L, H, d_h)",
    left=[{"id": f"axis-{i}", "code": f"q.shape[{i}]", "value": f"q.shape[{i}]"} for i in range(2)],
    right=[
        {"id": "batch", "text": {"en": "batch", "zh": "batch 维"}, "claims": "B"},
        {"id": "tokens", "text": {"en": "tokens", "zh": "token 维"}, "claims": "L"},
        {"id": "heads", "text": {"en": "heads", "zh": "头"}, "claims": "H"},
    ],
    answer={"axis-0": "batch", "axis-1": "tokens"},
    proof="q.shape",
)
ALL = {made["kind"]: made for made in (STRIDES, RAISES, FAULTY, ORDER, BLANK, PAIRS)}


@pytest.fixture
def ask(make_bank):
    def load(made):
        bank = make_bank(made)
        assert not bank.faults, [fault.text() for fault in bank.faults]
        return bank.questions[0]

    return load


@pytest.fixture(scope="module")
def fill():
    with Filler() as filler:
        yield filler


@pytest.mark.parametrize("made", ALL.values(), ids=ALL)
def test_a_sound_question_has_no_fault_and_shows_its_proof(make_bank, ask, made):
    assert [fault.text() for fault in check(make_bank(made))] == []
    assert run_proof(ask(made)).output


PLANTED = {
    "strides: those of the contiguous tensor": (STRIDES | {"answer": [640, 160, 16, 1]}, {"key-not-true"}),
    "raises: another line": (RAISES | {"answer": "matmul"}, {"key-not-true", "distractor-true"}),
    "raises: it runs": (RAISES | {"answer": "runs"}, {"key-not-true", "distractor-true"}),
    "raises: a base class is not what is raised": (
        RAISES | {"outcomes": [*RAISES["outcomes"][:2], {"id": "view", "line": 4, "error": "Exception"}]},
        {"key-not-true"},
    ),
    "faulty line: another line is keyed": (
        FAULTY | {"answer": 3, "repair": "scores = k @ q.mT", "decoys": {4: "scores = scores / 4", 5: "out = v"}},
        {"key-not-true", "distractor-true"},
    ),
    "faulty line: nothing is wrong": (
        FAULTY | {"code": FAULTY["code"].replace("/ 16", "/ 4")},
        {"distractor-true"},
    ),
    "faulty line: a decoy mends it": (
        FAULTY | {"decoys": {3: "scores = q @ k.mT * 4", 5: FAULTY["decoys"][5]}},
        {"distractor-true"},
    ),
    "order: two lines can change places": (ORDER | {"lines": [*ORDER["lines"], "print_ = 1"]}, {"distractor-true"}),
    "order: the keyed one does not work": (ORDER | {"lines": ORDER["lines"][::-1]}, {"proof-raised"}),
    "blank: another right one is wrong": (BLANK | {"also": ["flip(0)"]}, {"key-not-true"}),
    "blank: a wrong one is right": (BLANK | {"wrong": ["swapaxes(2, 1)", "flip(0)"]}, {"distractor-true"}),
    "blank: the answer raises": (BLANK | {"answer": "transpose(1, 7)"}, {"proof-raised"}),
    "pairs: crossed": (
        PAIRS | {"answer": {"axis-0": "tokens", "axis-1": "batch"}},
        {"key-not-true", "distractor-true"},
    ),
    "pairs: equal sizes prove nothing": (PAIRS | {"given": "B, L, H, d_h = 2, 10, 2, 16"}, {"distractor-true"}),
    "endless": (STRIDES | {"given": "while True: pass"}, {"proof-endless"}),
    "endless, though it catches": (
        STRIDES | {"given": "while True:\n    try: len([])\n    except Exception: pass"},
        {"proof-endless"},
    ),
}


@pytest.mark.parametrize(("made", "expected"), PLANTED.values(), ids=PLANTED)
def test_a_planted_fault_is_found(ask, made, expected):
    assert {fault.code.removeprefix("quiz.") for fault in run_proof(ask(made), seconds=1.5).faults} == expected


def test_a_typed_answer_that_comes_of_a_mistake_is_known_for_it(ask):
    """The value of the mistake is a distractor: the proof must refute it."""
    asked = ask(STRIDES | {"mistakes": {"contiguous": [640, 160, 16, 1], "turned": [640, 64, 16, 1]}})
    assert run_proof(asked).proved
    assert asked.mistake("(640, 160, 16, 1)") == "contiguous"
    assert asked.mistake("(640, 16, 64, 1)") is None
    with pytest.raises(BadInput):
        asked.mistake("?")
    number = ask(typed("number", answer=8, tolerance=0.01, proof="8.0", mistakes={"half": 4, "root": 2.83}))
    assert run_proof(number).proved
    assert [number.mistake(text) for text in ("4", "2.83", "2.84", "8", "5")] == ["half", "root", "root", None, None]
    alike = ask(typed("number", answer=8, tolerance=0.01, proof="8.0", mistakes={"nearly": 8.05}))
    assert [fault.code for fault in run_proof(alike).faults] == ["quiz.distractor-true"]


REFUSED = {
    "outcome-incomplete": RAISES | {"outcomes": [{"id": "runs"}, {"id": "view", "line": 4}]},
    "line-not-there": FAULTY | {"answer": 1},
    "decoy-on-the-faulty-line": FAULTY | {"decoys": {4: "x = 1", 5: "x = 1"}},
    "order-with-code": ORDER | {"code": "x = 1"},
    "blank-not-once": BLANK | {"code": "q = x.____.____"},
    "code-not-python": BLANK | {"also": ["transpose(1"]},
    "pair-missing": PAIRS | {"left": [*PAIRS["left"], {"id": "c", "code": "B", "value": "B"}]},
    "options-alike": ORDER | {"lines": [*ORDER["lines"], ORDER["lines"][0]]},
    "proof-without-result": STRIDES | {"proof": ""},
}


@pytest.mark.parametrize(("code", "made"), REFUSED.items(), ids=REFUSED)
def test_a_question_that_makes_no_sense_is_left_out(make_bank, code, made):
    bank = make_bank(made)
    assert not bank.questions
    assert f"quiz.{code}" in {fault.problem.code for fault in bank.faults}
    assert all(fault.text("zh") for fault in bank.faults)


def test_the_transcript_shows_the_fault_and_its_repair(ask):
    runs = dict(run_proof(ask(FAULTY)).runs)
    assert list(runs) == ["as-is", "repaired"]
    assert runs["as-is"].endswith("False")
    assert runs["repaired"].endswith("True")


def test_code_that_runs_to_its_end_shows_its_last_line(ask):
    made = RAISES | {"code": "x = torch.empty(2)\ny = x + 1", "outcomes": RAISES["outcomes"][:1] * 1 + [
        {"id": "adds", "line": 2, "error": "RuntimeError"}], "answer": "runs"}  # fmt: skip
    assert run_proof(ask(made)).output == ">>> y = x + 1"


def test_the_line_of_an_error_is_the_innermost_of_the_code(ask):
    code = "def merge(x):\n    return x.view(2, 10, 64)\nout = merge(torch.empty(2, 10, 4, 16).transpose(1, 2))"
    outcomes = [
        {"id": "call", "line": 3, "error": "RuntimeError"},
        {"id": "inside", "line": 2, "error": "RuntimeError"},
    ]
    assert run_proof(ask(RAISES | {"code": code, "outcomes": outcomes, "answer": "inside"})).proved


# Grading ------------------------------------------------------------------------------------------------------------

RIGHT = {
    "strides": ["(640, 16, 64, 1)", "640 16 64 1", "640，16，64，1", [640, 16, 64, 1]],
    "raises": ["view"],
    "faulty-line": [4],
    "order": [[0, 1, 2, 3], (0, 1, 2, 3)],
    "blank": ["transpose(1, 2)", " transpose(1,2) ", "permute(0,2,1,3)"],
    "pairs": [{"axis-1": "tokens", "axis-0": "batch"}],
}
WRONG = {
    "strides": ["(640, 160, 16, 1)"],
    "raises": ["runs", "matmul"],
    "faulty-line": [2, 5],
    "order": [[1, 0, 2, 3]],
    "blank": ["transpose(-2,-1)"],
    "pairs": [{"axis-0": "batch", "axis-1": "heads"}, {"axis-0": "batch", "axis-1": "batch"}],
}
UNREADABLE = {
    "strides": ["", "a", None, 1, [1.0], ["1"], "1" * 200],
    "raises": ["", None, 1, [], "all"],
    "faulty-line": [0, 1, 6, "4", True, None, 10**9, [4]],
    "order": [[], [0, 1, 2], [0, 1, 2, 2], ["0", "1", "2", "3"], [True, False, 2, 3], "0123", None],
    "blank": ["", "  ", "transpose(1", "a\nb", None, 1, "x" * 200, "(" * 90, "x\0"],
    "pairs": [{}, {"axis-0": "batch"}, {"axis-0": "batch", "axis-1": "?"}, [], "axis-0", None, {1: 2}],
}


@pytest.mark.parametrize("kind", ALL)
def test_right_and_wrong_answers(ask, kind):
    asked = ask(ALL[kind])
    assert all(grade(asked, answer) for answer in RIGHT[kind])
    assert not any(grade(asked, answer) for answer in WRONG[kind])


@pytest.mark.parametrize("kind", ALL)
def test_what_is_no_answer_is_refused_in_both_languages(ask, kind):
    asked = ask(ALL[kind])
    for answer in UNREADABLE[kind]:
        with pytest.raises(BadInput) as refused:
            grade(asked, answer)
        assert all(refused.value.parts(lang) for lang in ("en", "zh"))


@pytest.mark.parametrize("kind", ALL)
def test_answers_survive_json(ask, kind):
    asked = ask(ALL[kind])
    assert grade(asked, json.loads(json.dumps(RIGHT[kind][0])))


def test_lines_are_shuffled_alike_for_all_and_never_in_order(ask):
    asked = ask(ORDER)
    assert asked.shuffled() == asked.shuffled()
    assert sorted(asked.shuffled()) == [0, 1, 2, 3] != asked.shuffled()


# What is typed into a blank is run ----------------------------------------------------------------------------------


def test_a_way_of_writing_that_nobody_thought_of_is_run(ask, fill):
    asked = ask(BLANK)
    assert grade(asked, "movedim(2, 1)", fill)
    assert grade(asked, "swapaxes(1, 2).contiguous()", fill)
    assert not grade(asked, "flip(0)", fill)
    assert not grade(asked, "no_such_method()", fill)


def test_what_is_typed_can_do_no_harm(ask, fill):
    asked, mark = ask(BLANK), Path("/headwise-mark")
    assert not grade(asked, f"__class__(open('{mark}', 'w'))", fill)
    assert not grade(asked, "__class__(__import__('os')._exit(0))", fill)
    assert not mark.exists()
    assert grade(asked, "movedim(2, 1)", fill)  # and the next one is answered


def test_what_never_ends_is_no_answer(ask, fill):
    with pytest.raises(BadInput, match="ran for more than"):
        grade(ask(BLANK), "__class__([0 for _ in iter(int, 1)])", fill)


def test_without_a_runner_the_unknown_is_left_open(ask):
    with pytest.raises(Unavailable):
        grade(ask(BLANK), "movedim(2, 1)")


# The deadline -------------------------------------------------------------------------------------------------------


def test_the_deadline_leaves_what_is_in_time_alone():
    with deadline(30):
        assert sum(range(1000)) == 499500


def test_the_deadline_breaks_off_and_is_over_then():
    def endless():
        with deadline(0.05):
            while True:
                pass

    with pytest.raises(Late):
        endless()
    for _ in range(200_000):  # nothing comes later
        pass
