"""The question page as data, and what makes its claims true: computed values, the answer run, pitfalls demonstrated.

Only `run_standard_answer` and `demonstrate` import torch.
"""

from core.content._demonstrate import SIZES, Outcome, Run, demonstrate, run_standard_answer
from core.content._load import load_glossary, load_question, load_reading, load_related
from core.content.schema import FollowUp, Item, Pitfall, Question, Related, Step, Term, Text
from core.content.standard_source import standard_answer_source, step_lines
from core.content.tables import CacheRow, HeadsRow, cache_table, heads_table

__all__ = [
    "SIZES",
    "CacheRow",
    "FollowUp",
    "HeadsRow",
    "Item",
    "Outcome",
    "Pitfall",
    "Question",
    "Related",
    "Run",
    "Step",
    "Term",
    "Text",
    "cache_table",
    "demonstrate",
    "heads_table",
    "load_glossary",
    "load_question",
    "load_reading",
    "load_related",
    "run_standard_answer",
    "standard_answer_source",
    "step_lines",
]
