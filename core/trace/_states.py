"""What is known of one tensor at one moment: layout, storage and what each axis means."""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from core.trace._axes import Axis
from core.trace._meaning import Meaning
from core.trace._read import Origin, axes_of, coordinates, origin

if TYPE_CHECKING:
    from core.trace._infer import Ref
    from core.trace._step import Shared


NO_STORAGE = -1  # of tensors that have none of their own, as inside torch.vmap


class Raw(NamedTuple):
    """A tensor's layout as it was when it was seen; cheap to take while the traced code runs."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: torch.dtype
    storage: int
    requires_grad: bool
    ident: int = 0  # the tensor object, which tells apart tensors that lie in one place (axes of size 1 swapped)

    @property
    def place(self) -> tuple:
        """Where a tensor lies: two tensors with one place are the same elements."""
        return self.storage, self.offset, self.shape, self.stride, self.dtype

    @property
    def has_storage(self) -> bool:
        return self.storage != NO_STORAGE

    @property
    def key(self) -> tuple:
        return self.ident, self.storage, self.offset, self.shape, self.stride


class TensorState:
    """One tensor at one moment of a trace. Not to be changed.

    `stride` and `offset` count elements, `nbytes` is what the elements of `shape` would fill, `storage` is a
    small number that names the storage within the trace (0, 1, 2 … in order of appearance, never used twice; -1
    where a tensor has none, as inside torch.vmap),
    `storage_size` that storage's length in elements of `dtype`. `name` is the name of a parameter, buffer or
    named input, else None. `value` is the detached value, kept only on request.
    """

    # Layout stands in slots, the rest is worked out when it is asked for: a trace has hundreds of states.
    __slots__ = (
        "_raw", "_ref", "_shared", "dtype", "offset", "requires_grad", "shape", "storage", "stride", "value",
    )  # fmt: skip

    def __init__(self, raw: Raw, ref: "Ref", shared: "Shared", value: torch.Tensor | None = None) -> None:
        self.shape, self.stride, self.offset, self.dtype, self.storage, self.requires_grad, _ = raw
        self.value = value
        self._raw, self._ref, self._shared = raw, ref, shared

    def __repr__(self) -> str:
        name = f" {self.name}" if self.name else ""
        return f"<TensorState{name} {self.shape} stride {self.stride} offset {self.offset} storage {self.storage}>"

    @property
    def storage_size(self) -> int:
        return self._shared.storage_bytes[self.storage] // self.dtype.itemsize if self.storage != NO_STORAGE else 0

    @property
    def is_parameter(self) -> bool:
        return self._shared.parameter(self._raw) is not None

    @property
    def name(self) -> str | None:
        return self._shared.parameter(self._raw) or self._shared.input_name(self._raw, self._ref)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What each axis means; one entry per axis of `shape`."""
        return axes_of(self._meaning)

    def origin(self, index: Sequence[int]) -> Origin:
        """Where the element at `index` came from: its coordinates, and the rows of the named inputs."""
        return origin(self._meaning, tuple(index))

    def coordinates(self, axis_name: str) -> torch.Tensor:
        """The coordinate of every element along the axis called `axis_name`, an int64 tensor of `shape`.

        -1 where an element has no such coordinate. Elements of a tensor whose axes are mixed still know where
        they came from, so colouring by this shows the mixture.
        """
        return torch.tensor(coordinates(self._meaning, axis_name))

    @property
    def _meaning(self) -> Meaning:
        return self._shared.inference.at(self._ref)

    @property
    def is_contiguous(self) -> bool:
        return is_contiguous(self.shape, self.stride)

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@lru_cache(maxsize=1024)  # the layouts of a model are few
def is_contiguous(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Whether elements lie in reading order without gaps (axes of size 1 may have any stride), as torch has it."""
    if 0 in shape:
        return True
    expected = 1
    for size, step in zip(reversed(shape), reversed(stride), strict=True):
        if size != 1:
            if step != expected:
                return False
            expected *= size
    return True


def touched_bytes(raw: Raw) -> int:
    """Bytes of the distinct elements a tensor reaches: a broadcast axis (stride 0) is read once."""
    return raw.dtype.itemsize * math.prod(
        size for size, step in zip(raw.shape, raw.stride, strict=True) if step != 0 or size == 0
    )


class Storages:
    """Numbers storages in order of appearance and knows which of them are still alive.

    A weak reference to a storage keeps its address from being used again (not its memory), so that one address
    means one storage for as long as the trace lives.
    """

    def __init__(self) -> None:
        self.nbytes: list[int] = []
        self.numbers: dict[int, int] = {}  # address -> number
        self._weak: list[int] = []
        self._made: list[tuple[int, int]] = []  # (number, weak reference) of those made by the run and alive
        self._live = 0
        self._free = torch.UntypedStorage._free_weak_ref  # at exit torch may be gone before this is

    def add(self, address: int, storage: torch.UntypedStorage, made: bool) -> int:
        """The number of a storage seen for the first time; `made` says that the run has allocated it."""
        number = self.numbers[address] = len(self.nbytes)
        nbytes = storage.nbytes()
        self.nbytes.append(nbytes)
        weak: Any = storage._weak_ref()
        self._weak.append(weak)
        if made:
            self._made.append((number, weak))
            self._live += nbytes
        return number

    def numbered(self, named: Iterable[tuple[str, torch.Tensor]]) -> dict[int, list[tuple[str, tuple[int, ...]]]]:
        """Names and shapes of those of the `named` tensors that the run has met, by storage number."""
        found: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
        for name, tensor in named:
            number = self.numbers.get(tensor.untyped_storage()._cdata)
            if number is not None:
                found.setdefault(number, []).append((name, tuple(tensor.shape)))
        return found

    def live_bytes(self) -> int:
        """Bytes of the storages that the run has made and that are alive now."""
        expired = torch.UntypedStorage._expired
        alive = [entry for entry in self._made if not expired(entry[1])]
        if len(alive) != len(self._made):
            self._made = alive
            self._live = sum([self.nbytes[number] for number, _ in alive])
        return self._live

    def __del__(self) -> None:
        for weak in self._weak:
            self._free(weak)
