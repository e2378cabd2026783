"""Questions made from drawn sizes, without end: the answer is what the run gives for these sizes.

    GENERATORS["gen-strides-element"].name["zh"]     # what there is, in the order of the topics
    question = generate("gen-strides-element", 17)   # an ordinary question, with the id gen-strides-element-s17
    parse("gen-strides-element-s17")                 # ("gen-strides-element", 17); None for anything else
    sample(per=5)                                    # five of each

The words and the code of a generator stand in ``quiz_data/generators``; which sizes it draws, in the modules here.
One id and seed make the same question in every process. Torch is imported when the first question is made.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from core.quiz.faults import Fault
from core.quiz.generators._make import make
from core.quiz.generators._template import Generator, load_templates
from core.quiz.schema import Question

__all__ = ["FAULTS", "GENERATORS", "SEEDS", "Generator", "generate", "parse", "sample"]

SEEDS = 10**6
"""Seeds are 0 up to this, exclusive."""

GENERATORS: Mapping[str, Generator]
"""All generators by their ids, in the order in which the topics are taught."""
FAULTS: Sequence[Fault]
"""What is wrong with generators that were left out."""


def __getattr__(name: str) -> object:  # read when they are asked for: most pages draw nothing
    if name == "GENERATORS":
        return _generators()
    if name == "FAULTS":
        return load_templates().faults
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _generators() -> Mapping[str, Generator]:
    return MappingProxyType({id_: one.generator for id_, one in load_templates().entries.items()})


_ID = re.compile(r"(gen-[a-z0-9-]{1,56})-s(0|[1-9][0-9]{0,5})")


def generate(id_: str, seed: int) -> Question:
    """The question of generator `id_` for `seed`.

    Raises KeyError for an id that is not in GENERATORS and ValueError for a seed outside 0 … SEEDS - 1: what comes
    from a link goes through `parse` first.
    """
    template = load_templates().entries[id_]
    if type(seed) is not int or not 0 <= seed < SEEDS:
        raise ValueError(f"seed {seed!r} is not in 0 … {SEEDS - 1}")
    return make(template, f"{id_}-s{seed}")


def parse(question_id: object) -> tuple[str, int] | None:
    """The generator and the seed that a question's id names; None for whatever else may be given."""
    match = _ID.fullmatch(question_id) if isinstance(question_id, str) else None
    return (match[1], int(match[2])) if match and match[1] in _generators() else None


def sample(per: int) -> Iterable[Question]:
    """The questions of the first `per` seeds of every generator."""
    return (generate(id_, seed) for id_ in _generators() for seed in range(per))
