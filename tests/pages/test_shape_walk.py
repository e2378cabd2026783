"""The Shape walk: every step of a real run, and words for sizes that cannot work."""

import json
import re
from collections.abc import Callable

import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.trace import TensorState, record
from pages._ui import i18n, text
from pages._ui.walk import memory, picture
from pages._ui.walk.colours import GREY, css, element_colours
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


def test_the_list_of_steps_is_the_same_at_each_step_and_only_its_lit_row_moves(open_page: Open) -> None:
    """The browser draws the list anew only when it has changed."""
    app = open_page("shape_walk")
    (first,) = app.get("bidi_component")
    sent = json.loads(first.proto.json)
    app.slider(key="step").set_value(7).run()
    (later,) = app.get("bidi_component")
    assert json.loads(later.proto.json) == {"table": sent["table"], "lit": 6}
    assert sent["lit"] == 0


def test_the_strip_says_its_arrows_aloud(open_page: Open, lang: str) -> None:
    step = run(setup("mha"))[2]
    app = open_page("shape_walk", step="3", lang=lang)
    (label,) = re.findall(r'role="img" aria-label="([^"]*)"', html_of(app))
    words = i18n.catalogue(lang)
    for (axis, size), stride in zip(zip("BHL", step.output.shape, strict=False), step.output.stride, strict=False):
        said = words["walk.memory.spoken.jump"].format(axis=axis, stride=stride)
        assert (said in label) == (size > 1)
    assert words["walk.memory.alone"].format(axes="B") in html_of(app)


def strip(state: TensorState) -> str:
    return memory.storage_strip(state, element_colours(state), [str(axis) for axis in state.axes])


def labels(drawn: str) -> list[str]:
    """The labels of the arrows in a strip, from the innermost outwards."""
    chips = re.findall(r'<span style="bottom:(\d+)px;[^>]*>(.*?</span></span>)</span>', drawn)
    assert [int(foot) for foot, _ in chips] == sorted({int(foot) for foot, _ in chips})  # a lane for each
    return [" ".join(re.findall(r"<[ib]>([^<]*)</[ib]>", chip)) for _, chip in chips]


class TestArrows:
    def test_one_an_axis_as_long_as_its_stride_and_the_longest_outermost(self) -> None:
        before, after = (run(setup("mha"))[i].output for i in (1, 2))
        assert (before.stride, after.stride) == ((80, 16, 4, 1), (80, 4, 16, 1))
        assert labels(strip(before)) == labels(strip(after)) == ["d_h +1", "H +4", "L +16"]
        widths = re.findall(r"hw-jump hw-(\w+)\" style=\"left:1.04%;width:calc\(([\d.]+)%", strip(after))
        assert widths == [("dh", "2.08"), ("H", "8.33"), ("L", "33.33")]  # of 48 cells: 1, 4, 16

    def test_an_axis_of_size_one_has_no_neighbour(self) -> None:
        assert "B +80" not in labels(strip(run(setup("mha"))[2].output))
        assert "B +80" in labels(strip(run(setup("mha", B=2))[2].output))

    def test_a_jump_out_of_what_is_shown_ends_at_the_edge(self) -> None:
        q = run(setup("mha", B=2))[2].output
        assert strip(q).count("hw-leaves") == 1
        assert "hw-leaves hw-B" in strip(q)
        assert "hw-cut" in strip(q)
        assert "hw-cut" not in strip(run(setup("mha"))[2].output)

    def test_stride_zero_is_a_loop_at_the_element(self) -> None:
        trace = record(lambda x: x.expand(2, 3, 4), torch.zeros(2, 1, 4), axes=["B L d_h"])
        assert strip(trace.inputs["x"]).count("hw-loop") == 0
        drawn = strip(trace[0].output)
        assert drawn.count("hw-loop") == 1
        assert labels(drawn)[0].endswith("+0")
        assert drawn.count("hw-jump") == 2

    def test_the_strip_goes_to_where_the_tensor_starts(self) -> None:
        trace = record(lambda x: x.chunk(3, dim=-1)[2], torch.zeros(1, 2, 96), axes=["B L d_model"])
        whole, third = trace.inputs["x"], trace[0].outputs[2]
        assert third.offset == 64
        assert memory.window(whole) == range(48)
        assert memory.window(third) == range(64, 112)
        assert strip(third).count(css(GREY)) == 112 - 96  # row 0's third, then what belongs to others

    def test_grey_is_what_the_tensor_does_not_reach(self) -> None:
        trace = record(lambda x: x[:, ::2], torch.zeros(2, 6), axes=["L d_h"])
        assert css(GREY) not in strip(trace.inputs["x"])
        assert strip(trace[0].output).count(css(GREY)) == 6

    @pytest.mark.parametrize("shape", [(), (0, 3), (1, 1)])
    def test_a_tensor_without_neighbours_has_no_arrows(self, shape: tuple[int, ...]) -> None:
        assert "hw-arrows" not in strip(record(lambda x: x.neg(), torch.zeros(shape)).inputs["x"])


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
        assert all(len(picture.blocks(step.output, element_colours(step.output), "")) < 40_000 for step in trace)

    def test_many_large_blocks_are_drawn_smaller(self) -> None:
        def cell(**sizes: int) -> float:
            q = run(setup("mha", **sizes))[2].output
            width, height = re.search(
                r'width="(\d+)" height="(\d+)"', picture.blocks(q, element_colours(q), "")
            ).groups()
            assert int(width) / q.shape[-1] == int(height) / q.shape[-2]  # true proportion
            return int(width) / q.shape[-1]

        assert cell(L=64, d_model=256, n_heads=16) == 2
        assert cell(L=8, d_model=256, n_heads=16) == 5  # as wide, but not as tall

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
