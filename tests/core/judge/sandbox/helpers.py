"""A judge of one tiny problem, `f(x)` is 2 * x, through the real worker, grader and child."""

import os
import sys
from typing import Any

import torch

from core.judge.sandbox import Stopped, start
from core.judge.worker import main


class Executor:
    """Runs the source and calls its `f`, as the judge's own executor does."""

    def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            namespace: dict[str, Any] = {"__name__": "submission"}
            exec(compile(request["source"], "<submission>", "exec"), namespace)
            return {"out": namespace["f"](request["x"])}
        except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit) as error:  # noqa: BLE001
            return {"error": type(error).__name__, "text": str(error)[:200]}


class Careless:
    """Runs the source and lets its errors go on."""

    def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        exec(request["source"], {})
        return {}


PREPARED: list[str] = []


def prepare(problem: str) -> None:
    PREPARED.append(problem)
    if problem == "cannot-be-prepared":
        raise ValueError


def grade(problem: str, source: str, seconds: float = 15.0, fresh: str | None = None) -> dict[str, Any]:
    if problem == "grader-crashes":
        os.abort()
    if problem == "grader-raises":
        raise ValueError("the grader's own mistake")
    verdict: dict[str, Any] = {"passed": False, "stopped": None, "error": None, "text": "", "worker": os.getppid()}
    with start(executor=Executor, fresh=fresh) as session:
        x = torch.randn(3, 5, dtype=torch.float64)  # drawn after the child was made: it is nowhere in its memory
        try:
            reply = session.ask({"source": source, "x": x}, seconds=seconds)
            verdict |= {"error": reply.get("error"), "text": reply.get("text", "")}
            verdict["passed"] = isinstance(reply.get("out"), torch.Tensor) and torch.equal(reply["out"], 2 * x)
        except Stopped as stopped:
            verdict["stopped"] = stopped.kind
    return verdict | {"printed": session.printed, "prepared": PREPARED}


if __name__ == "__main__":  # as the worker
    main(grade, float(sys.argv[1]), sys.argv[2], prepare)
