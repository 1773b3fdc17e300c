"""The text form of a graph: one line per node, deterministic, readable and diffable."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, Protocol, cast, runtime_checkable

from explorer.graph.fields import config_of, field_names, nested_of, parameters_of
from explorer.graph.graph import Graph, Node


def graph_text(graph: "Graph[Node]") -> str:
    """All nodes in topological order, then the outputs.

    >>> print(graph_text(Graph({0: "x", 3: "y"}, {0: (), 3: (0, 0)}, (3,))))
    %0 = 'x'
    %3 = 'y'(%0, %0)
    outputs: %3
    """
    lines = [f"%{node} = {node_text(value)}{_reads(value, graph.inputs[node])}" for node, value in graph.nodes.items()]
    return "\n".join([*lines, "outputs: " + ", ".join(f"%{output}" for output in graph.outputs)])


@runtime_checkable
class Described(Protocol):
    """A node with its own text form."""

    def describe(self) -> str:
        """The node in one line."""
        ...

    def reads(self, inputs: tuple[int, ...]) -> tuple[str, ...]:
        """Its inputs by id, and of those with several results which one it reads: `%3`, `%7:1`."""
        ...


def node_text(node: object) -> str:
    """Type, folds, config, scope and parameters of a node in one line."""
    if isinstance(node, Described):
        return node.describe()
    if not is_dataclass(node) or isinstance(node, type):
        return value_text(node)
    folds = "".join(f"[x{getattr(node, name)}]" for name in field_names(type(node), "folds"))
    parts = [f"{name}={value_text(value)}" for name, value in config_of(node).items() if value is not None]
    parts += [f"{name}={value_text(getattr(node, name))}" for name in field_names(type(node), "scope")]
    parts += [f"{name}={node_text(value)}" for name, value in nested_of(node).items()]
    parts += [f"{name}={value_text(value)}" for name, value in parameters_of(node).items()]
    return f"{type(node).__name__}{folds}({', '.join(parts)})"


def value_text(value: Any) -> str:
    """A config value in one line: enumerations by name, arrays by shape, the rest by `repr`."""
    if isinstance(value, Enum):
        return value.name
    if hasattr(value, "shape") and hasattr(value, "dtype") and not is_dataclass(value):
        return f"array{tuple(value.shape)}"
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return "{" + ", ".join(f"{value_text(k)}: {value_text(v)}" for k, v in items) + "}"
    return repr(value)


def _reads(node: object, inputs: tuple[int, ...]) -> str:
    names = node.reads(inputs) if isinstance(node, Described) else [f"%{source}" for source in inputs]
    return f"({', '.join(names)})" if names else ""
