"""Reading a YAML file with the line of every value kept, so that a fault can be reported where it stands."""

from collections.abc import Hashable
from typing import NamedTuple

import yaml

# the C parser where PyYAML has it: the same safe schema, about ten times as fast
_SafeLoader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Document(NamedTuple):
    """The content of one file and the tree of nodes it was made from."""

    data: object
    node: yaml.Node | None


class YamlError(Exception):
    """The text is no YAML that we accept; `line` is where (1-based)."""

    def __init__(self, line: int, detail: str) -> None:
        super().__init__(line, detail)
        self.line = line
        self.detail = detail


def parse(text: str) -> Document:
    """The plain values (no tags, no objects) in `text`. Raises YamlError, also for a key that is given twice."""
    loader = _SafeLoader(text)
    try:
        node = loader.get_single_node()
        data = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(mark.line + 1 if mark else 1, error.problem or str(error)) from None
    except (yaml.YAMLError, ValueError) as error:  # a forbidden character; a date that is none
        raise YamlError(1, str(error)) from None
    finally:
        loader.dispose()
    _refuse_double_keys(node, set())
    return Document(data, node)


def line_of(node: yaml.Node | None, path: tuple[Hashable, ...]) -> int:
    """The line (1-based) of the value at `path` below `node`, or of the nearest thing above it that is there."""
    line = node.start_mark.line + 1 if node is not None else 1
    for step in path:
        found = _child(node, step)
        if found is None:
            break
        key, node = found
        line = key.start_mark.line + 1
    return line


def child(node: yaml.Node | None, step: Hashable) -> yaml.Node | None:
    """The node of one entry of a list or a mapping, or None."""
    found = _child(node, step)
    return found[1] if found else None


def _child(node: yaml.Node | None, step: Hashable) -> tuple[yaml.Node, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None


def _refuse_double_keys(node: yaml.Node | None, seen: set[int]) -> None:
    if node is None or id(node) in seen or isinstance(node, yaml.ScalarNode):
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for (key, _), number in zip(node.value, range(len(node.value)), strict=True):
            if isinstance(key, yaml.ScalarNode) and key.value in keys[:number]:
                raise YamlError(key.start_mark.line + 1, f"the key {key.value!r} is given twice")
        children = [value for _, value in node.value]
    else:
        children = node.value
    for value in children:
        _refuse_double_keys(value, seen)
