"""The child as another Python, with the tests' executor."""

from core.judge.sandbox._child import run_fresh
from tests.core.judge.sandbox.helpers import Executor

if __name__ == "__main__":
    run_fresh(Executor)
