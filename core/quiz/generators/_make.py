"""From a template and a seed to a question: draw, run, take the answer from the run."""

from collections.abc import Iterable, Mapping
from typing import Any

from core.errors import LANGS
from core.quiz.compare import plain, same
from core.quiz.generators._draw import Draw
from core.quiz.generators._sizes import SIZES
from core.quiz.generators._template import Choice, Template, Words
from core.quiz.kinds import ADAPTER
from core.quiz.proof import Raised, Run
from core.quiz.schema import Question, Steps

_TRIES = 200
_SHOWN = 4
"""Options of a choice among values."""
_SHORT = 9
"""Characters of a float that is shown in full."""


class Alike(Exception):
    """With these sizes a mistake gives what is right, or what another mistake gives."""


def make(template: Template, name: str) -> Question:
    """The question `name` of `template`. Draws again, from the same source, where two answers would be alike."""
    draw = Draw(name)
    for _ in range(_TRIES):
        try:
            return ADAPTER.validate_python({"id": name} | _Making(template, draw).fields())
        except Alike:
            continue
    raise RuntimeError(f"{name}: {_TRIES} draws and no answers that differ")


class _Making:
    """One draw: the sizes, the run with them, and the question that comes of it."""

    def __init__(self, template: Template, draw: Draw) -> None:
        self.template = template
        self.draw = draw
        self.sizes = SIZES[template.id](draw)
        self.steps = Steps(*(self.filled(part) for part in (template.given, template.code, template.proof)))
        self.run = Run(self.steps)
        raised = self.run.raised
        if raised and not (raised.part == "code" and (template.outcomes or template.options)):
            raise RuntimeError(f"{template.id} {self.sizes}: {raised} in line {raised.line} of {raised.part}")
        self.answer = _literal(self.run.result)
        self.mistakes = {id_: self.value(text) for id_, text in template.mistakes.items()}
        _differ([self.answer, *self.mistakes.values()])

    def filled(self, text: str) -> str:
        return text.format(**self.sizes)

    def value(self, expression: str) -> Any:
        """What an expression of the template comes to after the run."""
        value = self.run.value(self.filled(expression))
        if isinstance(value, Raised):
            raise RuntimeError(f"{self.template.id} {self.sizes}: {expression} raises {value}")
        return _literal(value)

    def fields(self) -> dict[str, Any]:
        template, kind = self.template, getattr(self, f"_{self.template.kind.replace('-', '_')}")()
        known = {name: self.value(text) for name, text in template.figures.items()} | self.mistakes
        known |= self.sizes | {"answer": self.answer}
        phrase = template.phrases[self.value(template.phrase)] if template.phrase else None
        answers = [one["id"] for one in (*kind.get("options", ()), *kind.get("outcomes", ()))] or list(self.mistakes)
        shared = {"kind": template.kind, "topic": template.topic, "level": template.level, "walk": template.walk}
        source = {name: text.format(**known) for name, text in (template.source or {}).items()}
        return {
            **shared,
            **self.steps._asdict(),
            **kind,
            "pitfalls": template.pitfalls_among(iter(answers)),
            "prompt": _worded(template.prompt, known, phrase),
            "explanation": _worded(template.explanation, known, phrase),
            "source": source or None,
        }

    # what each kind has of its own

    def _shape(self) -> dict[str, Any]:
        return {"answer": self.answer, "mistakes": self.mistakes}

    _strides = _shape

    def _number(self) -> dict[str, Any]:
        tolerance = self.template.tolerance
        if any(same(value, self.answer, tolerance) for value in self.mistakes.values()):
            raise Alike
        return {"answer": self.answer, "mistakes": self.mistakes, "unit": self.template.unit, "tolerance": tolerance}

    def _one_choice(self) -> dict[str, Any]:
        if self.template.options:
            options, right = self._said()
            if len(right) != 1:
                raise Alike
            return {"options": options, "answer": right[0]}
        others = self.draw.some(list(self.mistakes), min(len(self.mistakes), _SHOWN - 1))
        values = {"as-run": self.answer} | {id_: self.mistakes[id_] for id_ in others}
        options = [{"id": id_, "code": _shown(value), "claims": repr(value)} for id_, value in values.items()]
        _differ([option["code"] for option in options])
        return {"options": self.draw.shuffled(options), "answer": "as-run"}

    def _several_choices(self) -> dict[str, Any]:
        options, right = self._said()
        if not 0 < len(right) < len(options):
            raise Alike
        return {"options": options, "answer": right}

    def _said(self) -> tuple[list[dict[str, Any]], list[str]]:
        """The template's options, filled in and shuffled, and the ids of those that the run bears out."""
        options = self.draw.shuffled([self._choice(option) for option in self.template.options])
        _differ([option.get("code") or option["text"]["en"] for option in options])
        return options, [option["id"] for option in options if self._holds(option)]

    def _choice(self, choice: Choice) -> dict[str, Any]:
        words = {"text": _worded(choice.text, self.sizes)} if choice.text else {}
        texts = choice.model_dump(exclude={"id", "text"}, exclude_none=True)
        return {"id": choice.id} | words | {name: self.filled(text) for name, text in texts.items()}

    def _holds(self, option: Mapping[str, str]) -> bool:
        if "holds" in option:
            return plain(self.run.value(option["holds"])) is True
        return same(self.run.value(option["claims"]), self.run.result)

    def _raises(self) -> dict[str, Any]:
        raised = self.run.raised
        end = (raised.line, type(raised.error).__name__) if raised else (None, None)
        outcomes = [one.model_dump(exclude_none=True) for one in self.draw.shuffled(self.template.outcomes)]
        right = [one["id"] for one in outcomes if (one.get("line"), one.get("error")) == end]
        return {"outcomes": outcomes, "answer": right[0]}

    def _pairs(self) -> dict[str, Any]:
        left = self.draw.shuffled([self._choice(item) for item in self.template.left])
        values = [_literal(self.run.value(item["value"])) for item in left]
        _differ([*values, *self.mistakes.values()])
        right = [{"code": _shown(value), "claims": repr(value)} for value in (*values, *self.mistakes.values())]
        ids = [f"r{number}" for number in range(1, len(right) + 1)]
        placed = self.draw.shuffled(range(len(right)))
        named = {place: {"id": id_} | right[place] for id_, place in zip(ids, placed, strict=True)}
        answer = {item["id"]: named[place]["id"] for place, item in enumerate(left)}
        return {"left": left, "right": list(named.values()), "answer": answer}


def _worded(words: Words, known: Mapping[str, Any], phrase: Words | None = None) -> dict[str, str]:
    said = {lang: getattr(phrase, lang).format(**known) if phrase else "" for lang in LANGS}
    return {lang: getattr(words, lang).format(**known, phrase=said[lang]) for lang in LANGS}


def _literal(value: Any) -> Any:
    """`value` as a Python literal says it: sizes as tuples, tensors as lists, whole floats as ints."""
    value = plain(value)
    if hasattr(value, "tolist"):
        return _literal(value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value)(_literal(one) for one in value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _shown(value: Any) -> str:
    """A value as an option shows it: a float in full where that is short, with four digits otherwise."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})" if len(value) != 1 else f"({_shown(value[0])},)"
    return f"{value:.4g}" if isinstance(value, float) and len(repr(value)) > _SHORT else repr(value)


def _differ(values: Iterable[Any]) -> None:
    values = list(values)
    if any(value in values[:number] for number, value in enumerate(values)):
        raise Alike
