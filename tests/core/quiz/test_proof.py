"""A proof bears out the key and refutes every other option, or says why it does not."""

import pytest

from core.quiz import run_proof
from tests.core.quiz.samples import question, typed

SOUND = question()


@pytest.fixture
def prove(make_bank):
    def run(made):
        bank = make_bank(made)
        assert not bank.faults, [fault.text() for fault in bank.faults]
        return run_proof(bank.questions[0])

    return run


def codes(result):
    return [fault.code.removeprefix("quiz.") for fault in result.faults]


def test_a_sound_question_is_proved(prove):
    result = prove(SOUND)
    assert result.proved
    assert result.truths == {"heads-meet": True, "tokens-meet": False, "raises": False}
    assert result.output == ">>> scores.shape\ntorch.Size([2, 10, 4, 4])"
    assert result.seconds > 0


def test_what_is_shown_was_computed(prove):
    """The code that the reader sees is the code that runs: other sizes, other output."""
    result = prove(question(code="scores = torch.zeros(3, 5)"))
    assert result.output.endswith("torch.Size([3, 5])")
    assert codes(result) == ["key-not-true"]


def test_a_wrong_key_is_found_twice(prove):
    result = prove(question(answer="tokens-meet"))
    assert codes(result) == ["distractor-true", "key-not-true"]
    assert "“tokens-meet”, which claims (2, 4, 10, 10); the run gave torch.Size([2, 10, 4, 4])" in str(result.faults[1])


def test_a_distractor_that_is_right_is_found(prove):
    options = [
        *SOUND["options"][:2],
        {"id": "also", "text": {"en": "4 axes", "zh": "四维"}, "holds": "scores.dim() == 4"},
    ]
    assert codes(prove(question(options=options))) == ["distractor-true"]


def test_a_run_that_ends_in_the_exception_asked_about(prove):
    result = prove(question(code="y = torch.zeros(2, 3).T.view(6)", proof="y.shape", answer="raises"))
    assert result.proved
    assert result.output.startswith(">>> y = torch.zeros(2, 3).T.view(6)\nRuntimeError: view size is not compatible")


def test_another_exception_than_the_one_asked_about(prove):
    result = prove(question(code="y = int('x')", proof="y", answer="raises"))
    assert codes(result) == ["key-not-true"]


@pytest.mark.parametrize(
    ("part", "snippet"),
    [("given", "torch.zeros(2) @ torch.zeros(3)"), ("code", "torch.zeros(2) @ torch.zeros(3)\nscores = 1")],
)
def test_an_exception_that_is_not_the_end_is_a_fault(prove, part, snippet):
    """Only the last line may raise what an option claims, else a broken set-up would prove it."""
    result = prove(question(**{part: snippet}, answer="raises"))
    assert codes(result) == ["proof-raised"]
    assert f"line 1 of `{part}` raised RuntimeError" in str(result.faults[0])
    assert not result.truths


def test_an_exception_that_nobody_claims_is_a_fault(prove):
    result = prove(question(options=SOUND["options"][:2], proof="scores.shap"))
    assert codes(result) == ["proof-raised"]
    assert "AttributeError" in str(result.faults[0])


def test_options_that_are_code_are_run(prove):
    options = [
        {"id": "copy", "code": "x.T.reshape(6)"},
        {"id": "wrong", "code": "x.reshape(6)"},
        {"id": "raises", "code": "x.T.view(6)"},
    ]
    made = question(code="x = randn(2, 3)", options=options, answer="copy", proof="x.T.flatten()")
    result = prove(made)
    assert result.truths == {"copy": True, "wrong": False, "raises": False}
    assert result.proved
    assert ">>> same(x.reshape(6), _)\nFalse" in result.output
    assert ">>> x.T.view(6)\nRuntimeError" in result.output


def test_a_misspelt_option_does_not_count_as_refuted(prove):
    options = [{"id": "copy", "code": "x.T.reshape(6)"}, {"id": "slip", "code": "xx.reshape(6)"}]
    made = question(code="x = randn(2, 3)", options=options, answer="copy", proof="x.T.flatten()")
    assert codes(prove(made)) == ["claim-raised"]


