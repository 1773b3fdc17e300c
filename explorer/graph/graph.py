"""The graph: nodes with integer ids, their inputs, and the outputs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Generic, TypeVar, cast

from explorer.errors import CycleError, GraphError

Node = TypeVar("Node")
Other = TypeVar("Other")


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
        from explorer.graph.levels import levels

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
        from explorer.graph.text import graph_text

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
