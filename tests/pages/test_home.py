"""The moving picture tells the truth about view and transpose."""

import itertools

import torch

from pages._ui.home import D_H, H, L, moving_picture, places


def test_each_stage_lays_the_cells_out_as_torch_does() -> None:
    x = torch.arange(L * H * D_H).view(L, H * D_H)
    stages = [x, x.view(L, H, D_H), x.view(L, H, D_H).transpose(0, 1)]
    stages += [stages[2].transpose(0, 1), stages[2].transpose(0, 1).reshape(L, H * D_H)]
    for i, stage in enumerate(stages):
        cells = [(places(*divmod(int(e), H * D_H))[i], int(e)) for e in x.flatten()]
        by_row = sorted(cells, key=lambda cell: (cell[0][1], cell[0][0]))  # as read: row by row
        assert [element for _, element in by_row] == stage.flatten().tolist()
    blocks = [(places(*divmod(int(e), H * D_H))[2], int(e)) for e in x.flatten()]
    assert len({place for place, _ in blocks}) == L * H * D_H  # no two cells lie on one another


def test_a_gap_shows_where_an_axis_was_cut() -> None:
    whole, cut, blocks, *_ = zip(*(places(0, f) for f in range(H * D_H)), strict=True)
    assert {b[0] - a[0] for a, b in itertools.pairwise(whole)} == {1}
    assert [b[0] - a[0] for a, b in itertools.pairwise(cut)] == [1, 2, 1, 2, 1]
    assert {row for _, row in blocks} == {0, L + 1, 2 * (L + 1)}


def test_the_picture_says_what_it_shows() -> None:
    assert "aria-label=" in moving_picture()
    assert moving_picture().count("<i ") == L * H * D_H
