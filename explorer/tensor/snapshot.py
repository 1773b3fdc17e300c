"""The state of a tensor graph after a step, kept as what changed since the step before."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from explorer.graph import Graph, topological_order
from explorer.tensor.interface import Interface
from explorer.tensor.types import TensorType
from explorer.tensor.variables import Apply, Constant, Variable
from explorer.trace import NodeRecord, ParameterNodeRecord, ParameterRecord

if TYPE_CHECKING:
    from explorer.tensor.function_graph import FunctionGraph

Read = tuple[int, int]
"""A result that is read: the number of the node, and which of its results."""


@dataclass(slots=True, eq=False)
class NodeState:
    """A node at one state: what it is, and what it reads then; its record is made when it is asked for."""

    value: Apply | Variable
    reads: tuple[Read, ...]
    constants: tuple[Constant | None, ...] = ()
    """For each input the constant that stands there."""
    _record: NodeRecord | None = None

    @property
    def record(self) -> NodeRecord:
        """What a trace keeps of it; the constants that it reads are its parameters."""
        if self._record is None:
            self._record = _make_record(self.value, self.constants)
        return self._record


class GraphState:
    """All nodes and outputs after a step; made from the state before and what changed, when it is looked at."""

    def __init__(
        self,
        before: "GraphState | None",
        changed: Mapping[int, NodeState | None],
        outputs: tuple[Read, ...],
        interface: Interface,
    ) -> None:
        self._before = before
        self._changed = changed
        self.outputs = outputs
        self.interface = interface
        self._nodes: dict[int, NodeState] | None = None

    @classmethod
    def of(cls, graph: "FunctionGraph") -> "GraphState":
        """The present state of a graph, its inputs and constants first."""
        nodes = {number: NodeState(v, ()) for v, number in graph.ids.items() if v.clients or v in graph.inputs}
        for node in graph.toposort():
            nodes[node.id] = _state_of(graph, node)
        state = cls(None, nodes, _reads(graph, graph.outputs), graph.interface)
        state._nodes = nodes
        return state

    def after(self, changed: Mapping[int, NodeState | None], outputs: tuple[Read, ...]) -> "GraphState":
        """The state after some nodes changed, came or went (None)."""
        return GraphState(self, dict(changed), outputs, self.interface)

    @property
    def nodes(self) -> Mapping[int, NodeState]:
        """Number -> node."""
        if self._nodes is None:
            chain: list[GraphState] = [self]
            while chain[-1]._nodes is None and chain[-1]._before is not None:
                chain.append(chain[-1]._before)
            nodes = dict(chain[-1]._nodes or {})
            for state in reversed(chain[:-1]):
                for number, node in state._changed.items():
                    if node is None:
                        nodes.pop(number, None)
                    else:
                        nodes[number] = node
            self._nodes = nodes
        return self._nodes

    def __contains__(self, number: int) -> bool:
        """Whether a node is drawn: applications and inputs are, a constant only if it is an output."""
        node = self.nodes.get(number)
        return node is not None and (not isinstance(node.value, Constant) or (number, 0) in self.outputs)

    @cached_property
    def graph(self) -> Graph[NodeRecord]:
        """The nodes that are drawn, as records; those that did not change are the same objects in all states."""
        nodes = {number: state for number, state in self.nodes.items() if number in self}
        inputs = {n: tuple(source for source, _ in state.reads if source in nodes) for n, state in nodes.items()}
        outputs = tuple(source for source, _ in self.outputs)
        return Graph[NodeRecord].ordered({n: state.record for n, state in nodes.items()}, inputs, outputs)

    def _order(self) -> list[int]:
        """All nodes, constants too, each behind what it reads."""
        inputs = {number: tuple(source for source, _ in state.reads) for number, state in self.nodes.items()}
        return topological_order(self.nodes, inputs)

    def function_graph(self) -> "FunctionGraph":
        """A graph of its own in this state."""
        from explorer.tensor.function_graph import FunctionGraph

        made: dict[Read, Variable] = {}
        inputs: list[Variable] = []
        order = self._order()
        for number in order:
            state = self.nodes[number]
            value = state.value
            if isinstance(value, Apply):
                node = Apply(value.op, [made[read] for read in state.reads], place=value.place, id=number)
                node.outputs = [Variable(v.type, node, v.index, v.name) for v in value.outputs]
                made.update({(number, i): v for i, v in enumerate(node.outputs)})
            elif isinstance(value, Constant):
                kind = value.tensor_type
                made[(number, 0)] = Constant(value.data, value.name, value.trainable, kind.layout, kind.quantization)
            else:
                made[(number, 0)] = Variable(value.type, None, 0, value.name)
        declared = [n for n in sorted(order) if not isinstance(self.nodes[n].value, Apply | Constant)]
        inputs = [made[(number, 0)] for number in declared]
        graph = FunctionGraph(inputs, [made[read] for read in self.outputs], clone=False)
        graph.interface = self.interface
        return graph


@dataclass(frozen=True, eq=False)
class TensorSnapshot:
    """The state after a step, as a trace asks for it."""

    state: GraphState

    @property
    def graph(self) -> Graph[NodeRecord]:
        """The operators, inputs and constants."""
        return self.state.graph

    @property
    def reads(self) -> Mapping[int, Mapping[str, Any]]:
        """Nothing is folded at this level."""
        return {}

    @cached_property
    def _figures(self) -> Mapping[str, int]:
        from explorer.tensor.figures import figures

        return figures(self.state)

    @property
    def figures(self) -> Mapping[str, int]:
        """Operators, constants, bytes."""
        return self._figures

    def circuit(self) -> Any:
        """A module that computes this state."""
        from explorer.tensor.exporting import to_module

        return to_module(self.state.function_graph())

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """What the module gives for a tuple of arguments, all tensors in a row.

        Random operators begin with the same seed each time, and state that a call changes is a copy.
        """
        module = self.circuit()
        if self.state.interface.mutations:
            module = deepcopy(module)
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            given = module(*x) if isinstance(x, tuple) else module(x)
        return tuple(value for value in pytree.tree_leaves(given) if isinstance(value, torch.Tensor))


def _make_record(value: Apply | Variable, constants: Sequence[Constant | None]) -> NodeRecord:
    if isinstance(value, Apply):
        config: dict[str, Any] = {name: _plain(setting) for name, setting in value.op.settings.items()}
        config |= _results(value.outputs)
        place = value.place
        about = {"module": place.module, "source": place.line}
        kind = str(value.op.target).replace("::", ".")
        parameters: dict[str, ParameterRecord] = {}
        for name, constant in zip(value.op.input_names(), constants, strict=True):
            if constant is not None:
                parameters[name if name not in parameters else f"{name} {len(parameters)}"] = _parameter(constant)
        known = {name: text for name, text in about.items() if text}
        return NodeRecord(kind, 1, config, parameters=parameters, about=known)
    if isinstance(value, Constant):
        config = {**_parameter(value).nodes[0].config, **_results([value])}
        return NodeRecord("Constant", 1, config, about={"name": value.name} if value.name else {})
    return NodeRecord("Input", 1, {"name": value.name, **_results([value])}, scope=())


def _parameter(constant: Constant) -> ParameterRecord:
    """A constant as the parameter of the operator that reads it."""
    shape = constant.tensor_type.shape
    config: dict[str, Any] = {"shape": list(shape), "type": str(constant.type)}
    if constant.number is not None:
        config["value"] = _plain(constant.number)
    kind = "Parameter" if constant.trainable else "Constant"
    return ParameterRecord(
        shape, (ParameterNodeRecord(kind, 1, config, (), (constant.name or "constant",)),), ((0, 0),)
    )


def changed_nodes(
    graph: "FunctionGraph", touched: Iterable[Apply | None], leaves: Iterable[Variable]
) -> dict[int, NodeState | None]:
    """What these applications, inputs and constants are now; None for those that are gone."""
    changed: dict[int, NodeState | None] = {}
    for node in touched:
        if node is not None:
            changed[node.id] = _state_of(graph, node) if node in graph.nodes else None
    for leaf in leaves:
        if leaf in graph.ids:
            used = leaf.clients or leaf in graph.declared
            changed[graph.ids[leaf]] = NodeState(leaf, ()) if used else None
    return changed


def output_reads(graph: "FunctionGraph") -> tuple[Read, ...]:
    """What the outputs of a graph read now."""
    return _reads(graph, graph.outputs)


def _state_of(graph: "FunctionGraph", node: Apply) -> NodeState:
    constants = tuple(v if isinstance(v, Constant) else None for v in node.inputs)
    return NodeState(node, _reads(graph, node.inputs), constants)


def _results(variables: Sequence[Variable]) -> dict[str, Any]:
    """Types of results, and their bytes."""
    types = [v.type for v in variables]
    return {
        "results": [str(kind) for kind in types],
        "bytes": sum(kind.size_bytes for kind in types if isinstance(kind, TensorType)),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def _reads(graph: "FunctionGraph", variables: Iterable[Variable]) -> tuple[Read, ...]:
    return tuple((v.owner.id, v.index) if v.owner is not None else (graph.ids[v], 0) for v in variables)
