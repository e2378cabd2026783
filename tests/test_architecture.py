"""The layout keeps what it promises. Each rule is first shown to find what it is for, on a small made-up tree."""

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.architecture import (
    CORE,
    ROOT,
    core_imports,
    foreign_places,
    literal_text,
    private_imports,
    requirements,
    state_elsewhere,
    stolen_names,
    too_long,
    upward_imports,
)

Rule = Callable[[Path], Iterable[str]]
PIN = "torch==1.0  # runs\n"
BROKEN: list[tuple[Rule, dict[str, str], str]] = [
    (upward_imports, {"core/trace/a.py": "from pages._ui import state"}, "core/trace/a.py:1 (core) imports pages._ui"),
    (upward_imports, {"core/a.py": "def f():\n    import pages.quiz"}, "core/a.py:2 (core) imports pages.quiz (page)"),
    (upward_imports, {"pages/_ui/a.py": "from .. import home"}, "(ui) imports pages.home (page)"),
    (upward_imports, {"pages/_ui/walk/a.py": "from ... import _frame"}, "(ui) imports pages._frame (frame)"),
    (upward_imports, {"pages/home.py": "from pages import quiz"}, "pages/home.py:1 (page) imports pages.quiz (page)"),
    (upward_imports, {"pages/_ui/a.py": "import app"}, "imports app (app)"),
    (upward_imports, {"core/a.py": "from tests.x import y"}, "core/a.py:1 imports tests.x.y, which is not part of"),
    (
        upward_imports,
        {"core/a.py": "import importlib as i\ni.import_module('pages._ui')"},
        "core/a.py:2 (core) imports",
    ),
    (upward_imports, {"core/a.py": "from importlib import import_module as g\ng(n)\n__import__(n)"}, "core/a.py:3"),
    (core_imports, {"core/trace/a.py": "import streamlit as st"}, "core/trace/a.py:1 imports streamlit"),
    (core_imports, {"core/costs/a.py": "def f():\n    from plotly import io"}, "core/costs/a.py:2 imports plotly.io"),
    (
        core_imports,
        {"core/attention/a.py": "from core.trace import record"},
        "core/attention/a.py:1 imports core.trace.record: attention may import errors",
    ),
    (core_imports, {"core/trace/a.py": "from .. import judge"}, "core/trace/a.py:1 imports core.judge"),
    (core_imports, {"core/quiz/a.py": "from core import lm"}, "quiz may import costs, errors, judge, markup, pitfalls"),
    (core_imports, {"core/errors.py": "import core.trace"}, "core/errors.py:1 imports core.trace"),
    (core_imports, {"core/news/__init__.py": ""}, "say in CORE what the package news may import"),
    (private_imports, {"pages/_ui/a.py": "from core.trace._ops import kind"}, "is private to core/trace"),
    (private_imports, {"core/quiz/a.py": "from core.trace import _ops"}, "is private to core/trace"),
    (private_imports, {"core/quiz/a.py": "from core.errors import _catalogue"}, "is private to core/errors"),
    (state_elsewhere, {"pages/a.py": "import streamlit as st\nst.session_state['x'] = 1"}, "pages/a.py:2 uses session"),
    (state_elsewhere, {"pages/_ui/a.py": "from streamlit import session_state as s"}, "uses session_state"),
    (state_elsewhere, {"pages/_ui/a.py": "import streamlit\nstreamlit.query_params"}, "uses query_params"),
    (stolen_names, {"pages/trace.py": ""}, "pages/trace.py: trace is the name of a library"),
    (stolen_names, {"pages/yaml.py": ""}, "yaml is the name of a library"),
    (too_long, {"core/a.py": "x = 1\n" * 501}, "core/a.py: 501 lines"),
    (foreign_places, {"README.md": "see /ro" + "ot/x"}, "README.md:1 names a path of one machine"),
    (foreign_places, {"a/b.yaml": "x: 1\ny: /Us" + "ers/me"}, "b.yaml:2 names a path of one machine"),
    (foreign_places, {"b.txt": "https://py" + "pi.org/simple"}, "b.txt:1 names a registry's host"),
    (literal_text, {"pages/a.py": "st.title('Hello')"}, "pages/a.py:1 shows 'Hello'"),
    (literal_text, {"pages/a.py": "st.markdown(f'<b>{x}</b> steps')"}, "shows 'steps'"),
    (literal_text, {"pages/_ui/a.py": "st.sidebar.button(t('a'), help='Go' if x else '')"}, "shows 'Go'"),
    (literal_text, {"pages/_ui/a.py": "place.markdown('Go on')"}, "shows 'Go on'"),
    (literal_text, {"pages/_ui/a.py": "st.page_link('pages/home.py', label='Home')"}, "shows 'Home'"),
    (literal_text, {"pages/a.py": "words = '下一步'"}, "pages/a.py:1 holds Chinese words"),
    (requirements, {"requirements.txt": "torch>=1  # runs\n", "core/a.py": "import torch"}, ":1 is not `name==version"),
    (requirements, {"requirements.txt": "torch==1.0\n", "core/a.py": "import torch"}, ":1 is not `name==version"),
    (requirements, {"requirements.txt": PIN, "core/a.py": "import torch\nimport yaml"}, "imports pyyaml, which"),
    (
        requirements,
        {"requirements.txt": PIN + "rich==1.0  # no\n", "core/a.py": "import torch"},
        "nothing imports rich",
    ),
]
SOUND = {
    "app.py": "import streamlit as st\napp = st.App('pages/_frame.py')",
    "pages/_frame.py": "import streamlit as st\nfrom pages._ui import links\nst.set_page_config(page_title='Headwise')",
    "pages/home.py": "import streamlit as st\nfrom pages._ui.i18n import t\nst.title(t('a.b'))\nst.code(x, 'diff')",
    "pages/_ui/links.py": "import streamlit as st\nfrom . import i18n\nst.page_link('x', query_params={})",
    "pages/_ui/state.py": "import streamlit as st\nst.session_state.x = st.query_params",
    "pages/_ui/i18n.py": "from core.trace import record\nNAME = '中文'",
    "core/__init__.py": "",
    "core/errors.py": "import yaml",
    "core/trace/__init__.py": "from core.trace._ops import op\nfrom core.errors import E",
    "core/trace/_ops.py": "def op():\n    from .__init__ import E\n    import torch",
    "core/quiz/__init__.py": "from core.trace import record",
    "requirements.txt": PIN + "# and\npyyaml==1.0  # reads\nstreamlit==1.0  # shows\n",
    "README.md": "See https://arxiv.org/abs/1706.03762, tests/home/x and the root of ./home.",
}
RULES = sorted({rule for rule, *_ in BROKEN}, key=lambda rule: rule.__name__)


