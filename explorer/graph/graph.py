"""The graph: nodes with integer ids, their inputs, and the outputs; its levels, its text form, the fields of nodes.

The level of a node is its longest distance from the inputs (a layer-wise topological ordering); its height is the same
from the outputs. `explorer.fold` decides which of several legal orderings is best for folding.

A node is a frozen dataclass with its config as fields. A field that is something else says so in its metadata:
`weight: TorchParameter = field(metadata=PARAMETER)`. Fold keys, text, traces and views read the fields through
`config_of`, `parameters_of` and `nested_of`, so nothing is declared twice.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, Generic, Literal, Protocol, TypeVar, cast, runtime_checkable

from explorer.errors import CycleError, GraphError

Node = TypeVar("Node")
Other = TypeVar("Other")

CONFIG: Mapping[str, str] = MappingProxyType({"role": "config"})
PARAMETER: Mapping[str, str] = MappingProxyType({"role": "parameter"})
SCOPE: Mapping[str, str] = MappingProxyType({"role": "scope"})
FOLDS: Mapping[str, str] = MappingProxyType({"role": "folds"})
NESTED: Mapping[str, str] = MappingProxyType({"role": "nested"})

LayerKind = Literal["input", "sum", "product", "fused", "operator"]
"""The role of a layer, which determines how it is drawn: only rules create fused layers; operator is anything else."""


@dataclass(frozen=True, eq=False)
class Graph(Generic[Node]):
    """An immutable directed acyclic graph.

    `nodes` maps id to node *in topological order*; `inputs` maps each id to the ids it reads, in order (ids may
    repeat); `outputs` lists the ids of the outputs (ids may repeat). A pass creates a new graph that shares the
    unchanged nodes.

    The graph copies the mappings, so the caller may change them afterwards.

    Raises: GraphError if `nodes` and `inputs` have different ids, a node reads an id that does not precede it,
    or an output does not exist; CycleError if a node reads itself.

    >>> g = Graph({0: "x", 1: "y"}, {0: (), 1: (0,)}, (1,))
    >>> g.users[0], g.levels[1]
    ((1,), 1)
    """

    nodes: Mapping[int, Node]
    inputs: Mapping[int, tuple[int, ...]]
    outputs: tuple[int, ...]

    def __post_init__(self) -> None:
        nodes, given = self.nodes, self.inputs
        _check_ids(nodes, given)
        inputs = {node: tuple(given[node]) for node in nodes}
        object.__setattr__(self, "nodes", dict(nodes))
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "outputs", tuple(self.outputs))
        seen: set[int] = set()
        for node, sources in inputs.items():
            for source in sources:
                if source not in seen:
                    raise self._order_error(node, source)
            seen.add(node)
        for output in self.outputs:
            if output not in seen:
                raise GraphError(f"output {output} is not a node of the graph")

    @classmethod
    def trusted(
        cls, nodes: Mapping[int, Node], inputs: Mapping[int, tuple[int, ...]], outputs: tuple[int, ...]
    ) -> "Graph[Node]":
        """A graph that takes over the mappings, without copies and checks: the caller built them, in topological order.

        For many small graphs, where copies and checks would take longer than the work.
        """
        graph = object.__new__(cls)
        graph.__dict__.update(nodes=nodes, inputs=inputs, outputs=outputs)  # the class is frozen
        return graph

    def with_nodes(self, nodes: Mapping[int, Other]) -> "Graph[Other]":
        """A graph with the same ids, edges and outputs, and other nodes.

        What is known of the edges, such as `users`, is known of the new graph. Raises: GraphError for other ids, or
        another order.

        >>> Graph({0: "x", 1: "y"}, {0: (), 1: (0,)}, (1,)).with_nodes({0: "a", 1: "b"}).nodes
        {0: 'a', 1: 'b'}
        """
        if list(nodes) != list(self.nodes):
            pairs = enumerate(zip_longest(self.nodes, nodes, fillvalue="none"))
            place, (wanted, found) = next((i, pair) for i, pair in pairs if pair[0] != pair[1])
            raise GraphError(
                f"expected nodes for the {len(self.nodes)} ids of the graph, in their order; got {len(nodes)}: at "
                f"position {place} comes {found} instead of {wanted}"
            )
        graph = cast("Graph[Other]", object.__new__(Graph))
        graph.__dict__.update(self.__dict__, nodes=dict(nodes))  # the class is frozen
        return graph

    def _order_error(self, node: int, source: int) -> GraphError:
        if source == node:
            return CycleError(f"node {node} reads itself")
        where = "comes later" if source in self.nodes else "does not exist"
        return GraphError(f"node {node} reads node {source}, which {where}; sort the nodes or use Graph.from_unordered")

    @classmethod
    def from_unordered(
        cls, nodes: Mapping[int, Node], inputs: Mapping[int, tuple[int, ...]], outputs: Iterable[int]
    ) -> "Graph[Node]":
        """A graph from nodes in any order, which is kept as far as the edges allow.

        Raises: CycleError with the nodes of one cycle; GraphError if an input does not exist.
        """
        _check_ids(nodes, inputs)
        return cls({node: nodes[node] for node in topological_order(nodes, inputs)}, inputs, tuple(outputs))

    @cached_property
    def users(self) -> Mapping[int, tuple[int, ...]]:
        """The nodes that read each node, in topological order, without duplicates."""
        users: dict[int, list[int]] = {node: [] for node in self.nodes}
        for node, sources in self.inputs.items():
            for source in dict.fromkeys(sources):
                users[source].append(node)
        return {node: tuple(found) for node, found in users.items()}

    @cached_property
    def levels(self) -> Mapping[int, int]:
        """The level of each node: the longest distance from the inputs of the graph."""
        return levels(self)

    @cached_property
    def output_set(self) -> frozenset[int]:
        """The ids of the outputs, for membership tests."""
        return frozenset(self.outputs)

    @property
    def next_id(self) -> int:
        """The smallest id above all used ids."""
        return max(self.nodes, default=-1) + 1

    def __len__(self) -> int:
        return len(self.nodes)

    def __str__(self) -> str:
        return graph_text(self)


def _check_ids(nodes: Mapping[int, Node], inputs: Mapping[int, tuple[int, ...]]) -> None:
    if nodes.keys() != inputs.keys():
        odd = [node for node in (*nodes, *inputs) if node not in nodes or node not in inputs]
        raise GraphError(f"nodes and inputs must have the same ids; these have only one of the two: {odd[:10]}")


def topological_order(nodes: Mapping[int, Node], inputs: Mapping[int, tuple[int, ...]]) -> list[int]:
    """Depth-first topological order that follows the order of `nodes` and of the inputs.

    Raises: CycleError, GraphError.
    """
    done: set[int] = set()
    open_: dict[int, None] = {}
    order: list[int] = []
    for start in nodes:
        if start in done:
            continue
        open_[start] = None
        stack = [(start, iter(inputs[start]))]
        while stack:
            node, sources = stack[-1]
            for source in sources:
                if source in done:
                    continue
                if source not in nodes:
                    raise GraphError(f"node {node} reads node {source}, which does not exist")
                if source in open_:
                    path = list(open_)
                    cycle = [*path[path.index(source) :], source]
                    raise CycleError("the nodes form a cycle: " + " <- ".join(map(str, cycle)))
                open_[source] = None
                stack.append((source, iter(inputs[source])))
                break
            else:
                stack.pop()
                del open_[node]
                done.add(node)
                order.append(node)
    return order


Ordering = tuple[tuple[int, ...], ...]


def levels(graph: "Graph[Node]") -> dict[int, int]:
    """Longest distance of each node from the nodes without inputs.

    >>> levels(Graph({0: "a", 1: "b", 2: "c"}, {0: (), 1: (0,), 2: (0, 1)}, (2,)))
    {0: 0, 1: 1, 2: 2}
    """
    found: dict[int, int] = {}
    for node in graph.nodes:
        sources = graph.inputs[node]
        found[node] = 1 + max([found[source] for source in sources]) if sources else 0
    return found


def heights(graph: "Graph[Node]") -> dict[int, int]:
    """Longest distance of each node to a node without users.

    >>> heights(Graph({0: "a", 1: "b", 2: "c"}, {0: (), 1: (0,), 2: (0, 1)}, (2,)))
    {0: 2, 1: 1, 2: 0}
    """
    found = dict.fromkeys(graph.nodes, 0)
    for node in reversed(list(graph.nodes)):
        above = found[node] + 1
        for source in graph.inputs[node]:
            if found[source] < above:
                found[source] = above
    return found


def group_levels(level_of: Mapping[int, int]) -> Ordering:
    """The nodes of each level, levels ascending, nodes in the order of the mapping."""
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for node, level in level_of.items():
        groups[level].append(node)
    return tuple(tuple(groups[level]) for level in sorted(groups))


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


@cache
def field_names(node_type: type, role: str) -> tuple[str, ...]:
    """Names of the fields of a node class that have a role, in order of declaration."""
    return tuple(f.name for f in fields(node_type) if f.metadata.get("role", "config") == role)


def subclasses(base: type) -> list[type]:
    """A class and all subclasses of it that exist now; of two with one name, the later definition comes later."""
    found = [base]
    for kind in found:
        found.extend(kind.__subclasses__())
    return found


def config_of(node: object) -> dict[str, Any]:
    """The config of a node: name -> value."""
    return {name: getattr(node, name) for name in field_names(node.__class__, "config")}


def config_settings(node: object) -> tuple[tuple[str, Any], ...]:
    """The config of a node as (name, value) pairs."""
    return tuple([(name, getattr(node, name)) for name in field_names(node.__class__, "config")])


def parameters_of(node: object) -> dict[str, Any]:
    """The parameter graphs of a node: name -> graph. A parameter that is absent (None) is left out."""
    names = field_names(node.__class__, "parameter")
    return {name: value for name in names if (value := getattr(node, name)) is not None} if names else {}


NodeKey = tuple[type | str, tuple[tuple[str, Any], ...]]
"""A type, or its name, and (name, value) pairs that the nodes of a group have in common."""


def key_differences(one: NodeKey, other: NodeKey) -> tuple[tuple[str, Any, Any], ...]:
    """The fields in which two keys differ: (name, value here, value there); none if they are equal.

    A field that only one of them has is None in the other. Types are given by name; keys of two types differ in type.

    >>> key_differences(("Sum", (("units", 4),)), ("Sum", (("units", 1),)))
    (('units', 4, 1),)
    """
    if one[0] != other[0]:
        return (("type", _type_name(one[0]), _type_name(other[0])),)
    here, there = dict(one[1]), dict(other[1])
    pairs = [(name, here.get(name), there.get(name)) for name in dict.fromkeys([*here, *there])]
    return tuple((name, _type_name(mine), _type_name(theirs)) for name, mine, theirs in pairs if mine != theirs)


def _type_name(value: Any) -> Any:
    return value.__name__ if isinstance(value, type) else value


def nested_of(node: object) -> dict[str, Any]:
    """The nodes nested in a node (an evidence layer contains the observed layer): name -> node."""
    names = field_names(node.__class__, "nested")
    return {name: getattr(node, name) for name in names} if names else {}
