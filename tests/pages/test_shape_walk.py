"""The Shape walk: every step of a real run, and words for sizes that cannot work."""

from collections.abc import Callable

import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages._ui import i18n, text
from pages._ui.walk import memory, picture
from pages._ui.walk.colours import element_colours
from pages._ui.walk.listing import listing
from pages._ui.walk.runs import KINDS, LABELS, Setup, run

Open = Callable[..., AppTest]


def html_of(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def setup(kind: str = "gqa", **sizes: int) -> Setup:
    return Setup(kind, **sizes)


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_can_be_shown(open_page: Open, kind: str, lang: str) -> None:
    trace = run(setup(kind))
    app = open_page("shape_walk", attention=LABELS[kind], lang=lang)
    for step in trace:
        app.slider(key="step").set_value(step.index + 1).run()
        assert not app.exception
        assert not app.error
        shown = html_of(app)
        assert f"<s>{step.source.line}</s>" in shown
        assert str(step.output.stride) in shown
        assert i18n.catalogue(lang)[f"walk.kind.{step.kind}"] in shown


@pytest.mark.parametrize("kind", KINDS)
def test_every_axis_of_a_right_run_has_a_name(kind: str) -> None:
    for step in run(setup(kind, B=2)):
        for axis in step.output.axes:
            assert str(axis) in text.AXIS_CLASS, f"{step.source.text}: {step.output.axes}"


def test_under_the_hood_the_hidden_copies_show(open_page: Open) -> None:
    written, dispatched = run(setup("mha", B=2)), run(setup("mha", B=2, under_the_hood=True))
    assert not [step for step in written if step.op.startswith("aten::")]
    assert all(step.op.startswith("aten::") for step in dispatched)
    hidden = [s for s in dispatched if s.kind == "copy"]
    assert len(hidden) > len([s for s in written if s.kind == "copy"])
    app = open_page("shape_walk", hood="true", step="2")
    assert app.toggle(key="hood").value
    assert not app.exception
    assert "aten::" in html_of(app)


def test_buttons_step_and_stop_at_the_ends(open_page: Open) -> None:
    app = open_page("shape_walk")
    words = i18n.catalogue("en")
    last = len(run(setup("mha")))

    def press(key: str) -> None:
        next(button for button in app.button if button.label == words[key]).click().run()

    press("walk.back")
    assert app.slider(key="step").value == 1
    press("walk.next")
    assert app.slider(key="step").value == 2
    app.slider(key="step").set_value(last).run()
    press("walk.next")
    assert app.slider(key="step").value == last


def test_a_link_opens_its_step(open_page: Open) -> None:
    app = open_page("shape_walk", attention="GQA", step="4", L="7")
    assert app.slider(key="step").value == 4
    assert app.segmented_control(key="attention").value == "gqa"
    assert app.number_input(key="L").value == 7
    assert app.number_input(key="H_kv").value == 2


@pytest.mark.parametrize(
    "query",
    [
        {"step": "99"},
        {"step": "-1"},
        {"step": "x"},
        {"L": "100000"},
        {"H": "0"},
        {"attention": "<script>"},
        {"B": "1e9"},
    ],
)
def test_hostile_links_open_the_defaults(open_page: Open, query: dict[str, str]) -> None:
    app = open_page("shape_walk", **query)
    assert not app.exception
    assert not app.error
    assert app.slider(key="step").value == 1


@pytest.mark.parametrize(
    ("query", "given"),
    [({"d_model": "10"}, "d_model = 10"), ({"attention": "GQA", "H_kv": "3"}, "n_kv_heads = 3")],
)
def test_sizes_that_cannot_work_say_why_and_leave_the_controls(
    open_page: Open, query: dict[str, str], given: str, lang: str
) -> None:
    app = open_page("shape_walk", lang=lang, **query)
    plain = app.error[0].value.replace("\\", "")
    assert given in plain
    assert i18n.catalogue(lang)["frame.action"] in plain
    app.number_input(key="d_model").set_value(24).run()
    app.number_input(key="H").set_value(6).run()
    assert not app.error


def test_a_shorter_walk_keeps_within_its_steps(open_page: Open) -> None:
    app = open_page("shape_walk", attention="GQA")
    last = len(run(setup("gqa")))
    app.slider(key="step").set_value(last).run()
    app.segmented_control(key="attention").set_value("mha").run()
    assert app.slider(key="step").value == len(run(setup("mha"))) < last
    assert not app.exception


def test_language_switch_keeps_the_walk(open_page: Open) -> None:
    app = open_page("shape_walk", attention="GQA", step="5", L="6")
    app.sidebar.segmented_control(key="lang").set_value("zh").run()
    assert app.slider(key="step").value == 5
    assert app.number_input(key="L").value == 6
    assert app.segmented_control(key="attention").value == "gqa"


class TestDrawing:
    def test_the_strip_reads_storage_in_the_tensors_order(self) -> None:
        trace = run(setup("mha", B=2, L=3))
        q = next(step.output for step in trace if step.name == "q" and step.op == "transpose")
        value = torch.arange(q.storage_size).view(2, 3, 4, 4).transpose(1, 2)
        assert value.stride() == q.stride
        assert torch.equal(memory.reading_order(q), value.flatten())
        assert not torch.equal(memory.reading_order(q), torch.arange(q.storage_size))

    def test_the_listing_marks_the_very_expression(self) -> None:
        trace = run(setup("gqa"))
        for step in trace:
            shown = listing(trace, step)
            marked = shown.split("<mark>")[1].split("</mark>")[0]
            assert marked == step.source.text.split("\n")[0].replace(">", "&gt;")
            assert shown.count('aria-current="step"') == step.source.end_line - step.source.line + 1

    def test_the_listing_shows_each_function_once_without_its_docstring(self) -> None:
        trace = run(setup("gqa"))
        shown = listing(trace, trace[0])
        assert shown.count("def forward(…)") == shown.count("def _attend(…)") == 1
        assert "Attend from x" not in shown

    def test_the_picture_has_one_image_a_block_and_says_what_it_is(self) -> None:
        trace = run(setup("mha", B=2))
        q = next(step.output for step in trace if step.name == "q")
        drawn = picture.blocks(q, element_colours(q), "q, said aloud")
        assert drawn.count("<img ") == 2 * 4
        assert drawn.count('alt="q, said aloud"') == 1
        assert drawn.count('alt=""') == 7

    def test_the_largest_sizes_stay_small_on_the_wire(self) -> None:
        trace = run(setup("mha", L=64, d_model=256, n_heads=16))
        assert all(len(picture.blocks(step.output, element_colours(step.output), "")) < 200_000 for step in trace)

    def test_colours_tell_heads_and_tokens_apart(self) -> None:
        trace = run(setup("mha"))
        q = next(step.output for step in trace if step.name == "q" and step.op == "transpose")
        colours = element_colours(q)[0].reshape(4, 5, 4, 3)
        assert len({tuple(colours[h, t, 0]) for h in range(4) for t in range(5)}) == 20
        assert (colours == colours[:, :, :1]).all()  # features of one head and token share a colour

    def test_by_token_rows_differ_and_by_feature_columns(self) -> None:
        trace = run(setup("mha"))
        q = next(step.output for step in trace if step.name == "q" and step.op == "transpose")
        by_token, by_feature = element_colours(q, "token")[0], element_colours(q, "feature")[0]
        assert len({tuple(by_token[0, token, 0]) for token in range(5)}) == 5
        assert (by_token == by_token[:1, :, :1]).all()
        assert len({tuple(by_feature[0, 0, feature]) for feature in range(4)}) == 4
        assert (by_feature == by_feature[:1, :1]).all()
