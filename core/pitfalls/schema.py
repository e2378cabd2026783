"""What an entry of the catalogue may contain.

The models are strict, so that YAML's readings (`no` is False) are faults, and frozen, since one catalogue is shared by
all who read it.
"""

import re
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from core.errors import Lang
from core.markup import parse

Shows = Literal[
    "raises", "accepts", "returns", "shape", "nan", "weights", "numbers", "gradients", "writes", "memory", "same"
]
"""What a run shows beside the reference's, the first that holds:

raises     an error, in the forward pass or in backward, that the reference does not raise
accepts    no error where the reference raises one
returns    something else than the reference returns (a tuple for a tensor, None for a cache)
shape      an output of another shape
nan        nan or inf where the reference has numbers
weights    its parameters have other names or sizes than the reference's, so that numbers cannot be compared
numbers    the right shape and other numbers
gradients  the same output, and a parameter or an input whose gradient is missing or another
writes     the same output, and something that it was given (x, a cache) has been written into
memory     the same output, and a cache of more bytes
same       nothing: on these inputs the mistake is hidden
"""

Mask = Literal["none", "causal", "padding", "joint", "random", "empty-row"]
"""none; causal (L, Lk); padding (B, 1, 1, Lk), each sample another length; joint, both (B, 1, L, Lk); random
(B, H, L, Lk), never an empty row; empty-row, random (B, 1, L, Lk) with a query that may attend to nothing."""

Id = Annotated[str, StringConstraints(pattern=r"^[a-z]+(-[a-z]+)+$", max_length=40)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z]+(-[a-z]+)*$", max_length=30)]
CJK = re.compile(r"[\u3400-\u9fff]")

T = TypeVar("T")
Many = Annotated[tuple[T, ...], Field(strict=False)]
Some = Annotated[tuple[T, ...], Field(strict=False, min_length=1)]


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def _prose(text: str) -> str:
    if not text.strip():
        raise ValueError("a text is empty")
    parse(text)
    return text.strip()


def _english(text: str) -> str:
    if CJK.search(text):
        raise ValueError(f"Chinese in the English: {text}")
    return text


def _chinese(text: str) -> str:
    if not CJK.search(text):
        raise ValueError(f"not translated: {text}")
    return text


class Text(Strict):
    """A text in both languages, with the mark-up of `core.markup`; `text["zh"]` gives one of them."""

    en: Annotated[str, AfterValidator(_prose), AfterValidator(_english)]
    zh: Annotated[str, AfterValidator(_prose), AfterValidator(_chinese)]

    def __getitem__(self, lang: Lang) -> str:
        return self.en if lang == "en" else self.zh


class Change(Strict):
    """`wrong` in the place of `right`, which stands exactly once in the reference."""

    right: Annotated[str, Field(min_length=1)]
    wrong: str

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.right == self.wrong:
            raise ValueError(f"right and wrong are the same: {self.right}")
        return self


class Case(Strict):
    """The inputs of a run. `Case()` is the generic one: all sizes different, no mask, float64 on the CPU, in eval mode.

    `sizes` replace some of `SIZES`. `mask_dtype` is how the mask is written: bool, or 0/1 as a number. `values`:
    "large" makes scores of several thousands, "low" makes all scores lower than -1000 (of functions only),
    "hidden-nan" puts nan into what the mask hides (of sdpa only), "nan" into one number of x. On device "meta" tensors
    have no numbers, only shapes, a dtype and a device that is not the CPU. `backend` is the kernel behind
    F.scaled_dot_product_attention that the case is about; torch sets it for the whole process, so the caller has to
    (see `core.pitfalls.compare`).
    """

    sizes: dict[str, Annotated[int, Field(ge=1)]] = {}
    mask: Mask = "none"
    mask_dtype: Literal["bool", "int64", "float"] = "bool"
    values: Literal["normal", "large", "low", "hidden-nan", "nan"] = "normal"
    dtype: Literal["float64", "float32", "float16", "bfloat16"] = "float64"
    device: Literal["cpu", "meta"] = "cpu"
    training: bool = False
    backend: Literal["default", "math"] = "default"

    def model_post_init(self, _: object) -> None:
        if self.mask == "none" and self.mask_dtype != "bool":
            raise ValueError("no mask has no mask_dtype")


class Run(Case):
    """A case and what it shows. For "raises", `error` is a pattern for the beginning of "ErrorType: message". `repeats`
    says whether the same call gives the same numbers once more."""

    shows: Shows
    error: str = ""
    repeats: bool = True

    @model_validator(mode="after")
    def _error_belongs_to_raises(self) -> Self:
        if (self.shows == "raises") != bool(self.error):
            raise ValueError("an error pattern belongs to what raises, and only there")
        re.compile(self.error)
        return self

    @property
    def case(self) -> Case:
        return Case(**{name: getattr(self, name) for name in Case.model_fields})


class Form(Strict):
    """One way in which people make the mistake.

    The first of `references` is its home, where `runs` hold; in the others the same changes make the same mistake.
    """

    name: Name = "main"
    references: Some[str]
    changes: Some[Change]
    runs: Some[Run]

    @model_validator(mode="after")
    def _shows_first(self) -> Self:
        if self.runs[0].shows == "same":
            raise ValueError("the first run is one that shows the mistake")
        return self

    @property
    def effect(self) -> Shows:
        """What the mistake shows where it shows: the first run's."""
        return self.runs[0].shows

    @property
    def silent(self) -> bool:
        """Whether somewhere the mistake shows in wrong values alone, with no error and the right shape."""
        return any(run.shows not in ("raises", "returns", "shape", "accepts", "same") for run in self.runs)


class Entry(Strict):
    """A mistake: its name, what the code does, what one sees, what repairs it, and the changes that make it."""

    id: Id
    title: Text
    why: Text
    symptom: Text
    repair: Text
    related: Many[Id] = ()
    forms: Some[Form]

    @model_validator(mode="after")
    def _forms_have_names(self) -> Self:
        names = [form.name for form in self.forms]
        if len(set(names)) < len(names):
            raise ValueError(f"{self.id}: forms are told apart by name, and these are {names}")
        return self

    @property
    def home(self) -> str:
        """The reference of the first form."""
        return self.forms[0].references[0]


class Group(Strict):
    """The entries of one file of the catalogue."""

    id: Name
    title: Text
    entries: Some[Entry]
