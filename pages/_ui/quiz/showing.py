"""How the answer to each kind of question is shown beside the right one. A new kind is entered in `SHOWN`."""

import html
from collections.abc import Callable, Collection, Mapping, Sequence

from core.quiz import (
    FaultyLine,
    FillBlank,
    MatchPairs,
    OneChoice,
    OrderLines,
    Question,
    Raises,
    SeveralChoices,
    TypeNumber,
    TypeShape,
    TypeStrides,
)
from pages._ui.i18n import t
from pages._ui.quiz import words
from pages._ui.quiz.sitting import Answer


def shown(question: Question, answer: Answer) -> str:
    """HTML of what was answered, and of what is right. What was answered may be of any form: it was kept long ago."""
    return f'<div class="hw-options">{SHOWN[question.kind](question, answer)}</div>'


def _row(said: str, chosen: bool, keyed: bool, number: str = "") -> str:
    """One answer: right, wrong or neither, said by a sign, in words and by a colour."""
    css = "hw-right" if keyed else "hw-wrong" if chosen else ""
    mark = ""
    if chosen:
        mark = t("quiz.mark.right") if keyed else t("quiz.mark.wrong")
    elif keyed:
        mark = t("quiz.mark.missed")
    before = f"<kbd>{number}</kbd>" if number else ""
    return f'<div class="hw-option {css}">{before}<span>{said}</span><em>{mark}</em></div>'


def _options(question: OneChoice | SeveralChoices, answer: Answer) -> str:
    keyed, chosen = _ids(question.answer), _ids(answer.given)
    rows = enumerate(question.options, 1)
    return "".join(_row(words.item(o), o.id in chosen, o.id in keyed, str(number)) for number, o in rows)


def _raises(question: Raises, answer: Answer) -> str:
    rows = enumerate(question.outcomes, 1)
    return "".join(
        _row(words.inline(words.outcome(end)), end.id == answer.given, end.id == question.answer, str(number))
        for number, end in rows
    )


def _ids(answer: object) -> Collection[object]:
    return answer if isinstance(answer, (tuple, list, frozenset)) else [answer]


def _typed(question: TypeShape | TypeStrides | TypeNumber | FillBlank, answer: Answer) -> str:
    typed = _row(words.code(str(answer.given)), chosen=True, keyed=answer.right)
    if answer.right:
        return typed
    right = f"{question.answer:,}" if isinstance(question, TypeNumber) else str(question.answer)
    unit = f" {question.unit}" if isinstance(question, TypeNumber) and question.unit else ""
    return typed + _row(words.code(right) + html.escape(unit), chosen=False, keyed=True)


def _faulty_line(question: FaultyLine, answer: Answer) -> str:
    rows = []
    for number, line in enumerate(question.code.split("\n"), 1):
        said = words.code(line or " ")
        if number == question.answer:
            said += f'<div class="hw-repair">{t("quiz.repair")} {words.code(question.repair)}</div>'
        rows.append(_row(said, number == answer.given, number == question.answer, str(number)))
    return f'<div class="hw-listing">{"".join(rows)}</div>'


def _order(question: OrderLines, answer: Answer) -> str:
    given = answer.given if isinstance(answer.given, Sequence) else ()
    put = [place for place in given if isinstance(place, int) and 0 <= place < len(question.lines)]
    mine = "".join(
        _row(words.code(question.lines[place]), chosen=True, keyed=place == number, number=str(number + 1))
        for number, place in enumerate(put)
    )
    if answer.right:
        return mine
    right = "\n".join(question.lines)
    return f'{mine}<div class="hw-listing">{_row(words.code(right), chosen=False, keyed=True)}</div>'


def _pairs(question: MatchPairs, answer: Answer) -> str:
    given = answer.given if isinstance(answer.given, Mapping) else {}
    right = {item.id: words.item(item) for item in question.right}
    rows = []
    for item in question.left:
        chosen, keyed = given.get(item.id), question.answer[item.id]
        said = f"{words.item(item)} → {right.get(chosen, '–')}"
        if chosen != keyed:
            said += f" <i>({t('quiz.mark.missed')}: {right[keyed]})</i>"
        rows.append(_row(said, chosen=True, keyed=chosen == keyed))
    return "".join(rows)


SHOWN: dict[str, Callable[..., str]] = {
    "one-choice": _options,
    "several-choices": _options,
    "shape": _typed,
    "strides": _typed,
    "number": _typed,
    "raises": _raises,
    "faulty-line": _faulty_line,
    "order": _order,
    "blank": _typed,
    "pairs": _pairs,
}
