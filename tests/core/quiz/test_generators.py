"""Generated questions: proved for many seeds, the same everywhere, and right by a second way of counting.

The second ways take the sizes from what the reader sees, the English prompt and the code.
"""

import hashlib
import math
import os
import random
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from types import MappingProxyType

import pytest

from core import costs
from core.pitfalls import IDS
from core.quiz import Bank, checks, grade, load_bank, run_proof
from core.quiz.faults import Place
from core.quiz.generators import GENERATORS, SEEDS, generate, parse, sample
from core.quiz.generators import _make as making
from core.quiz.generators._draw import Draw
from core.quiz.generators._sizes import SIZES
from core.quiz.generators._template import Template

ROOT = Path(__file__).parents[3]
MANY = 100
every = pytest.mark.parametrize("id_", GENERATORS)


@cache
def made(id_):
    return tuple(generate(id_, seed) for seed in range(MANY))


def numbers(text):
    return [int(number) for number in re.findall(r"\d+", text)]


# All of them ---------------------------------------------------------------------------------------------------------


@every
def test_every_seed_is_proved(id_):
    faults = {one.id: [str(fault) for fault in run_proof(one).faults] for one in made(id_)}
    assert {name: found for name, found in faults.items() if found} == {}


@every
def test_a_question_is_what_its_generator_says(id_):
    generator = GENERATORS[id_]
    for seed, one in enumerate(made(id_)):
        assert one.id == f"{id_}-s{seed}"
        assert parse(one.id) == (id_, seed)
        assert (one.kind, one.topic, one.level) == (generator.kind, generator.topic, generator.level)
        assert set(one.pitfalls) <= set(generator.pitfalls) <= set(IDS)


@every
def test_both_languages_name_the_same_sizes(id_):
    for one in made(id_):
        texts = one.texts()
        assert not any(sign in text[lang] for text in texts for lang in ("en", "zh") for sign in "{}")
        for text in (one.prompt, one.explanation):
            assert set(numbers(text.en)) == set(numbers(text.zh)), text


@every
def test_answers_differ_and_none_stands_always_in_one_place(id_):
    places, sizes = Counter(), Counter()
    for one in made(id_):
        options = getattr(one, "options", None) or getattr(one, "outcomes", None) or ()
        assert len({option.code or option.text for option in getattr(one, "options", ())}) in (0, len(options))
        for place, option in enumerate(options):
            places[place] += option.id in (one.answer if isinstance(one.answer, tuple) else (one.answer,))
        sizes[len(options)] += 1
    assert len(sizes) == 1
    if count := next(iter(sizes)):
        share = sum(places.values()) / count
        # five standard deviations would be about 22 of 100; a place that is never or always right is far beyond
        assert all(abs(places[place] - share) < 0.2 * MANY for place in range(count)), places


@every
def test_there_is_more_than_a_handful_of_each(id_):
    asked = {(one.prompt.en, one.code, str(getattr(one, "options", ""))) for one in made(id_)}
    assert len(asked) >= 20


def test_right_answers_of_all_choices_are_spread_evenly():
    ones = [one for id_ in GENERATORS if GENERATORS[id_].kind == "one-choice" for one in made(id_)]
    places = Counter([option.id for option in one.options].index(one.answer) for one in ones)
    assert all(abs(places[place] / len(ones) - 0.25) < 0.04 for place in range(4)), places


def a_bank(questions):
    places = {one.id: Place(ROOT / "generated", 1) for one in questions}
    ids = dict.fromkeys(places, True)
    return Bank(ROOT, tuple(questions), (), (), MappingProxyType(places), MappingProxyType(ids))


def test_words_are_set_as_those_of_the_bank():
    """The bank's own checks: full-width punctuation, spaces, quotes, the proofs."""
    faults = checks.check(a_bank([one for id_ in GENERATORS for one in made(id_)[:3]]))
    of_the_set = {"quiz.questions-alike", "quiz.positions-uneven"}  # three of one generator, and few
    assert [fault.text() for fault in faults if fault.problem.code not in of_the_set] == []


def test_no_generator_asks_what_a_written_question_asks():
    bank = a_bank([*load_bank().questions, *(made(id_)[0] for id_ in GENERATORS)])
    alike = [fault.text() for fault in checks._alike(bank)]  # alone: the written ones need not be proved here
    assert [text for text in alike if "gen-" in text] == []


