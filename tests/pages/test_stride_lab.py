"""The Stride lab shows each stage of a typed chain and says whether a view is legal."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from core.trace import lab as core_lab
from pages._ui import i18n, lab

Open = Callable[..., AppTest]


def html_of(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def test_every_stage_shows_its_stride_and_the_view_is_judged(open_page: Open, lang: str) -> None:
    app = open_page("stride_lab", lang=lang)
    assert not app.exception
    for step in core_lab.run(core_lab.parse_shape(lab.SHAPE), lab.CHAIN):
        assert str(step.output.stride) in html_of(app)
    assert f"**{i18n.catalogue(lang)['lab.illegal']}**" in [markdown.value for markdown in app.markdown]
    assert "`transpose`" in app.warning[0].value
    assert "line 0" not in app.warning[0].value


@pytest.mark.parametrize("name", lab.EXAMPLES)
def test_examples_run(open_page: Open, name: str) -> None:
    app = open_page("stride_lab")
    app.button(key=f"lab_example_{name}").click().run()
    shape, chain, view = lab.EXAMPLES[name]
    assert app.text_input(key="chain").value == chain
    assert not app.exception
    legal = core_lab.run(core_lab.parse_shape(shape), f"{chain}.view({view})").error is None
    assert len(app.success) == legal
    assert len(app.warning) == (not legal)


def test_a_link_opens_its_chain(open_page: Open) -> None:
    app = open_page("stride_lab", shape="4, 6", chain="T", view="24")
    assert "(1, 6)" in html_of(app)
    assert len(app.warning) == 1
    assert open_page("stride_lab", shape="4, 6", chain="T.contiguous()", view="-1").success


@pytest.mark.parametrize(
    "query",
    [
        {"shape": "x"},
        {"shape": "9999, 9999"},
        {"chain": "__import__('os').system('x')"},
        {"chain": "repeat(99, 99999, 99999)"},
        {"view": "two"},
        {"view": "-1, -1"},
    ],
)
def test_what_cannot_be_run_is_explained_and_kept(open_page: Open, query: dict[str, str], lang: str) -> None:
    app = open_page("stride_lab", lang=lang, **query)
    assert not app.exception
    assert i18n.catalogue(lang)["frame.action"] in app.error[0].value
    for key, value in query.items():
        assert app.text_input(key=key).value == value


def test_a_call_that_torch_refuses_is_shown_with_its_error(open_page: Open) -> None:
    app = open_page("stride_lab", chain="view(5, 5)")
    assert "shape '[5, 5]' is invalid" in app.code[0].value
    assert app.warning
