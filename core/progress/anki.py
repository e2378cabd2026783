"""Questions as a package for Anki: prompt, code and options in front; answer, explanation and proof behind.

A question has the same ids in every package, so that a second import renews a card and keeps its schedule; the two
languages are cards of their own.
"""

import html
import io
import itertools
import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import genanki
import yaml

from core import markup
from core.errors import Lang
from core.quiz import Question, kinds, run_proof
from core.quiz.kinds.choice import Outcome

_NOTE_TYPE = {"en": 1_743_205_811, "zh": 1_743_205_812}
_DECK = {"en": 1_986_413_007, "zh": 1_986_413_008}
_STYLE = """
.card { font-family: sans-serif; font-size: 18px; line-height: 1.5; text-align: left; max-width: 40em; margin: auto; }
pre, code, .shape { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 0.9em; }
pre { overflow-x: auto; border: 1px solid #8a8f98; border-radius: 4px; padding: 0.5em; }
.shape { border: 1px solid #8a8f98; border-radius: 4px; padding: 0 0.3em; white-space: nowrap; }
"""
_TEMPLATE = {
    "name": "Card",
    "qfmt": "{{Question}}",
    "afmt": "{{FrontSide}}<hr id=answer>{{Answer}}{{Explanation}}{{Proof}}",
}


def prove(question: Question) -> str:
    """The transcript of the question's proof, run now."""
    return run_proof(question).output


def deck(
    questions: Iterable[Question],
    lang: Lang,
    at: datetime | None = None,
    transcript: Callable[[Question], str] = prove,
) -> bytes:
    """An .apkg of `questions` in `lang`, each with the `transcript` of its proof, which is run now (this imports torch)
    unless somebody has it from before.

    `at` (now, where it is not given) is when the notes were changed: of two, Anki takes the newer.
    """
    note_type = genanki.Model(
        _NOTE_TYPE[lang],
        _words("note", lang),
        fields=[{"name": name} for name in ("Question", "Answer", "Explanation", "Proof")],
        templates=[dict(_TEMPLATE)],
        css=_STYLE,
    )
    notes = genanki.Deck(_DECK[lang], _words("deck", lang))
    for question in questions:
        notes.add_note(_note(question, lang, note_type, transcript(question)))
    seconds = (at or datetime.now(UTC)).timestamp()
    with closing(sqlite3.connect(":memory:")) as collection:
        genanki.Package(notes).write_to_db(collection.cursor(), seconds, itertools.count(int(seconds * 1000)))
        collection.commit()
        content = collection.serialize()
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr("collection.anki2", content)
        files.writestr("media", json.dumps({}))
    return package.getvalue()


def _note(question: Question, lang: Lang, note_type: genanki.Model, output: str) -> genanki.Note:
    return genanki.Note(
        note_type,
        fields=[
            f"<p>{_inline(question.prompt[lang])}</p>{_code_of(question)}{_options(question, lang)}",
            answer_text(question, lang),
            f"<p>{_inline(question.explanation[lang])}</p>",
            _block(output),
        ],
        tags=[question.topic, f"level-{question.level}", *question.pitfalls],
        guid=genanki.guid_for("headwise", question.id, lang),
    )


# In front ------------------------------------------------------------------------------------------------------------


def _code_of(question: Question) -> str:
    if not question.code:
        return ""
    if not isinstance(question, (kinds.FaultyLine, kinds.Raises)):
        return _block(question.code)
    lines = question.code.split("\n")  # these speak of lines by number
    return _block("\n".join(f"{number:{len(str(len(lines)))}}  {line}" for number, line in enumerate(lines, 1)))


