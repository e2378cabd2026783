"""The values that stand in the texts, each against a figure worked out by hand, and the tables beside them."""

import pytest

from core import content
from core.content import values

EXPECTED = {
    ("context", "llama-2-7b"): "4,096",
    ("heads", "falcon-7b"): "71",
    ("kv_heads", "llama-3-8b"): "8",
    ("group", "llama-2-70b"): "8",
    # 4 * 4096**2 * 4096
    ("attention_flops", "llama-2-7b"): "274.9 GFLOP",
    ("attention_flops_one_head", "llama-2-7b"): "274.9 GFLOP",
    # 4096**2 * 32 and 4096**2
    ("score_count", "llama-2-7b"): "536,870,912",
    ("score_count_one_head", "llama-2-7b"): "16,777,216",
    ("score_bytes", "llama-2-7b"): "1 GiB",
    ("score_bytes_one_head", "llama-2-7b"): "32 MiB",
    # 4 * 4096**2; for Llama 3: 2 * 4096**2 + 2 * 4096 * 1024
    ("projection_parameters", "llama-2-7b"): "67,108,864",
    ("projection_parameters", "llama-3-8b"): "41,943,040",
    ("projection_parameters_one_head", "llama-2-7b"): "67,108,864",
    # 2 * 4096 * 67108864
    ("projection_flops", "llama-2-7b"): "549.8 GFLOP",
    ("crossover_length", "llama-2-7b"): "8,192",
    # 2 * layers * kv heads * d_h * 2
    ("kv_per_token", "llama-2-7b"): "512 KiB",
    ("kv_per_token", "llama-3-8b"): "128 KiB",
    ("kv_per_token", "falcon-7b"): "8 KiB",
    ("kv_per_token", "smollm2-135m"): "22.5 KiB",
    ("kv_per_token_as_mha", "llama-2-70b"): "2.5 MiB",
    ("kv_at_full_context", "llama-2-7b"): "2 GiB",
    ("decode_intensity", "llama-2-7b"): "1",
    ("decode_intensity", "falcon-7b"): "71",
}


@pytest.mark.parametrize(("call", "expected"), EXPECTED.items(), ids=map(" ".join, EXPECTED))
def test_value(call, expected):
    assert values.compute(*call) == expected


def test_every_function_is_tried():
    assert {function for function, _ in EXPECTED} == values.FUNCTIONS.keys()


def test_an_unknown_function_or_model_is_an_error():
    with pytest.raises(KeyError):
        values.compute("no_such_function", "llama-2-7b")
    with pytest.raises(ValueError, match="no-such-model"):
        values.compute("heads", "no-such-model")


def test_texts_carry_the_values():
    followup = content.load_question().followups[1].answer[1]
    for figure in ("512 KiB", "128 KiB", "8 KiB", "2.5 MiB"):
        assert figure in followup["en"]
        assert figure in followup["zh"]


def test_more_heads_cost_scores_and_nothing_else():
    rows = content.heads_table()
    assert [row.n_heads for row in rows] == [1, 8, 32, 128]
    assert len({row.attention_flops for row in rows}) == 1
    assert len({row.projection_parameters for row in rows}) == 1
    for row in rows:
        assert row.n_heads * row.d_h == 4096
        assert row.scores == row.n_heads * rows[0].scores
        assert row.score_bytes == 2 * row.scores


def test_cache_table_is_ordered_by_what_is_saved():
    rows = content.cache_table()
    groups = [row.model.group for row in rows]
    assert groups == sorted(groups)
    assert (rows[0].model.kind, rows[-1].model.kind) == ("MHA", "MQA")
    for row in rows:
        assert row.bytes_per_token * row.model.group == row.bytes_per_token_as_mha
        assert row.bytes_at_context == row.bytes_per_token * row.model.context
