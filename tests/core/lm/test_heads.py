"""The numbers of a head, against heads whose numbers are known and against a slow count."""

import math

import pytest
import torch

from core.lm.heads import clearest_query, describe, strongest_keys


def previous_token_head(L: int) -> torch.Tensor:
    weights = torch.zeros(L, L)
    weights[0, 0] = 1
    weights[range(1, L), range(L - 1)] = 1
    return weights


def uniform_causal_head(L: int) -> torch.Tensor:
    return torch.tril(torch.ones(L, L)) / torch.arange(1, L + 1)[:, None]


def test_a_previous_token_head_puts_everything_on_the_token_before() -> None:
    numbers = describe(previous_token_head(6))
    assert numbers.previous == 1
    assert numbers.itself == 0
    assert numbers.entropy == 0
    assert numbers.first == pytest.approx(1 / 5)  # the second token's previous is the first, nobody else's


def test_transposing_turns_a_previous_token_head_into_one_that_is_not() -> None:
    looks_ahead = previous_token_head(6).T
    assert describe(looks_ahead).previous == 0


def test_a_sink_and_a_diagonal_are_told_apart() -> None:
    sink = torch.zeros(5, 5)
    sink[:, 0] = 1
    numbers = describe(torch.stack([sink, torch.eye(5)]))
    assert numbers.first.tolist() == [1, 0]
    assert numbers.itself.tolist() == [0, 1]


def test_the_first_query_of_a_causal_head_does_not_count() -> None:
    L = 7
    numbers = describe(uniform_causal_head(L))
    assert numbers.entropy.item() == pytest.approx(sum(math.log2(n) for n in range(2, L + 1)) / (L - 1), abs=1e-6)
    assert numbers.itself.item() == pytest.approx(sum(1 / n for n in range(2, L + 1)) / (L - 1), abs=1e-6)


def test_every_head_of_every_layer_is_as_counted_by_hand() -> None:
    weights = torch.rand(3, 4, 9, 9, generator=torch.Generator().manual_seed(0)).softmax(-1)
    numbers = describe(weights)
    for layer in range(3):
        for head in range(4):
            w = weights[layer, head].tolist()
            queries = range(1, 9)
            entropies = [-sum(p * math.log2(p) for p in w[i]) for i in queries]
            assert numbers.entropy[layer, head].item() == pytest.approx(sum(entropies) / 8, abs=1e-5)
            assert numbers.previous[layer, head].item() == pytest.approx(
                sum(w[i][i - 1] for i in queries) / 8, abs=1e-6
            )
            assert numbers.first[layer, head].item() == pytest.approx(sum(w[i][0] for i in queries) / 8, abs=1e-6)
            assert numbers.itself[layer, head].item() == pytest.approx(sum(w[i][i] for i in queries) / 8, abs=1e-6)


def test_one_token_has_no_numbers() -> None:
    numbers = describe(torch.ones(2, 3, 1, 1))
    assert numbers.entropy.shape == (2, 3)
    assert all(value.isnan().all() for value in numbers)


def test_the_strongest_keys_of_a_query_are_a_row_and_not_a_column() -> None:
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.7, 0.3, 0.0], [0.1, 0.4, 0.5]])
    assert [key.position for key in strongest_keys(weights, 2, 2)] == [2, 1]
    assert strongest_keys(weights, 2, 1)[0].weight == 0.5


def test_keys_without_weight_and_beyond_the_text_are_left_out() -> None:
    weights = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    assert [key.position for key in strongest_keys(weights, 0, 3)] == [0]
    with pytest.raises(IndexError):
        strongest_keys(weights, 2, 1)


def test_the_clearest_query_is_not_the_one_that_looks_at_itself_or_at_the_sink() -> None:
    weights = torch.tensor(
        [
            [1.0, 0.0, 0.0, 0.0],
            [0.1, 0.9, 0.0, 0.0],
            [0.3, 0.4, 0.3, 0.0],
            [0.8, 0.1, 0.0, 0.1],
        ]
    )
    assert clearest_query(weights) == 2
    assert weights[0, 0] == 1  # what was given is left as it was


def test_a_choice_among_many_is_clearer_than_one_among_two() -> None:
    weights = uniform_causal_head(9)
    weights[2] = torch.tensor([0.05, 0.95, 0.0, 0, 0, 0, 0, 0, 0])
    weights[8] = torch.tensor([0.05, 0.8, 0.01, 0.01, 0.01, 0.01, 0.01, 0.05, 0.05])
    assert clearest_query(weights) == 8


def test_a_head_that_looks_nowhere_else_is_read_at_its_last_token() -> None:
    assert clearest_query(torch.eye(5)) == 4
    assert clearest_query(torch.ones(1, 1)) == 0
