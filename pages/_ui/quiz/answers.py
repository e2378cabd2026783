"""How each kind of question is answered, and how its answer is shown. A new kind is entered in `ASK` and `SHOWN`."""

import html
import re
from collections.abc import Callable, Collection

import streamlit as st

from core.markup import parse
from core.quiz import OneChoice, Option, Question, SeveralChoices, TypeNumber, TypeShape
from pages._ui import chrome, state
from pages._ui.i18n import lang, t
from pages._ui.quiz.sitting import Answer, Sitting
from pages._ui.text import chip


def sitting() -> Sitting:
    """What was answered in this session."""
    return state.get(state.QUIZ_SITTING, Sitting())


def ask(question: Question) -> None:
    """The means to answer `question`."""
    ASK[question.kind](question)


def shown(question: Question, answer: Answer) -> str:
    """HTML of what was answered, and of what is right."""
    return f'<div class="hw-options">{SHOWN[question.kind](question, answer)}</div>'


def inline(text: str) -> str:
    """HTML of one of the project's own texts."""
    marks = {"text": "{}", "code": "<code>{}</code>", "bold": "<b>{}</b>"}
    return "".join(
        chip(segment.axes) if segment.kind == "shape" else marks[segment.kind].format(html.escape(segment.text))
        for segment in parse(text)
    )


def label(text: str) -> str:
    """Markdown of one of the project's own texts for a button, which cannot hold chips: a shape becomes code."""
    return re.sub(r"\[\[([^\[\]]+)\]\]", lambda m: f"`({m[1].replace('|', ', ')})`", text)


# Asking --------------------------------------------------------------------------------------------------------------


def _one_choice(question: OneChoice) -> None:
    with st.container(key="quiz_options", gap="xsmall"):
        for number, option in enumerate(question.options, 1):
            st.button(
                _label(option),
                key=f"quiz_option_{question.id}_{option.id}",
                shortcut=str(number),
                width="stretch",
                wrap=True,
                on_click=_give,
                args=(question, option.id),
            )


def _several_choices(question: SeveralChoices) -> None:
    # Buttons that look like boxes: Streamlit ignores shortcuts while a real checkbox has the focus.
    ticked = sitting().ticked.get(question.id, frozenset())
    st.caption(t("quiz.several"))
    with st.container(key="quiz_options", gap="xsmall"):
        for number, option in enumerate(question.options, 1):
            st.button(
                _label(option),
                key=f"quiz_option_{question.id}_{option.id}",
                icon=":material/check_box:" if option.id in ticked else ":material/check_box_outline_blank:",
                shortcut=str(number),
                width="stretch",
                wrap=True,
                on_click=_tick,
                args=(question, option.id),
            )
    st.button(
        t("quiz.submit"),
        key=f"quiz_submit_{question.id}",
        type="primary",
        shortcut="Enter",
        disabled=not ticked,
        on_click=_give_ticked,
        args=(question,),
    )


def _typed(question: TypeShape | TypeNumber) -> None:
    key = f"quiz_typed_{question.id}"
    with (
        st.form(f"quiz_form_{question.id}", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        st.text_input(_field(question), key=key, placeholder=_example(question), autocomplete="off", width=300)
        st.form_submit_button(
            t("quiz.submit"),
            key=f"quiz_submit_{question.id}",
            type="primary",
            on_click=_give_typed,
            args=(question, key),
        )
    if error := sitting().refused.get(question.id):
        chrome.explain(error)


def _give(question: Question, given: object) -> None:
    state.put(state.QUIZ_SITTING, sitting().answer(question, given))


def _give_ticked(question: Question) -> None:
    _give(question, sitting().ticked.get(question.id, frozenset()))


def _give_typed(question: Question, key: str) -> None:
    _give(question, state.get(key, ""))


def _tick(question: Question, option_id: str) -> None:
    state.put(state.QUIZ_SITTING, sitting().tick(question.id, option_id))


def _label(option: Option) -> str:
    return f"`{option.code}`" if option.text is None else label(option.text[lang()])


def _field(question: TypeShape | TypeNumber) -> str:
    if isinstance(question, TypeShape):
        return t("quiz.type_shape")
    asked = t("quiz.type_unit", unit=question.unit) if question.unit else t("quiz.type_number")
    return f"{asked} {t('quiz.within', percent=f'{question.tolerance:.1%}')}" if question.tolerance else asked


def _example(question: TypeShape | TypeNumber) -> str:
    return t("quiz.example_shape") if isinstance(question, TypeShape) else t("quiz.example_number")


# Showing -------------------------------------------------------------------------------------------------------------


def _options(question: OneChoice | SeveralChoices, answer: Answer) -> str:
    keyed = _ids(question.answer)
    chosen = _ids(answer.given)
    rows = []
    for number, option in enumerate(question.options, 1):
        words = f"<code>{html.escape(option.code or '')}</code>" if option.text is None else inline(option.text[lang()])
        rows.append(_row(words, option.id in chosen, option.id in keyed, str(number)))
    return "".join(rows)


def _ids(answer: object) -> Collection[object]:
    return answer if isinstance(answer, (tuple, frozenset)) else {answer}


def _text(question: TypeShape | TypeNumber, answer: Answer) -> str:
    typed = _row(f"<code>{html.escape(str(answer.given))}</code>", chosen=True, keyed=answer.right)
    right = f"{question.answer:,}" if isinstance(question, TypeNumber) else str(question.answer)
    unit = f" {question.unit}" if isinstance(question, TypeNumber) and question.unit else ""
    return typed if answer.right else typed + _row(f"<code>{right}</code>{unit}", chosen=False, keyed=True)


def _row(words: str, chosen: bool, keyed: bool, number: str = "") -> str:
    """One answer: right, wrong or neither, said by a sign, in words and by a colour."""
    css = "hw-right" if keyed else "hw-wrong" if chosen else ""
    mark = ""
    if chosen:
        mark = t("quiz.mark.right") if keyed else t("quiz.mark.wrong")
    elif keyed:
        mark = t("quiz.mark.missed")
    before = f"<kbd>{number}</kbd>" if number else ""
    return f'<div class="hw-option {css}">{before}<span>{words}</span><em>{mark}</em></div>'


ASK: dict[str, Callable] = {
    "one-choice": _one_choice,
    "several-choices": _several_choices,
    "shape": _typed,
    "number": _typed,
}
SHOWN: dict[str, Callable[..., str]] = {
    "one-choice": _options,
    "several-choices": _options,
    "shape": _text,
    "number": _text,
}
