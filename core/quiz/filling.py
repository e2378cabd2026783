"""Whether what a person typed into a blank does what the answer does: both are run in the judge's sandbox.

python -m core.quiz.filling SECONDS FOLDER      # the worker, which `Filler` starts
"""

import sys
from typing import Any, Self

from core.errors import BadInput, Unavailable
from core.judge import Judge
from core.quiz.compare import same
from core.quiz.proof import Run
from core.quiz.schema import Steps

SECONDS = 5.0
"""What the two runs may take."""


class Filler:
    """A `Runner` for `core.quiz.grade`: its worker is started at the first call. May be shared by threads."""

    def __init__(self) -> None:
        self._judge = Judge("core.quiz.filling")

    def __call__(self, right: Steps, tried: Steps) -> bool:
        """Whether `tried` ends in what `right` ends in. Raises BadInput when it does not end in time, Unavailable when
        nothing could be run.
        """
        found = self._judge.judge("", "", right=list(right), tried=list(tried))
        if "same" in found:
            return bool(found["same"])
        if found.get("stopped") == "timeout":
            raise BadInput("quiz.blank-late", seconds=SECONDS)
        if "stopped" in found:  # it took too much memory, or ended itself: nothing that a right filling does
            return False
        raise Unavailable("quiz.blank-not-run")

    def close(self) -> None:
        """End the worker. A further call starts another."""
        self._judge.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Executor:
    """In the sandbox."""

    def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        right, tried = (Run(Steps(*request[name])) for name in ("right", "tried"))
        return {"same": bool(tried.raised is None and same(tried.result, right.result))}


def _grade(_problem: str, _source: str, right: list[str], tried: list[str]) -> dict[str, Any]:
    from core.judge.sandbox import Limits, Stopped, start

    try:
        with start(limits=Limits(seconds=2 * SECONDS), executor=_Executor) as session:
            return {"same": session.ask({"right": right, "tried": tried}, seconds=SECONDS)["same"] is True}
    except Stopped as stopped:
        return {"stopped": stopped.kind}


if __name__ == "__main__":
    from core.judge.worker import main

    main(_grade, float(sys.argv[1]), sys.argv[2])