def test_a_misspelt_name_is_no_outcome(prove):
    made = question(proof="outcome(lambda: scoress.shape)", answer="raises", options=SOUND["options"][1:])
    assert codes(prove(made)) == ["key-not-true"]


@pytest.mark.parametrize("claim", ["'(2, 4, 10, 10)'", "24", "True", "torch.zeros(2, 4, 10, 10)"])
def test_a_distractor_of_another_type_proves_nothing(prove, claim):
    options = [SOUND["options"][0], {"id": "unlike", "text": {"en": "a", "zh": "甲"}, "claims": claim}]
    assert codes(prove(question(options=options))) == ["claim-of-another-type"]


def test_a_condition_must_be_true_or_false(prove):
    options = [SOUND["options"][0], {"id": "odd", "text": {"en": "a", "zh": "甲"}, "holds": "scores.numel()"}]
    assert codes(prove(question(options=options))) == ["claim-not-bool"]


def test_a_claim_that_cannot_be_computed(prove):
    options = [SOUND["options"][0], {"id": "odd", "text": {"en": "a", "zh": "甲"}, "holds": "1 / 0"}]
    assert codes(prove(question(options=options))) == ["claim-raised"]


@pytest.mark.parametrize(
    ("proof", "answer", "proved"),
    [
        ("torch.zeros(2, 3).shape", [2, 3], True),
        ("torch.zeros(2, 3).shape", [3, 2], False),
        ("torch.zeros(2, 3).shape", [2, 3, 1], False),
        ("[2, 3]", [2, 3], True),
    ],
)
def test_shapes(prove, proof, answer, proved):
    assert prove(typed("shape", answer=answer, proof=proof)).proved == proved


@pytest.mark.parametrize(
    ("proof", "changes", "proved"),
    [
        ("2**20", {"answer": 1048576}, True),
        ("2**20", {"answer": 1048577}, False),  # ints are exact
        ("2**20 / 2**10", {"answer": 1024}, True),
        ("torch.tensor(0.1)", {"answer": 0.1}, True),  # float32 against float64
        ("100.9", {"answer": 100, "tolerance": 0.01}, True),
        ("101.9", {"answer": 100, "tolerance": 0.01}, False),
        ("math.nan", {"answer": 1}, False),
        ("True", {"answer": 1}, False),
    ],
)
def test_numbers(prove, proof, changes, proved):
    assert prove(typed("number", proof=proof, **changes)).proved == proved


def test_several_choices(prove):
    made = question(kind="several-choices", answer=["heads-meet"])
    assert prove(made).proved
    assert not prove(question(kind="several-choices", answer=["heads-meet", "tokens-meet"])).proved


def test_nan_can_be_the_answer(prove):
    options = [{"id": "nan", "code": "[nan, 0.0]", "claims": "[math.nan, 0.0]"}, {"id": "zero", "code": "[0.0, 0.0]"}]
    made = question(
        options=options, answer="nan", code="s = torch.tensor([math.inf, 1.0])", proof="(s / s[0]).tolist()"
    )
    assert prove(made).proved


def test_the_same_numbers_every_time_and_no_global_state(prove):
    import torch

    before = torch.get_rng_state()
    made = typed("number", answer=1, proof="randn(3)\nlen(randn(1))")
    assert prove(made).output == prove(made).output
    assert torch.equal(torch.get_rng_state(), before)


def test_large_values_do_not_flood_the_transcript(prove):
    result = prove(typed("number", answer=1, proof="randn(300)\nlist(range(5000))\n1"))
    assert "<tensor of shape (300,), torch.float32>" in result.output
    assert len(result.output) < 2000


def test_the_program_can_be_run_by_hand(make_bank):
    """Given, code and proof together are one piece of Python."""
    (made,) = make_bank(question(given="a = 1")).questions
    assert made.program.startswith("a = 1\nq = torch.zeros")
    assert made.program.endswith("scores.shape")
