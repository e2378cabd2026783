"""The top of a question: its topic and level, the prompt, the code."""

import html

import streamlit as st

from core.quiz import Bank, FaultyLine, Question, card_of
from pages._ui.i18n import lang, t
from pages._ui.quiz.choosing import topic_name
from pages._ui.quiz.words import inline


def show(bank: Bank, question: Question, answered: bool = False) -> None:
    """The pitfalls are named once they give nothing away. Code of which a line is chosen is shown by the choice."""
    facts = f"{html.escape(topic_name(bank, question.topic))} · {t('quiz.level.of', level=question.level)}"
    if card_of(question.id)[1] is not None:
        facts += f" · {t('quiz.drawn')}"
    tags = "".join(f'<span class="hw-tag hw-pitfall">{one}</span>' for one in question.pitfalls) if answered else ""
    st.html(
        f'<div class="hw-facts"><span class="hw-mute">{facts}</span>{tags}</div>'
        f'<div class="hw-prompt" role="heading" aria-level="2">{inline(question.prompt[lang()])}</div>'
    )
    if question.code and not isinstance(question, FaultyLine):
        st.code(question.code, "python", line_numbers=True, wrap_lines=True)
