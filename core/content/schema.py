"""What the files question, glossary, reading and related in quiz_data/ may contain. Anything else is refused."""

from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from core.errors import Lang
from core.markup import parse
from core.pitfalls import IDS

Id = Annotated[str, Field(pattern=r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$")]


def _is_known(pitfall: str) -> str:
    if pitfall not in IDS:
        raise ValueError(f"{pitfall} is not in the vocabulary of core.pitfalls")
    return pitfall


PitfallId = Annotated[str, AfterValidator(_is_known)]
Page = Literal["question", "shape_walk", "head_maps", "quiz"]
Effect = Literal["same", "different", "nan", "error"]

T = TypeVar("T")
Some = Annotated[tuple[T, ...], Field(strict=False, min_length=1)]
Many = Annotated[tuple[T, ...], Field(strict=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Text(_Strict):
    """A text in both languages, with the mark-up of `core.markup`; `text["zh"]` gives one of them."""

    en: str = Field(min_length=1)
    zh: str = Field(min_length=1)

    def __getitem__(self, lang: Lang) -> str:
        return self.en if lang == "en" else self.zh

    @field_validator("en", "zh")
    @classmethod
    def _markup_is_sound(cls, text: str) -> str:
        parse(text)
        return text


class KeyPoint(_Strict):
    id: Id
    text: Text


class Step(_Strict):
    """A step of the standard answer; `id` is its marker comment in the code (see `step_lines`)."""

    id: Id
    title: Text
    say: Text


class PitfallEffect(_Strict):
    """What a run with the mistake shows, compared with the standard answer."""

    plain: Effect
    causal: Effect


class Pitfall(_Strict):
    """A mistake as a change to the standard answer: `wrong` in the place of `right`. `id` is from the vocabulary."""

    id: PitfallId
    title: Text
    right: str = Field(min_length=1)
    wrong: str
    effect: PitfallEffect
    happens: Text
    repair: Text


class FollowUp(_Strict):
    """A follow-up question; `table` names the table of `core.content.tables` that belongs beside the answer."""

    id: Id
    table: Literal["heads", "kv-cache"]
    question: Text
    answer: Some[Text]


class Listened(_Strict):
    level: Literal["expected", "strong", "warning"]
    text: Text


class Question(_Strict):
    title: Text
    question: Text
    key_points: Some[KeyPoint]
    answer: Some[Text]
    steps: Some[Step]
    pitfalls: Some[Pitfall]
    followups: Some[FollowUp]
    listens_for: Some[Listened]


class Term(_Strict):
    """A word of the field, as it is said in each language; `avoid` must not occur in our Chinese texts."""

    id: Id
    term: Text
    avoid: Many[str]
    pitfalls: Many[PitfallId]
    definition: Text


class Item(_Strict):
    """Something to read: a paper with its arXiv id, or a page of documentation with its address."""

    id: Id
    kind: Literal["paper", "docs"]
    title: str = Field(min_length=1)
    authors: str = Field(min_length=1)
    year: int | None = None
    arxiv: str | None = Field(default=None, pattern=r"^\d{4}\.\d{5}$")
    url: str = Field(default="", pattern=r"^(https://\S+)?$")
    why: Text

    @model_validator(mode="before")
    @classmethod
    def _address_of_a_paper(cls, entry: dict) -> dict:
        """A paper's address follows from its arXiv id."""
        if entry.get("arxiv") and "url" not in entry:
            return {**entry, "url": f"https://arxiv.org/abs/{entry['arxiv']}"}
        return entry

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        if not self.url or (self.kind == "paper") != bool(self.arxiv and self.year):
            raise ValueError(f"{self.id}: a paper needs arxiv and year, anything else a url")
        return self


class Related(_Strict):
    """A question that tends to follow, and the page where it is practised."""

    id: Id
    page: Page
    question: Text
    hint: Text
