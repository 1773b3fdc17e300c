"""Nodes that mean nothing, for graphs in which only the matching matters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from explorer.graph import PARAMETER, Graph
from explorer.rewrite import LayerOptPattern


@dataclass(frozen=True, eq=False)
class Toy:
    """Base of the toys, which are identified by name."""

    name: str = ""
    size: int = 1


@dataclass(frozen=True, eq=False)
class A(Toy):
    pass


@dataclass(frozen=True, eq=False)
class B(Toy):
    pass


@dataclass(frozen=True, eq=False)
class C(Toy):
    pass


@dataclass(frozen=True, eq=False)
class Inner:
    """A parameter of a toy: something with a graph."""

    graph: Graph[Any]


@dataclass(frozen=True, eq=False)
class WithInner(Toy):
    inner: Inner | None = field(default=None, metadata=PARAMETER)


def toy_graph(nodes: Mapping[int, Any], inputs: Mapping[int, Sequence[int]], outputs: Sequence[int]) -> Graph[Any]:
    """A graph; nodes that `inputs` does not name read nothing."""
    return Graph(dict(nodes), {n: tuple(inputs.get(n, ())) for n in nodes}, tuple(outputs))


def chain(*nodes: Any, outputs: Sequence[int] | None = None) -> Graph[Any]:
    """Nodes 0, 1, ... where each reads the previous one; by default the last is the output."""
    inputs = {i: (i - 1,) for i in range(1, len(nodes))}
    return toy_graph(dict(enumerate(nodes)), inputs, (len(nodes) - 1,) if outputs is None else outputs)


def pattern(name: str, *entries: type, **options: Any) -> LayerOptPattern:
    return LayerOptPattern(name, entries, **options)
