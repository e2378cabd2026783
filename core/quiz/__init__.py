"""The quiz: questions whose answers are proved by a run.

    bank = load_bank()                       # the questions, and the faults of those that were left out
    question = bank.questions[0]
    question.prompt["zh"]                    # words with the mark-up below
    grade(question, "heads-meet")            # True or False; BadInput for what cannot be read as an answer
    run_proof(question).output               # the proof, run now, as an interpreter shows it

Prompts, options and explanations carry the mark-up of `core.markup`; loading refuses any other.

``python -m core.quiz check`` runs all proofs and checks the files. Nothing here imports torch before a proof is run.
"""

from core.quiz.bank import Bank, Topic, load_bank
from core.quiz.cards import about, card_of
from core.quiz.checks import check
from core.quiz.faults import Fault
from core.quiz.kinds import (
    FaultyLine,
    FillBlank,
    MatchPairs,
    OneChoice,
    Option,
    OrderLines,
    Raises,
    SeveralChoices,
    TypeNumber,
    TypeShape,
    TypeStrides,
    grade,
)
from core.quiz.proof import ProofResult, run_proof
from core.quiz.schema import Question, Source, Text

__all__ = [
    "Bank",
    "Fault",
    "FaultyLine",
    "FillBlank",
    "MatchPairs",
    "OneChoice",
    "Option",
    "OrderLines",
    "ProofResult",
    "Question",
    "Raises",
    "SeveralChoices",
    "Source",
    "Text",
    "Topic",
    "TypeNumber",
    "TypeShape",
    "TypeStrides",
    "about",
    "card_of",
    "check",
    "grade",
    "load_bank",
    "run_proof",
]