def plant(root: Path, tree: dict[str, str]) -> Path:
    for name, text in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("rule", "tree", "fault"), BROKEN, ids=[f"{rule.__name__}-{fault}" for rule, _, fault in BROKEN]
)
def test_each_rule_finds_what_breaks_it(tmp_path: Path, rule: Rule, tree: dict[str, str], fault: str) -> None:
    found = list(rule(plant(tmp_path, tree)))
    assert [one for one in found if fault in one], found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_each_rule_lets_a_sound_tree_pass(tmp_path: Path, rule: Rule) -> None:
    assert list(rule(plant(tmp_path, SOUND))) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_project_keeps_the_rule(rule: Rule) -> None:
    assert "\n".join(rule(ROOT)) == ""


def test_what_core_may_import_goes_round_in_no_circle() -> None:
    left = dict(CORE)
    while left:
        free = {name for name, allowed in left.items() if not allowed & left.keys()}
        assert free, f"a circle among {', '.join(left)}"
        left = {name: allowed for name, allowed in left.items() if name not in free}


# Torch only where it is needed ---------------------------------------------------------------------------------------

PAGE = "from streamlit.testing.v1 import AppTest; app = AppTest.from_file('pages/_frame.py'); app.run(timeout=60)"
WITHOUT_TORCH = {
    "the frame": "import pages._ui.chrome, pages._ui.links",
    "the home page": PAGE,
    "the quiz bank": "from core.quiz import load_bank; assert load_bank().questions",
    "the costs": "from core.costs import configs; assert configs()",
    "the models' cards": "from core.lm import MODELS, is_installed; [is_installed(model) for model in MODELS]",
}


def imports_torch(code: str) -> bool:
    """Whether torch is there after running `code` in a process of its own."""
    probe = f"{code}\nimport sys\nprint('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()[-1] == "True"


@pytest.mark.parametrize("what", WITHOUT_TORCH)
def test_torch_is_not_imported_where_nothing_is_run(what: str) -> None:
    assert not imports_torch(WITHOUT_TORCH[what])


def test_the_probe_sees_torch_where_it_is_imported() -> None:
    assert imports_torch("import core.attention")
