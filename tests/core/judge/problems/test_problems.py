"""Each problem is complete in both languages, agrees with its references, and does not give itself away."""

import ast
import inspect
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from core import pitfalls
from core.errors import BadInput
from core.judge.problems import Problem, problem, problems, run_example
from core.markup import parse
from core.pitfalls import PROBLEMS, REFERENCES, Text

ROOT = Path(__file__).parents[4]
SIZES = {"d_model": 24, "n_heads": 6, "n_kv_heads": 3, "window": 3, "d_latent": 10, "d_rope": 4}
each_problem = pytest.mark.parametrize("task", problems(), ids=lambda task: task.id)


def inputs() -> dict[str, Any]:
    heads = {name: torch.ones(2, 6, length, 4) for name, length in (("q", 5), ("k", 7), ("v", 7))}
    return {"x": torch.ones(2, 5, 24), "context": torch.ones(2, 7, 24), "block_size": 3, **heads}


def defined(source: str, name: str) -> Any:
    names: dict[str, Any] = {"__name__": "tried"}
    exec(compile(source, "<tried>", "exec"), names)
    return names[name]


def call(source: str, name: str) -> Any:
    """What the function, or the forward of the class, gives on small inputs."""
    reference = REFERENCES[name]
    wanted = defined(source, reference.call)
    given = [inputs()[taken] for taken in reference.takes]
    if reference.arguments is None:
        return wanted(*given)
    return wanted(*(SIZES[argument] for argument in reference.arguments))(*given)


def texts(task: Problem) -> list[Text]:
    answers = [text for follow_up in task.follow_ups for text in (follow_up.question, follow_up.answer)]
    return [task.title, *task.statement, *task.rules, *task.hints, *answers]


# The set -------------------------------------------------------------------------------------------------------------


def test_every_problem_is_there_in_order() -> None:
    assert tuple(task.id for task in problems()) == PROBLEMS
    assert problem("gqa") is problems()[PROBLEMS.index("gqa")]


def test_an_unknown_id_says_the_known_ones() -> None:
    with pytest.raises(BadInput, match="“MHA” was asked for; there are sdpa, mha, causal") as raised:
        problem("MHA")
    assert "「MHA」" in raised.value.parts("zh").given


def test_no_torch_is_imported_before_an_example_runs() -> None:
    code = "import sys; from core.judge.problems import problems; problems()[1].pitfalls; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


# Contracts -----------------------------------------------------------------------------------------------------------


def contract(source: str, name: str) -> dict[str, list[str]]:
    """The arguments, with defaults, of the function `name` or of each method that the class `name` has itself."""
    wanted = defined(source, name)
    if inspect.isfunction(wanted):
        return {name: [str(argument) for argument in inspect.signature(wanted).parameters.values()]}
    return {
        method: [str(argument) for argument in inspect.signature(vars(wanted)[method]).parameters.values()]
        for method in ("__init__", "forward")
    }


@each_problem
def test_signature_starter_and_reference_agree(task: Problem) -> None:
    reference = REFERENCES[task.reference]
    assert task.name == reference.call
    assert contract(task.starter, task.name) == contract(reference.source, task.name)
    shown = f"from torch import nn\n{task.signature}"
    assert contract(shown, task.name) == contract(task.starter, task.name)


@each_problem
def test_other_references_keep_the_contract(task: Problem) -> None:
    """They may take more, never less, nor anything in another order."""
    own = contract(task.starter, task.name)
    for name in task.also:
        for method, arguments in contract(REFERENCES[name].source, task.name).items():
            assert arguments[: len(own[method])] == own[method]
            assert all("=" in more for more in arguments[len(own[method]) :])


def test_a_reference_that_returns_something_else_is_no_other_solution() -> None:
    assert problem("mha").also == ("mha_fused", "mha_dropout")  # mha_module returns a tuple
    assert isinstance(call(REFERENCES["mha_module"].source, "mha_module"), tuple)
    assert problem("gqa").also == ("gqa_fused",)
    assert not problem("sdpa").also


@each_problem
def test_the_starter_is_left_open_and_the_reference_is_not(task: Problem) -> None:
    with pytest.raises(NotImplementedError):
        call(task.starter, task.reference)
    for name in (task.reference, *task.also):
        given = call(REFERENCES[name].source, name)
        assert isinstance(given, tuple) == REFERENCES[name].cached


@each_problem
def test_the_starter_imports_what_a_solution_needs(task: Problem) -> None:
    """The reference's own imports are in it, so that a person may begin with the first line of the body."""
    started = task.starter.split("\n")
    assert "import torch" in started
    assert ("from torch import nn" in started) == (REFERENCES[task.reference].arguments is not None)


# Examples ------------------------------------------------------------------------------------------------------------

PRINTED = {
    "sdpa": "torch.Size([1, 1, 2, 1]) tensor([4., 4.])\ntorch.Size([1, 1, 2, 1]) tensor([1.5000, 1.5000])",
    "mha": "torch.Size([2, 10, 64])\nTrue",
    "causal": "torch.Size([2, 6, 32])\ntensor([ True,  True,  True,  True,  True, False])",
    "gqa": "torch.Size([2, 10, 64])\n1 torch.Size([2, 10, 64])\n8 torch.Size([2, 10, 64])",
    "mqa": "torch.Size([2, 10, 64])\nTrue",
    "cross": "torch.Size([2, 5, 64])\nTrue",
    "kv_cache": "torch.Size([1, 2, 9, 8]) torch.Size([1, 2, 9, 8])\nTrue",
    "rope": "torch.Size([1, 4, 7, 8]) torch.Size([1, 4, 7, 8])\nTrue",
    "sliding_window": "torch.Size([1, 7, 32])\ntensor([2, 3, 4])",
    "online_softmax": "\n".join(f"{block} torch.Size([2, 4, 5, 16]) True" for block in (1, 4, 100)),
    "mla": "torch.Size([2, 7, 24]) torch.Size([2, 1, 7, 8])\nTrue",
}


