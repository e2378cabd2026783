"""The form of a trace as data, and its limits. Everything is counted, so that what passes is small enough to draw."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MOST_STEPS = 1500
MOST_ELEMENTS = 1 << 20  # of one tensor
MOST_COORDINATES = 1 << 23  # of all tensors together
MOST_ALONG_AN_AXIS = 1024  # values that a coordinate with a name may have: each takes a colour
LONGEST = 2000  # characters of a text
MOST_BYTES = 8 * MOST_ELEMENTS  # of one storage
_TABLE = 100_000  # entries
_RANK = 16

Natural = Annotated[int, Field(ge=0, le=1 << 40)]
Index = Annotated[int, Field(ge=0, lt=_TABLE)]
Size = Annotated[int, Field(ge=0, le=1 << 24)]
Dims = Annotated[list[Size], Field(max_length=_RANK)]
Word = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=LONGEST)]
Line = Annotated[int, Field(ge=0, le=100_000)]
Scalar = Text | int | float | bool | None


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Tensor(_Strict):
    shape: Dims
    stride: Dims
    offset: Size
    dtype: Word
    storage: Annotated[int, Field(ge=-1, lt=_TABLE)]
    grad: bool


class State(_Strict):
    tensor: Index
    meaning: Index


class Input(State):
    value: Any = None


class Place(_Strict):
    """Columns count characters."""

    filename: Text
    function: Word
    first_line: Line
    line: Line
    col: Line
    end_line: Line
    end_col: Line


class Atom(_Strict):
    """`stands_for` are the named atoms that it turned out to be, none of which stands for others."""

    name: Word | None
    size: Annotated[int, Field(ge=0, le=MOST_ELEMENTS)]
    parts: Annotated[list[Word], Field(max_length=_RANK)]
    mixed: bool
    weak: bool
    root: Index | None
    stands_for: Annotated[list[Index], Field(max_length=_RANK)] | None


class Array(_Strict):
    """`data` is base64 of zlib of int32, little-endian."""

    shape: Dims
    data: Annotated[str, Field(max_length=8 * MOST_ELEMENTS)]


class Coordinates(_Strict):
    atom: Index
    dims: Dims
    array: Index


class Unit(_Strict):
    atom: Index
    stride: Natural


class Path(_Strict):
    name: Word
    axes: Annotated[list[Annotated[list[Index], Field(max_length=_RANK)] | None], Field(max_length=_RANK)]


class Meaning(_Strict):
    shape: Dims
    fields: Annotated[list[Coordinates], Field(max_length=64)]
    units: Annotated[list[Annotated[list[Unit], Field(max_length=_RANK)]], Field(max_length=_RANK)]
    paths: Annotated[list[Path], Field(max_length=64)]
    exact: bool


class Error(_Strict):
    type: Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z_]\w*$")]
    text: Text


class Why(_Strict):
    """`code` and parameters of a `core.errors.Explained`."""

    code: Annotated[str, Field(max_length=60, pattern=r"^trace\.[a-z-]+$")]
    params: dict[
        Annotated[str, Field(max_length=20, pattern=r"^\w+$")], Scalar | Annotated[list[Scalar], Field(max_length=64)]
    ]


class Step(_Strict):
    op: Word
    args: Text
    kind: Literal["view", "copy", "compute"]
    names: Annotated[list[Word | None], Field(max_length=64)]
    at: Annotated[list[Index], Field(max_length=8)]
    inputs: Annotated[list[State], Field(max_length=1024)]
    outputs: Annotated[list[State], Field(max_length=1024)]
    values: Annotated[list[Any], Field(max_length=1024)] = []
    moved: Natural
    flops: Natural
    live: Natural
    error: Error | None
    why: Why | None


class Label(_Strict):
    storage: Index
    name: Word
    shape: Dims


class Trace(_Strict):
    inputs: Annotated[dict[Word, Input], Field(max_length=64)]
    steps: Annotated[list[Step], Field(max_length=MOST_STEPS)]
    labels: Annotated[list[Label], Field(max_length=1024)]
    storages: Annotated[list[Annotated[int, Field(ge=0, le=MOST_BYTES)]], Field(max_length=_TABLE)]
    error: Error | None
    error_at: Index | None
    tensors: Annotated[list[Tensor], Field(max_length=_TABLE)]
    places: Annotated[list[Place], Field(max_length=_TABLE)]
    atoms: Annotated[list[Atom], Field(max_length=_TABLE)]
    arrays: Annotated[list[Array], Field(max_length=_TABLE)]
    meanings: Annotated[list[Meaning], Field(max_length=_TABLE)]
