"""What one does on the quiz page: answer as a person does, and look at what it says."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from core.errors import Lang
from core.quiz import Question, generators, load_bank
from pages._ui import i18n
from pages._ui.quiz import modes
from pages._ui.quiz.sitting import ALL, plan

Open = Callable[..., AppTest]
ONE, SEVERAL, SHAPE, NUMBER = (
    "split-scores-without-transpose",
    "split-tests-that-catch",
    "split-right-shape",
    "split-fewer-scores",
)
STRIDES, RAISES, FAULTY, ORDER, BLANK, PAIRS = (
    "strides-of-the-turned-keys",
    "split-called-like-a-function",
    "split-bmm-faulty-line",
    "split-order-of-the-lines",
    "split-fill-the-transpose",
    "split-what-meets-what",
)

KINDS = (ONE, SEVERAL, SHAPE, NUMBER, STRIDES, RAISES, FAULTY, ORDER, BLANK, PAIRS)


def asked(question_id: str) -> Question:
    question = load_bank().question(question_id)
    assert question
    return question


def asked_in(topic: str, level: str = ALL) -> list[str]:
    """The written questions of a topic, and its generators."""
    written = [question.id for question in plan(load_bank(), topic, level)]
    drawn = [g.id for g in generators.GENERATORS.values() if topic in (ALL, g.topic) and level in (ALL, str(g.level))]
    return [*written, *drawn]


def words(key: str, lang: Lang, **params: object) -> str:
    return i18n.catalogue(lang)[key].format(**params)


def html_of(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def wrong_answer(question: Question) -> object:
    """A plausible wrong answer, in the form that `grade` takes."""
    key = question.answer if question.kind != "order" else None  # ty: ignore[missing-attribute]
    if question.kind in ("one-choice", "several-choices", "raises"):
        chosen = next(id_ for id_, claim in question.claims().items() if not claim.keyed)
        return [chosen] if question.kind == "several-choices" else chosen
    if question.kind == "faulty-line":
        return next(iter(question.decoys))  # ty: ignore[missing-attribute]
    if question.kind == "order":
        return list(range(len(question.lines)))[::-1]  # ty: ignore[missing-attribute]
    if question.kind == "blank":
        return question.wrong[0]  # ty: ignore[missing-attribute]
    if question.kind == "pairs":
        return dict(zip(key, [*list(key.values())[1:], next(iter(key.values()))], strict=True))
    return "7"


def right_answer(question: Question) -> object:
    if question.kind == "order":
        return list(range(len(question.lines)))  # ty: ignore[missing-attribute]
    key = question.answer  # ty: ignore[missing-attribute]
    return list(key) if question.kind == "several-choices" else key


def option(app: AppTest, question_id: str, option_id: str):
    return app.button(key=f"quiz_option_{question_id}_{option_id}")


def answer(app: AppTest, question: Question | str, is_right: bool = True) -> AppTest:
    """Answer as a person does, with what the page offers."""
    question = asked(question) if isinstance(question, str) else question
    given = right_answer(question) if is_right else wrong_answer(question)
    if f"quiz_typed_{question.id}" in [field.key for field in app.text_input]:
        text = ", ".join(map(str, given)) if isinstance(given, (list, tuple)) else str(given)
        return type_in(app, question.id, text)
    steps = given if isinstance(given, list) else list(given.values()) if isinstance(given, dict) else [given]
    prefix = "line-" if question.kind in ("faulty-line", "order") else ""
    for step in steps:
        option(app, question.id, f"{prefix}{step}").click().run()
    if question.kind in ("one-choice", "raises", "faulty-line"):
        return app
    return app.button(key=f"quiz_submit_{question.id}").click().run()


def type_in(app: AppTest, question_id: str, text: str) -> AppTest:
    app.text_input(key=f"quiz_typed_{question_id}").input(text)
    return app.button(key=f"quiz_submit_{question_id}").click().run()


def score(app: AppTest, lang: Lang, right: int, answered: int) -> None:
    assert words("quiz.score", lang, right=right, answered=answered) in html_of(app)


def sound(app: AppTest) -> None:
    assert not app.exception
    assert not app.error


def now_asked(app: AppTest) -> Question:
    question = modes.resolve(load_bank(), app.query_params["question"])
    assert question
    return question


def finish(app: AppTest, wrong: int) -> list[str]:
    """Answer all that is asked, the first `wrong` of them wrongly; their ids."""
    done: list[str] = []
    while "question" in app.query_params:
        question = now_asked(app)
        answer(app, question, len(done) >= wrong)
        sound(app)
        done.append(question.id)
        app.button(key="quiz_next").click().run()
    return done