@each_problem
def test_the_example_shows_what_its_words_say(task: Problem) -> None:
    assert run_example(task) == PRINTED[task.id]


def test_an_example_runs_with_what_it_imports_itself() -> None:
    """A reference may import less than the example uses."""
    for task in problems():
        imported = {alias.asname or alias.name for node in ast.parse(task.example).body for alias in _aliases(node)}
        used = {node.id for node in ast.walk(ast.parse(task.example)) if isinstance(node, ast.Name)}
        assert {"torch", "F"} & used <= imported, task.id


def _aliases(node: ast.stmt) -> list[ast.alias]:
    return node.names if isinstance(node, ast.Import | ast.ImportFrom) else []


# Mistakes ------------------------------------------------------------------------------------------------------------


@each_problem
def test_pitfalls_are_those_of_its_references(task: Problem) -> None:
    solutions = [reference.name for reference in REFERENCES.values() if reference.problem == task.id]
    found = {entry.id for name in solutions for entry, _ in pitfalls.mistakes_in(name)}
    assert set(task.pitfalls) == found
    assert list(task.pitfalls) == [id_ for id_ in pitfalls.IDS if id_ in found]


def test_pitfalls_of_one_problem_are_not_those_of_another() -> None:
    assert "gqa-repeat-order" in problem("gqa").pitfalls
    assert "gqa-repeat-order" not in problem("mha").pitfalls
    assert "mha-api-polarity" in problem("mha").pitfalls  # by way of mha_module


# Words ---------------------------------------------------------------------------------------------------------------


@each_problem
def test_both_languages_name_the_same_shapes(task: Problem) -> None:
    for text in texts(task):
        english, chinese = (Counter(s.text for s in parse(text[lang]) if s.kind == "shape") for lang in ("en", "zh"))
        assert english == chinese, text.en


@each_problem
def test_both_languages_show_the_same_numbers(task: Problem) -> None:
    """Two digits and more; smaller ones are words in one language and digits in the other. A unit may differ."""
    for text in texts(task):
        english, chinese = (set(re.findall(r"\d[\d,.]*\d", text[lang])) for lang in ("en", "zh"))
        if "million" in text.en:
            english, chinese = english - {"2.6"}, chinese - {"260"}
        assert english == chinese, text.en


HAN = r"[\u3400-\u9fff]"
TYPOGRAPHY = {
    "no space": rf"{HAN}[A-Za-z0-9\u0001]|[A-Za-z0-9%\u0001]{HAN}",
    "half width": rf"{HAN}\s*[,;:?!]|{HAN}\.(?:\s|$)|[,;:?!]\s*{HAN}",
    "quotes": '["“”‘’]',
}


def misset(chinese: str) -> list[str]:
    """Code and chips count as one Latin letter each."""
    words = "".join(s.text if s.kind in ("text", "bold") else "\u0001" for s in parse(chinese))
    return [
        f"{name}: {words[max(0, found.start() - 8) : found.end() + 8]}"
        for name, pattern in TYPOGRAPHY.items()
        if (found := re.search(pattern, words))
    ]


@each_problem
def test_chinese_is_set_as_chinese(task: Problem) -> None:
    assert [fault for text in texts(task) for fault in misset(text.zh)] == []


@pytest.mark.parametrize("chinese", ["用mask遮住", "取`dim=-1`", "先转置, 再合并", "所谓“头”"])
def test_bad_setting_would_be_found(chinese: str) -> None:
    assert misset(chinese)


# Hints ---------------------------------------------------------------------------------------------------------------


def statements(source: str) -> list[str]:
    """The lines that do the work: no definitions, checks, docstrings, nor what only stores a size."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign | ast.Return) and not re.match(r"self\.[nd]_|B, L", ast.unparse(node)):
            found.append(ast.unparse(node))
    return found


def given_away(hints: list[str], source: str) -> float:
    """The share of the solution's working lines whose right side stands in a hint."""
    code = (
        " ".join(s.text for hint in hints for s in parse(hint) if s.kind == "code").replace(" ", "").replace('"', "'")
    )
    lines = [line.rpartition(" = ")[2].replace(" ", "") for line in statements(source)]
    return sum(len(line) > 8 and line in code for line in lines) / len(lines)


@each_problem
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_hints_leave_most_to_do(task: Problem, lang: Any) -> None:
    source = REFERENCES[task.reference].source
    assert given_away([hint[lang] for hint in task.hints], source) <= 0.35
    assert given_away([f"`{line}`" for line in statements(source)], source) > 0.7  # the measure sees a solution


@each_problem
def test_hints_begin_with_a_question_and_end_near_the_code(task: Problem) -> None:
    first, *_, last = task.hints
    assert "?" in first.en
    assert "？" in first.zh
    for lang in ("en", "zh"):
        longest = [
            max((len(s.text) for s in parse(hint[lang]) if s.kind == "code"), default=0) for hint in (first, last)
        ]
        assert longest[0] < longest[1]