def test_the_right_answer_is_graded_as_right_and_a_mistake_as_wrong():
    for id_ in GENERATORS:
        for one in made(id_)[:5]:
            assert grade(one, one.answer)
            for option in getattr(one, "options", ()):
                if one.kind == "one-choice":
                    assert grade(one, option.id) == (option.id == one.answer)


# Drawing -------------------------------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_question_in_every_process_and_torch_is_imported_for_it_only():
    code = """
import hashlib, sys
from core.quiz.generators import GENERATORS, generate, parse
parse("gen-strides-element-s1")
print("torch" in sys.modules)
for id_ in GENERATORS:
    print(hashlib.sha256(repr(generate(id_, 4711)).encode()).hexdigest())
print("torch" in sys.modules)
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    here = [hashlib.sha256(repr(generate(id_, 4711)).encode()).hexdigest() for id_ in GENERATORS]
    assert run.stdout.split() == ["False", *here, "True"]


def test_the_draws_of_a_name_are_for_ever():
    """Stored answers name questions by their seeds: what a seed draws must not change."""
    draw = Draw("gen-x-s1")
    assert [draw.within(0, 99) for _ in range(6)] == [84, 32, 5, 22, 25, 43]
    assert draw.some("abcdef", 3) == ["c", "b", "e"]
    assert sorted(draw.shuffled(range(5))) == [0, 1, 2, 3, 4]
    assert {draw.within(2, 4) for _ in range(100)} == {2, 3, 4}
    assert {draw.one("a", "b") for _ in range(100)} == {"a", "b"}


def test_nothing_global_is_drawn_from():
    import torch

    python, tensors = random.getstate(), torch.get_rng_state()
    for id_ in GENERATORS:
        assert generate(id_, 99) == generate(id_, 99)
    assert random.getstate() == python
    assert torch.equal(torch.get_rng_state(), tensors)


def test_generators_are_registered():
    assert len(GENERATORS) >= 16
    assert set(SIZES) == set(GENERATORS)
    bank = load_bank()
    topics = [line.split(",")[0].split()[-1] for line in (bank.path / "_topics.yaml").read_text().splitlines()[1:]]
    order = [topics.index(generator.topic) for generator in GENERATORS.values()]
    assert order == sorted(order)
    for id_, generator in GENERATORS.items():
        assert id_ == generator.id
        assert id_.startswith("gen-")
        assert bank.ids[id_]
        assert bank.question(id_) is None


def test_a_sample_has_so_many_of_each():
    assert [one.id for one in sample(2)] == [f"{id_}-s{seed}" for id_ in GENERATORS for seed in (0, 1)]


# What comes from a link ----------------------------------------------------------------------------------------------

ID = "gen-strides-element"


@pytest.mark.parametrize("seed", [0, 7, SEEDS - 1])
def test_an_id_names_its_generator_and_seed(seed):
    assert parse(f"{ID}-s{seed}") == (ID, seed)
    assert generate(ID, seed).id == f"{ID}-s{seed}"


@pytest.mark.parametrize(
    "hostile",
    [
        "", ID, f"{ID}-s", f"{ID}-s-1", f"{ID}-s01", f"{ID}-s1000000", f"{ID}-s99999999999999999999", f"{ID}-s1.5",
        f"{ID}-s1\n", f" {ID}-s1", f"{ID}-s1 ", f"{ID}-s１", f"{ID}-s٣", f"{ID.upper()}-s1", f"{ID}-S1", f"{ID}-s1-s1",
        "gen-nobody-s1", "gen--s1", "strides-after-transpose", "../gen-x-s1", "gen-" + "x" * 10**6 + "-s1", "-s1" * 999,
        "<script>", "{id}", None, 7, 7.0, True, b"gen-strides-element-s1", [f"{ID}-s1"], {"id": 1}, float("nan"),
    ],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_whatever_else_is_given_names_none(hostile):
    assert parse(hostile) is None


@pytest.mark.parametrize("seed", [-1, SEEDS, 1.0, True, "1", None])
def test_a_seed_out_of_range_is_refused(seed):
    with pytest.raises(ValueError, match="is not in 0"):
        generate(ID, seed)


def test_an_unknown_generator_is_refused():
    with pytest.raises(KeyError):
        generate("gen-nobody", 1)


# Planted faults ------------------------------------------------------------------------------------------------------

SOUND = {
    "id": "gen-planted", "kind": "one-choice", "topic": "split", "level": 1,
    "name": {"en": "Planted", "zh": "试验"}, "prompt": {"en": "{n}?", "zh": "是 {n} 吗？"},
    "proof": "{n} + 1", "mistakes": {"one": "{n}", "scale-twice": "{n} * 2", "three": "{n} * 3"},
    "explanation": {"en": "{n}, {answer}, {one}. {phrase}", "zh": "{n}、{answer}、{one}。{phrase}"},
    "phrase": "'odd' if {n} % 2 else 'even'",
    "phrases": {"odd": {"en": "{n} is odd.", "zh": "{n} 是奇数。"}, "even": {"en": "Even.", "zh": "是偶数。"}},
}  # fmt: skip


def planted(monkeypatch, sizes=lambda draw: {"n": draw.within(2, 9)}, **changes):
    monkeypatch.setitem(making.SIZES, "gen-planted", sizes)
    return making.make(Template.model_validate(SOUND | changes), "gen-planted-s1")


def test_a_sound_template_makes_a_question(monkeypatch):
    one = planted(monkeypatch)
    n = int(one.prompt.en[:-1])
    assert {int(option.code) for option in one.options} == {n + 1, n, n * 2, n * 3}
    assert one.explanation.en.startswith(f"{n}, {n + 1}, {n}. ")
    assert one.explanation.en.endswith("odd." if n % 2 else "Even.")
    assert one.pitfalls == ("scale-twice",)
    assert run_proof(one).proved


def test_sizes_for_which_two_answers_are_alike_are_drawn_again(monkeypatch):
    """With 1 the second mistake is the answer, with 0 all are one number: only the last draw of these will do."""
    drawn = iter([1, 0, 1, 5])
    assert planted(monkeypatch, lambda _: {"n": next(drawn)}).prompt.en == "5?"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mistakes": {"same": "{n} + 1"}}, "no answers that differ"),
        ({"proof": "1 / 0"}, "ZeroDivisionError"),
        ({"mistakes": {"broken": "nobody"}}, "nobody"),
    ],
)
def test_a_template_that_cannot_work_says_so(monkeypatch, changes, said):
    with pytest.raises(RuntimeError, match=said):
        planted(monkeypatch, **changes)


def test_words_that_break_the_markup_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="bad-markup"):
        planted(monkeypatch, prompt={"en": "{n} * 2", "zh": "是 {n} 吗"})


# A second way of counting --------------------------------------------------------------------------------------------


def chosen(one):
    """The value of the right option."""
    return next(option.code for option in one.options if option.id == one.answer)


def model_of(one):
    return next(model for model in costs.configs() if one.prompt.en.startswith(f"{model.name}:"))


def test_costs_agree_with_the_formulas():
    for one in made("gen-kv-per-token"):
        model, each = (
            model_of(one),
            {"bfloat16": 2, "float8_e4m3fn": 1, "float32": 4}[re.findall("`(.*)`", one.prompt.en)[0]],
        )
        per_token = costs.kv_bytes_per_token(
            n_layers=model.n_layers, n_kv_heads=model.n_kv_heads, d_h=model.d_h, bytes_per_element=each
        )
        assert one.answer * 1024 == per_token
    for one in made("gen-kv-total"):
        model, (*_, B, L) = model_of(one), numbers(one.prompt.en)
        assert one.answer * 2**30 == B * L * model.kv_bytes_per_token
    for one in made("gen-kv-largest-batch"):
        model, (*_, room, L) = model_of(one), numbers(one.prompt.en)
        assert one.answer == room * 2**30 // (L * model.kv_bytes_per_token)
        assert one.answer > 0
    for one in made("gen-cost-score-count"):
        B, H, _, P, C = numbers(one.prompt.en)
        assert one.answer == costs.score_count(B=B, n_heads=H, Lq=C, Lk=P + C)
    for one in made("gen-cost-score-flops"):
        B, L, H, _, d_h, *_ = numbers(one.prompt.en)
        assert one.answer == costs.attention_flops(B=B, n_heads=H, Lq=L, Lk=L, d_h=d_h) / 2 / 1e6
    for one in made("gen-cost-crossover"):
        d_model, H, H_kv, _ = numbers(one.prompt.en)
        assert one.answer == costs.crossover_length(d_model=d_model, n_heads=H, n_kv_heads=H_kv)
    for one in made("gen-gqa-parameters"):
        d_model, H, H_kv, d_h, *_ = numbers(one.prompt.en)
        assert one.answer == costs.projection_parameters(d_model=d_model, n_heads=H, n_kv_heads=H_kv, d_h=d_h)
    for one in made("gen-kv-window"):
        layers, period, W, H_kv, d_h, _, L = numbers(one.prompt.en)
        tokens = sum(L if layer % period == 0 else min(W, L) for layer in range(layers))
        assert one.answer * 2**20 == tokens * costs.kv_bytes_per_token(n_layers=1, n_kv_heads=H_kv, d_h=d_h)
    for one in made("gen-mla-cache"):
        d_c, _, d_h, d_R, *_ = numbers(one.prompt.en)
        assert one.answer == (d_c + d_R) / (2 * d_h)


def test_masks_agree_with_loops_over_positions():
    for one in made("gen-mask-visible-keys"):
        _, last, _, W, before, row, *_ = numbers(one.prompt.en)
        at = last + 1 + row
        assert chosen(one) == str([key for key in range(99) if key <= at and at - key <= before])
        assert before == W - 1
    for one in made("gen-mask-cells-of-a-chunk"):
        P, C, *_ = numbers(one.prompt.en)
        assert one.answer == sum(key <= P + query for query in range(C) for key in range(P + C))
    for one in made("gen-mask-axis-it-meets"):
        sizes, mask = numbers(one.prompt.en)[:4], numbers(one.code.splitlines()[0])
        fits = all(size in (1, other) for size, other in zip(mask[::-1], sizes[::-1], strict=False))
        assert one.answer == (("samples", "heads", "queries")[4 - len(mask)] if fits else "raises")


def test_places_agree_with_loops_over_elements():
    for one in made("gen-strides-element")[:20]:
        B, L, H, d_h = numbers(one.code.splitlines()[1])
        at = tuple(numbers(one.prompt.en.split("`y[")[1].split("]")[0]))
        turned = "-2" in one.code
        place = iter(range(B * L * H * d_h))
        found = {
            ((b, h, f, t) if turned else (b, h, t, f)): next(place)
            for b in range(B) for t in range(L) for h in range(H) for f in range(d_h)
        }  # fmt: skip
        assert one.answer == found[at]
    for one in made("gen-split-direct-view"):
        _, H, L, d_h = numbers(one.code)
        h, t = numbers(one.prompt.en.split("`q[0, ")[1].split("]")[0])
        memory = [(token, feature) for token in range(L) for feature in range(H * d_h)]
        assert chosen(one) == str(memory[(h * L + t) * d_h])
    for one in made("gen-merge-bytes-copied"):
        first, second = one.code.splitlines()
        B, H, L, d_h = numbers(first)[:4]
        size = B * H * L * d_h * (4 if "float32" in first else 2) / 1024
        still = "flatten(0" in second or second.endswith("transpose(1, 2)") or L == 1
        assert one.answer == (0 if still else size)


def test_grouping_positions_and_sums_agree_with_plain_python():
    for one in made("gen-gqa-who-reads"):
        H, H_kv, h, *_ = numbers(one.prompt.en)
        readers = [kv for kv in range(H_kv) for _ in range(H // H_kv)]
        assert chosen(one) == str(readers[h])
    for one in made("gen-gqa-readers"):
        H, H_kv, _, kv, G, _ = numbers(one.prompt.en)
        right = {int(option.code) for option in one.options if option.id in one.answer}
        assert right == {int(option.code) for option in one.options} & set(range(kv * G, kv * G + G))
    for one in made("gen-rope-angle"):
        _, d_h, _, last, _, pair, row, _ = numbers(one.prompt.en.replace("-2 * i", ""))
        assert float(chosen(one)) == pytest.approx((last + 1 + row) / 10000 ** (2 * pair / d_h), rel=1e-3)
    for one in made("gen-flash-running-sum"):
        scores = numbers("".join(re.findall(r"\[.*?\]", one.prompt.en)).replace("][", ", "))
        total = sum(2.0 ** (score - max(scores)) for score in scores)
        maximum, shown = chosen(one)[1:-1].split(", ")
        assert int(maximum) == max(scores)
        assert float(shown) == pytest.approx(total, rel=1e-3)
    for one in made("gen-scale-of-a-score"):
        d_model, H, _, dot = numbers(one.prompt.en)
        assert float(chosen(one)) == pytest.approx(dot / math.sqrt(d_model / H), rel=1e-3)
    for one in made("gen-softmax-total"):
        sizes, dim = numbers(one.prompt.en), int(re.findall(r"dim=(-?\d)", one.code)[0])
        assert one.answer == math.prod(size for place, size in enumerate(sizes) if place != dim % 4)
