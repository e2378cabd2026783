"""The checks that a bank must pass before it is published: each gives the faults it finds.

What the schema can see (both languages, an explanation, the width of code, known topics and pitfalls) was found on
loading; here are the proofs and what shows only when all questions are seen together.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import get_args

from core.errors import LANGS, BadInput, Lang
from core.markup import parse
from core.quiz import generators
from core.quiz.bank import BANK, Bank
from core.quiz.faults import Fault, Place
from core.quiz.kinds import OneChoice, Raises, SeveralChoices
from core.quiz.proof import run_proof
from core.quiz.schema import Question

MAX_ALIKE = 0.7
"""Share of common pieces of text (Jaccard) from which two questions are taken for one."""


DRAWS = 3
"""Of each generator, how many of its questions are proved by the check."""


def check(bank: Bank) -> list[Fault]:
    """All faults of `bank`, those found on loading first. With the bank of Headwise, its generators are checked too."""
    checks = (_ids, _languages, _positions, _alike, _proofs, _drawn)
    return [*bank.faults, *(fault for one in checks for fault in one(bank))]


def _fault(bank: Bank, question: Question, problem: BadInput) -> Fault:
    return Fault(bank.places[question.id], question.id, problem)


def _proofs(bank: Bank) -> Iterator[Fault]:
    for question in bank.questions:
        for problem in run_proof(question).faults:
            yield _fault(bank, question, problem)


def _drawn(bank: Bank) -> Iterator[Fault]:
    """What the generators draw is proved like what was written."""
    if bank.path != BANK.resolve():
        return
    yield from generators.FAULTS
    for question in generators.sample(DRAWS):
        for problem in run_proof(question).faults:
            yield Fault(Place(bank.path.parent / "generators", 1), question.id, problem)


def _ids(bank: Bank) -> Iterator[Fault]:
    """Every question is published under its id, and no published id gets lost (it would be free to be used again)."""
    for question in bank.questions:
        if question.id not in bank.ids:
            yield _fault(bank, question, BadInput("quiz.id-unpublished", name=question.id))
    left_out = {fault.question for fault in bank.faults}
    if None in left_out:  # a whole file is missing: what it holds is not lost
        return
    present = {question.id for question in bank.questions} | left_out
    if bank.path == BANK.resolve():
        present |= generators.GENERATORS.keys()
    for id_, live in bank.ids.items():
        if live and id_ not in present:
            yield Fault(Place(bank.path / "_ids.txt", 1), id_, BadInput("quiz.id-lost", name=id_))


_HAN = r"[\u3400-\u9fff]"
_TYPOGRAPHY = (
    ("zh-no-space", re.compile(rf"{_HAN}[A-Za-z0-9\u0001]|[A-Za-z0-9%\u0001]{_HAN}")),
    ("zh-half-width", re.compile(rf"{_HAN}\s*[,;:?!]|{_HAN}\.(?:\s|$)|[,;:?!]\s*{_HAN}")),
    ("zh-quotes", re.compile('["“”‘’]')),
)


def _languages(bank: Bank) -> Iterator[Fault]:
    """Chinese set as Chinese: full-width punctuation, 「」, a space between Chinese and Latin."""
    for question in bank.questions:
        for text in question.texts():
            # code and chips count as one Latin letter each
            words = "".join(s.text if s.kind in ("text", "bold") else "\u0001" for s in parse(text.zh))
            for code, pattern in _TYPOGRAPHY:
                match = pattern.search(words)
                if match:
                    near = words[max(0, match.start() - 6) : match.end() + 6].replace("\u0001", "`…`")
                    yield _fault(bank, question, BadInput(f"quiz.{code}", near=near))


def _positions(bank: Bank) -> Iterator[Fault]:
    """Each position holds its share of the right answers, so that "always the second" earns nothing."""
    for kind in (OneChoice, SeveralChoices, Raises):
        right: Counter[int] = Counter()
        expected: Counter[int] = Counter()
        for question in (question for question in bank.questions if isinstance(question, kind)):
            keyed = [claim.keyed for claim in question.claims().values()]
            for position, is_right in enumerate(keyed):
                right[position] += is_right
                expected[position] += sum(keyed) / len(keyed)  # ty: ignore[invalid-assignment]
        for position, share in expected.items():
            if abs(right[position] - share) > max(2.0, 0.25 * share):
                where = {"position": position + 1, "count": right[position], "share": f"{share:.1f}"}
                name = get_args(kind.model_fields["kind"].annotation)[0]
                yield Fault(Place(bank.path, 1), None, BadInput("quiz.positions-uneven", kind=name, **where))


def _alike(bank: Bank) -> Iterator[Fault]:
    """No two questions ask the same, in either language."""
    for lang in LANGS:
        pieces = [(question, _pieces(question, lang)) for question in bank.questions]
        for number, (question, mine) in enumerate(pieces):
            for other, theirs in pieces[:number]:
                share = len(mine & theirs) / max(1, len(mine | theirs))
                if share >= MAX_ALIKE:
                    yield _fault(
                        bank,
                        question,
                        BadInput("quiz.questions-alike", other=other.id, lang=lang, share=f"{share:.0%}"),
                    )


def _pieces(question: Question, lang: Lang) -> set[str]:
    said = [text[lang] for text in question.texts() if text is not question.explanation]
    text = " ".join([*said, *question.codes()]).casefold()
    words = re.findall(rf"{_HAN}|\w+|[^\w\s]", text)
    return {" ".join(words[i : i + 3]) for i in range(max(1, len(words) - 2))}
