"""The grader's side of a submission: makes modules of it, gives them weights, calls them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor

from core.judge._cases import Draw, Sizes, arguments
from core.judge._roles import Tensors
from core.pitfalls import Reference


class Garbled(Exception):
    """A reply that no Executor makes: the submission has had its hands on it."""


class Session(Protocol):
    """Where the submission lives; see `core.judge.sandbox`."""

    def ask(self, request: dict[str, Any], *, seconds: float) -> dict[str, Any]: ...


@dataclass
class Made:
    """A module in the child, or for a function the function itself (`key` None); `error` where it could not be made."""

    key: str | None
    sizes: Sizes
    tensors: Tensors = field(default_factory=lambda: Tensors({}))
    parameters: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    born: dict[str, list[int]] = field(default_factory=dict)
    """The lines on which each parameter was made, innermost first."""
    error: dict[str, Any] | None = None


@dataclass
class Reply:
    """What one call gave: the output and further parts, or the error."""

    raw: dict[str, Any]

    @property
    def error(self) -> dict[str, Any] | None:
        return self.raw.get("error")

    @property
    def out(self) -> Tensor | None:
        """The output, or the first part of what was returned; None where that is no tensor."""
        if self.raw.get("kind") == "tensor":
            return self.raw["out"]
        parts = self.raw.get("parts") or [None]
        return parts[0]

    @property
    def cache(self) -> tuple[Tensor, Tensor] | None:
        """(k, v), where (out, (k, v)) was returned."""
        if self.raw.get("kind") != "tuple" or self.raw["nested"] != ["Tensor", ["Tensor", "Tensor"]]:
            return None
        _, k, v = self.raw["parts"]
        return (k, v) if isinstance(k, Tensor) and isinstance(v, Tensor) else None

    @property
    def returned(self) -> str:
        """What was returned, in words of Python."""
        kind = self.raw.get("kind", "")
        return f"tuple ({', '.join(self.raw['of'])})" if kind == "tuple" else kind


class Subject:
    """One submission in a session. Raises `Stopped` where the session does."""

    def __init__(self, session: Session, reference: Reference, draw: Draw, *, seconds: float = 5.0) -> None:
        self.reference, self.draw = reference, draw
        self._session, self._seconds = session, seconds
        self._calls = 0

    def load(self, source: str) -> dict[str, Any] | None:
        """The error that came of it, None where there was none."""
        reply = self._ask(do="load", source=source, name=self.reference.call)
        if "error" not in reply and reply["is_class"] != (self.reference.arguments is not None):
            kind = "class" if reply["is_class"] else "function"
            return {"type": "WrongKind", "text": kind, "line": None}
        return reply.get("error")

    def make(
        self, sizes: Sizes, *, dtype: str = "float64", training: bool = False,
        values: Mapping[str, Tensor] | None = None, device: str = "cpu",
    ) -> Made:  # fmt: skip
        """A module with weights drawn, or with the `values` given."""
        if self.reference.arguments is None:
            return Made(None, sizes)
        key = f"m{self._calls}"
        self._calls += 1
        wanted = arguments(self.reference, sizes)
        reply = self._ask(do="make", args=wanted, dtype=dtype, training=training, device=device, **{"as": key})
        if "error" in reply:
            return Made(key, sizes, error=reply["error"])
        if device != "cpu":
            return Made(key, sizes)
        if values is None:
            values = self.draw.weights({**reply["parameters"], **reply["hidden"]}, sizes["d_model"])
        written = self._ask(do="weights", of=key, values=dict(values))
        tensors = Tensors(dict(values), frozenset(reply["linear"]))
        return Made(
            key, sizes, tensors, tuple(reply["parameters"]), tuple(reply["hidden"]), reply["born"],
            error=written.get("error"),
        )  # fmt: skip

    def call(
        self,
        made: Made,
        args: Sequence[Any],
        mask: Tensor | None = None,
        *,
        cache: "Call | None" = None,
        **options: Any,
    ) -> "Call":
        """Call it; options are those of the executor's "call"."""
        name = f"c{self._calls}"
        self._calls += 1
        given = [*args, *([{"result_of": cache.name}] if cache is not None else [])]
        kwargs = {} if mask is None else {"mask": mask}
        reply = self._ask(do="call", of=made.key, args=given, kwargs=kwargs, **{"as": name}, **options)
        return Call(reply, name)

    def walk(self, made: Made, args: Sequence[Any], **named: Any) -> dict[str, Any]:
        """The reply to the executor's "walk", unchecked: "walk", "refused" or "error"."""
        return self._ask(do="walk", of=made.key, args=list(args), **named)

    def _ask(self, **action: Any) -> dict[str, Any]:
        reply = self._session.ask({"actions": [action]}, seconds=self._seconds)
        try:
            (answer,) = reply["replies"]
            _check(action["do"], answer)
        except (TypeError, KeyError, ValueError, AttributeError, AssertionError) as error:
            raise Garbled from error
        return answer


@dataclass
class Call(Reply):
    """A reply, and the name by which the child knows what it returned."""

    name: str = ""


def _check(do: str, answer: dict[str, Any]) -> None:
    """Raises for an answer that is not of the form that `core.judge._executor` gives it."""
    if "error" in answer:
        error = answer["error"]
        assert isinstance(error["type"], str)
        assert isinstance(error["text"], str)
        assert error["line"] is None or isinstance(error["line"], int)
    elif do == "load":
        assert isinstance(answer["is_class"], bool)
    elif do == "make":
        for shapes in (answer["parameters"], answer["hidden"]):
            assert all(isinstance(size, int) and 0 <= size < 1 << 20 for shape in shapes.values() for size in shape)
            assert sum(len(shape) for shape in shapes.values()) < 1 << 14
        assert all(isinstance(name, str) for name in answer["linear"])
        assert all(isinstance(line, int) for lines in answer["born"].values() for line in lines)
    elif do == "call":
        kind = answer.get("kind", "")  # nothing comes back from a device without numbers
        assert isinstance(kind, str)
        assert kind != "tensor" or isinstance(answer["out"], Tensor)
        if kind == "tuple":
            assert all(part is None or isinstance(part, Tensor) for part in answer["parts"])
            assert all(isinstance(name, str) for name in answer["of"])
            assert isinstance(answer["nested"], list)
        grads = answer.get("grads", {})
        assert all(grad is None or isinstance(grad, Tensor) for grad in grads.values())
        assert all(isinstance(tensor, Tensor) for tensor in answer.get("after", []))
