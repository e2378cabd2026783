"""The child, where it cannot be forked: `_fresh` starts it."""

from core.judge._executor import Executor
from core.judge.sandbox._child import run_fresh

run_fresh(Executor)