def _options(question: Question, lang: Lang) -> str:
    match question:
        case kinds.OneChoice(options=options):
            return _list(_said(option, lang) for option in options)
        case kinds.SeveralChoices(options=options):
            return f"<p>{_words('several', lang)}</p>" + _list(_said(option, lang) for option in options)
        case kinds.Raises(outcomes=outcomes):
            return _list(_outcome(one, lang) for one in outcomes)
        case kinds.OrderLines():
            return _list(_code(question.lines[place]) for place in question.shuffled())
        case kinds.MatchPairs(left=left, right=right):
            return _list((_said(item, lang) for item in left), "ul") + _list(_said(item, lang) for item in right)
        case kinds.TypeNumber(unit=str(unit)):
            return f"<p>{_words('unit', lang, unit=unit)}</p>"
    return ""


# Behind --------------------------------------------------------------------------------------------------------------


def answer_text(question: Question, lang: Lang) -> str:
    """HTML of the right answer, whatever kind of question it is. Raises TypeError for a kind that is not known here."""
    match question:
        case kinds.OneChoice(answer=answer) | kinds.SeveralChoices(answer=answer):
            keyed = [answer] if isinstance(answer, str) else answer
            return _numbered(question.options, keyed, lang)
        case kinds.Raises(outcomes=outcomes, answer=answer):
            return "".join(f"<p><b>{_outcome(one, lang)}</b></p>" for one in outcomes if one.id == answer)
        case kinds.TypeShape(answer=answer) | kinds.TypeStrides(answer=answer):
            return f"<p>{_code(str(tuple(answer)))}</p>"
        case kinds.TypeNumber(answer=answer, unit=unit):
            return f"<p>{_code(f'{answer:,} {unit or str()}'.strip())}</p>"
        case kinds.FaultyLine(answer=answer, repair=repair):
            return f"<p><b>{_words('line', lang, line=answer)}</b></p>{_block(repair)}"
        case kinds.OrderLines(lines=lines):
            return _block("\n".join(lines))
        case kinds.FillBlank(answer=answer):
            return f"<p><b>{_code(answer)}</b></p>{_block(question.filled(answer))}"
        case kinds.MatchPairs(left=left, right=right, answer=answer):
            items = {item.id: _said(item, lang) for item in right}
            return _list((f"{_said(item, lang)} ↔ {items[answer[item.id]]}" for item in left), "ul")
    raise TypeError(f"no card is known for a question of kind {question.kind}")


def _numbered(options: Sequence[kinds.Option], keyed: Sequence[str], lang: Lang) -> str:
    rows = ((number, option) for number, option in enumerate(options, 1) if option.id in keyed)
    return "".join(f"<p><b>{number}. {_said(option, lang)}</b></p>" for number, option in rows)


def _outcome(outcome: Outcome, lang: Lang) -> str:
    if outcome.line is None:
        return _words("ends", lang)
    return _words("raises", lang, line=outcome.line, error=_code(outcome.error or ""))


# HTML ----------------------------------------------------------------------------------------------------------------


def _said(item: object, lang: Lang) -> str:
    """HTML of an option, or of one side of a pair: words, or code."""
    text = getattr(item, "text", None)
    return _inline(text[lang]) if text is not None else _code(getattr(item, "code", None) or "")


def _inline(text: str) -> str:
    marks = {"text": "{}", "code": "<code>{}</code>", "bold": "<b>{}</b>", "shape": '<span class="shape">{}</span>'}
    return "".join(marks[part.kind].format(html.escape(_plain(part))) for part in markup.parse(text))


def _plain(part: markup.Segment) -> str:
    return ", ".join(f"{axis} {size}".strip() for axis, size in part.axes) if part.kind == "shape" else part.text


def _code(text: str) -> str:
    if "\n" in text:
        return _block(text)
    return f"<code>{html.escape(text)}</code>"


def _block(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>" if text else ""


def _list(rows: Iterable[str], tag: str = "ol") -> str:
    return f"<{tag}>{''.join(f'<li>{row}</li>' for row in rows)}</{tag}>"


def _words(key: str, lang: Lang, **values: object) -> str:
    return _catalogue()[key][lang].format(**values)


@cache
def _catalogue() -> dict[str, dict[str, str]]:
    return yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
