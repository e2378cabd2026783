"""Whether a view is legal, against torch itself; and which two axes are in the way."""

import random

import pytest
import torch

from core.trace import view_legality


def layouts(count, seed=0):
    """Random layouts, axes of size 1 and stride 0 included, with target shapes that mostly have the right size."""
    rng = random.Random(seed)
    for _ in range(count):
        x = torch.empty([rng.choice([1, 1, 2, 3, 4]) for _ in range(rng.randint(0, 4))])
        for _ in range(rng.randint(0, 3)):
            if x.dim() == 0:
                break
            dim = rng.randrange(x.dim())
            match rng.randrange(5):
                case 0 if x.dim() > 1:
                    x = x.transpose(dim, rng.randrange(x.dim()))
                case 1 if x.shape[dim] > 1:
                    x = x.narrow(dim, rng.randint(0, 1), x.shape[dim] - 1)
                case 2:
                    x = x.expand([rng.choice([2, 3]) if n == 1 and rng.random() < 0.5 else n for n in x.shape])
                case 3:
                    x = x[(slice(None),) * dim + (slice(None, None, 2),)]
                case 4:
                    x = x.unsqueeze(dim)
        target, rest = [], x.numel()
        while rest > 1 and len(target) < 5:
            factor = rng.choice([n for n in range(1, rest + 1) if rest % n == 0])
            target.append(factor)
            rest //= factor
        target.append(rest)
        rng.shuffle(target)
        for _ in range(rng.randint(0, 2)):
            target.insert(rng.randint(0, len(target)), 1)
        if rng.random() < 0.2:
            target[rng.randrange(len(target))] = rng.choice([-1, 0, 2])
        yield x, target


def test_ten_thousand_layouts_agree_with_torch():
    legal = 0
    for x, target in layouts(10_000):
        found = view_legality(x.shape, x.stride(), target)
        try:
            view = x.view(target)
        except RuntimeError:
            assert not found, (x.shape, x.stride(), target)
            continue
        legal += 1
        assert found, (x.shape, x.stride(), target)
        assert (found.shape, found.stride) == (tuple(view.shape), view.stride())
    assert 2_000 < legal < 9_000  # both answers are tested


def test_the_axes_in_the_way_are_the_cause():
    """With the left of the two axes stepping as it should, that boundary is no longer in the way."""
    blamed = 0
    for x, target in layouts(3_000, seed=1):
        found = view_legality(x.shape, x.stride(), target)
        if found.reason != "strides":
            continue
        blamed += 1
        assert found.axes is not None
        left, right = found.axes
        assert found.strides == (x.stride(left), x.stride(right))
        assert found.strides[0] != found.needed
        stride = list(x.stride())
        stride[left] = found.needed
        mended = view_legality(x.shape, stride, target)
        assert mended or mended.axes != found.axes
    assert blamed > 300


@pytest.mark.parametrize(
    ("shape", "stride", "target", "axes"),
    [
        ((2, 10, 8, 8), (640, 8, 80, 1), (2, 10, 64), (2, 3)),  # merged heads, not copied
        ((2, 10, 8, 8), (640, 64, 8, 1), (20, 64), None),  # legal
        ((2, 8, 10, 8), (640, 8, 64, 1), (16, 10, 8), (0, 1)),  # heads folded into the batch
        ((2, 3, 4), (0, 4, 1), (6, 4), (0, 1)),  # a stretched batch
    ],
)
def test_examples(shape, stride, target, axes):
    assert view_legality(shape, stride, target).axes == axes


def test_reasons_other_than_strides():
    assert view_legality((2, 3), (3, 1), (4,)).reason == "size"
    assert view_legality((2, 3), (3, 1), (4, -1)).reason == "infer"
    assert view_legality((2, 3), (3, 1), (-1, -1)).reason == "infer"
    assert view_legality((2, 3), (1, 2), (3, 2, 1)).reason == "strides"


@pytest.mark.parametrize("bad", [((2,), (1, 1), (2,)), ((-2,), (1,), (2,)), ((2,), (1,), (-2,))])
def test_what_is_no_layout_is_refused(bad):
    with pytest.raises(ValueError, match="do not describe a view"):
        view_legality(*bad)
