"""How each kind of question is answered, by hand and from the keyboard. A new kind is entered in `ASK`.

Keys: the digits choose, Enter hands in. Choices are buttons: Streamlit ignores shortcuts while a checkbox or a list has
the focus, and buttons serve a thumb as well.
"""

from collections.abc import Callable

import streamlit as st

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
from pages._ui import chrome, state
from pages._ui.i18n import t
from pages._ui.quiz import record
from pages._ui.quiz.record import sitting
from pages._ui.quiz.sitting import Pairing
from pages._ui.quiz.words import code_label, item_label, outcome


def ask(question: Question) -> None:
    """The means to answer `question`; what could not be read of an answer is said below."""
    ASK[question.kind](question)
    if error := sitting().refused.get(question.id):
        chrome.explain(error)


def _choice(question: Question, id_: str, words: str, number: int, on_click: Callable, *args: object, **how) -> None:
    """One of the things that can be chosen; the first nine by their number."""
    st.button(
        words,
        key=f"quiz_option_{question.id}_{id_}",
        shortcut=str(number) if number <= 9 else None,
        width="stretch",
        wrap=True,
        on_click=on_click,
        args=(question, *args),
        **how,
    )


def _submit(question: Question, given: Callable[[], object], ready: bool) -> None:
    st.button(
        t("quiz.submit"),
        key=f"quiz_submit_{question.id}",
        type="primary",
        shortcut="Enter",
        disabled=not ready,
        on_click=lambda: record.give(question, given()),
    )


def _options():
    return st.container(key="quiz_options", gap="xsmall")


# Choosing ------------------------------------------------------------------------------------------------------------


def _one_choice(question: OneChoice) -> None:
    with _options():
        for number, option in enumerate(question.options, 1):
            _choice(question, option.id, item_label(option), number, record.give, option.id)


def _raises(question: Raises) -> None:
    with _options():
        for number, end in enumerate(question.outcomes, 1):
            _choice(question, end.id, outcome(end), number, record.give, end.id)


def _faulty_line(question: FaultyLine) -> None:
    """The code itself is what is chosen from."""
    can_be_meant = question.lines()
    st.caption(t("quiz.faulty"))
    with st.container(key="quiz_code", gap=None), _options():
        for number, line in enumerate(question.code.split("\n"), 1):
            if number in can_be_meant:
                key = can_be_meant.index(number) + 1
                _choice(question, f"line-{number}", code_label(line), key, record.give, number)
            else:
                st.html(f"<code class='hw-line'>{line or '&nbsp;'}</code>")


def _several_choices(question: SeveralChoices) -> None:
    ticked = sitting().ticked(question.id)
    st.caption(t("quiz.several"))
    with _options():
        for number, option in enumerate(question.options, 1):
            icon = ":material/check_box:" if option.id in ticked else ":material/check_box_outline_blank:"
            _choice(question, option.id, item_label(option), number, _tick, option.id, icon=icon)
    _submit(question, lambda: [o.id for o in question.options if o.id in sitting().ticked(question.id)], bool(ticked))


def _tick(question: Question, option_id: str) -> None:
    record.keep(sitting().tick(question.id, option_id))


# Arranging -----------------------------------------------------------------------------------------------------------


def placed(question: OrderLines) -> list[int]:
    """The lines put so far, by their places in the right order."""
    draft = sitting().drafts.get(question.id)
    return list(draft) if isinstance(draft, tuple) else []


def _order(question: OrderLines) -> None:
    put = placed(question)
    st.caption(t("quiz.order"))
    if put:
        st.code("\n".join(question.lines[place] for place in put), "python", line_numbers=True, wrap_lines=True)
    with _options():
        for number, place in enumerate(question.shuffled(), 1):
            if place not in put:  # it keeps its number as long as it is there
                _choice(question, f"line-{place}", code_label(question.lines[place]), number, _put, place)
    with st.container(horizontal=True):
        _submit(question, lambda: placed(question), len(put) == len(question.lines))
        if put:
            st.button(
                t("quiz.take_back"),
                key=f"quiz_back_{question.id}",
                type="tertiary",
                shortcut="Backspace",
                on_click=_take_back,
                args=(question,),
            )


def _put(question: OrderLines, place: int) -> None:
    if place not in placed(question):
        record.keep(sitting().draft(question.id, (*placed(question), place)))


def _take_back(question: OrderLines) -> None:
    record.keep(sitting().draft(question.id, tuple(placed(question)[:-1])))


def pairing(question: MatchPairs) -> Pairing:
    """The pairs matched so far."""
    draft = sitting().drafts.get(question.id)
    return draft if isinstance(draft, Pairing) else Pairing(now=question.left[0].id)


def _pairs(question: MatchPairs) -> None:
    so_far = pairing(question)
    right = {one.id: (number, one) for number, one in enumerate(question.right, 1)}
    st.caption(t("quiz.pairs"))
    one, other = st.columns(2)
    with one, st.container(key="quiz_left", gap="xsmall"):
        for item in question.left:
            chosen = so_far.chosen.get(item.id)
            partner = f" → {item_label(right[chosen][1])}" if chosen else " → …"
            st.button(
                item_label(item) + partner,
                key=f"quiz_left_{question.id}_{item.id}",
                icon=f":material/radio_button_{'checked' if item.id == so_far.now else 'unchecked'}:",
                width="stretch",
                wrap=True,
                on_click=_match_next,
                args=(question, item.id),
            )
    with other, _options():
        for number, item in right.values():
            _choice(question, item.id, item_label(item), number, _match, item.id, disabled=so_far.now is None)
    _submit(question, lambda: dict(pairing(question).chosen), so_far.now is None)


def _match(question: MatchPairs, right: str) -> None:
    chosen = pairing(question).choose(right, [item.id for item in question.left])
    record.keep(sitting().draft(question.id, chosen))


def _match_next(question: MatchPairs, left: str) -> None:
    record.keep(sitting().draft(question.id, Pairing(pairing(question).chosen, left)))


# Typing --------------------------------------------------------------------------------------------------------------

_Typed = TypeShape | TypeStrides | TypeNumber | FillBlank


def _typed(question: _Typed) -> None:
    key = f"quiz_typed_{question.id}"
    with (
        st.form(f"quiz_form_{question.id}", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        st.text_input(
            _field(question), key=key, placeholder=_example(question), autocomplete="off", width=300, max_chars=100
        )
        st.form_submit_button(
            t("quiz.submit"),
            key=f"quiz_submit_{question.id}",
            type="primary",
            on_click=lambda: record.give(question, state.get(key, "")),
        )


def _field(question: _Typed) -> str:
    if isinstance(question, TypeNumber):
        asked = t("quiz.type_unit", unit=question.unit) if question.unit else t("quiz.type_number")
        return f"{asked} {t('quiz.within', percent=f'{question.tolerance:.1%}')}" if question.tolerance else asked
    return t({"shape": "quiz.type_shape", "strides": "quiz.type_strides", "blank": "quiz.type_blank"}[question.kind])


def _example(question: _Typed) -> str:
    if isinstance(question, FillBlank):
        return ""
    return t("quiz.example_number" if isinstance(question, TypeNumber) else "quiz.example_shape")


ASK: dict[str, Callable] = {
    "one-choice": _one_choice,
    "several-choices": _several_choices,
    "shape": _typed,
    "strides": _typed,
    "number": _typed,
    "raises": _raises,
    "faulty-line": _faulty_line,
    "order": _order,
    "blank": _typed,
    "pairs": _pairs,
}
