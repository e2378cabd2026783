"""Whether something may be kept."""

from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from core.errors import BadInput

NUMBERS = {"pace": (0.2, 5.0), "desired_retention": (0.7, 0.99)}
"""The settings that the store itself goes by, each with its least and greatest value."""


@cache
def adapter(kind: Any) -> TypeAdapter:
    return TypeAdapter(kind)


def checked(kind: Any, value: Any, name: str = "") -> Any:
    """`value` as a `kind` of the records. Raises BadInput, which names the field."""
    try:
        return adapter(kind).validate_python(value)
    except ValidationError as error:
        field, detail = place_and_reason(error)
        raise BadInput(
            "progress.not-kept", field=".".join(part for part in (name, field) if part), detail=detail
        ) from None


def place_and_reason(error: ValidationError) -> tuple[str, str]:
    """The first thing that is wrong: its place, such as answers.3.at, and why."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return ".".join(str(part) for part in first["loc"]), first["msg"]


def check_setting(key: str, value: object) -> None:
    """Raises BadInput for a value that the store could not go by."""
    if key not in NUMBERS:
        return
    least, greatest = NUMBERS[key]
    if type(value) not in (int, float) or not least <= value <= greatest:  # ty: ignore[unsupported-operator]
        raise BadInput("progress.bad-setting", key=key, value=str(value)[:100], least=least, greatest=greatest)
