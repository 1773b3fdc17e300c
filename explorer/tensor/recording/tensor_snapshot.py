"""The state of a tensor graph after a step, kept as changes since the step before, and the records of operators."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from explorer.backend import TorchLayer
from explorer.graph import Graph, subclasses, topological_order
from explorer.levels import LevelSnapshot
from explorer.tensor.facts.shapes import MOVES
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import Arguments, Interface
from explorer.tensor.ir.types import TensorType, ValueType
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.torch_io.exporting import to_module
from explorer.tensor.torch_io.whole_layers import NAMESPACE
from explorer.trace import NodeKind, NodeRecord, ParameterNodeRecord, ParameterRecord
from explorer.trace.records import type_title

Read = tuple[int, int]
"""A result: the number of the node, and the index of the result."""
NO_TYPES: Mapping[Variable, ValueType] = MappingProxyType({})

CONTRACTIONS = {
    *("matmul", "mm", "bmm", "mv", "dot", "linear", "addmm", "addbmm", "baddbmm", "einsum"),
    *("convolution", "conv1d", "conv2d", "conv3d"),
}
"""Operators that multiply matrices, or convolve."""
COLLECTING = {
    *("split", "split_with_sizes", "unbind", "chunk", "unfold", "diagonal"),
    *("cat", "stack", "index", "index_select", "gather", "repeat_interleave", "roll", "flip"),
}
"""Operators that return parts of a tensor, or collect numbers of one or several tensors, in another order or twice."""
MOVED = COLLECTING | {op._schema.name.rpartition("::")[2] for op in MOVES}


@dataclass(slots=True, eq=False)
class NodeState:
    """A node in one state with its inputs and result types; its record is made on demand."""

    value: Apply | Variable
    inputs: tuple[Variable, ...]
    types: tuple[ValueType, ...]
    ids: Mapping[Variable, int]
    """The numbers of inputs and constants in the graph."""
    _record: NodeRecord | None = None

    @classmethod
    def of(
        cls,
        value: Apply | Variable,
        inputs: tuple[Variable, ...],
        ids: Mapping[Variable, int],
        types: Mapping[Variable, ValueType] = NO_TYPES,
    ) -> "NodeState":
        """A node with these inputs; `types` has the types of variables that have another one by now."""
        results = value.outputs if isinstance(value, Apply) else (value,)
        return cls(value, inputs, tuple([types.get(v, v.type) if types else v.type for v in results]), ids)

    @property
    def reads(self) -> tuple[Read, ...]:
        """The results that it reads."""
        return _reads(self.inputs, self.ids)

    @property
    def record(self) -> NodeRecord:
        """Its record in a trace; the constants that it reads are its parameters."""
        if self._record is None:
            self._record = _make_record(self.value, self.inputs, self.types)
        return self._record


class GraphState:
    """All nodes and outputs after a step, made from the state before and its changes on demand."""

    def __init__(
        self,
        before: "GraphState | None",
        changed: Mapping[int, NodeState | None],
        outputs: tuple[Variable, ...],
        ids: Mapping[Variable, int],
        interface: Interface,
    ) -> None:
        self._before = before
        self._changed = changed
        self.outputs = outputs
        self.interface = interface
        self._ids = ids
        self._nodes: Mapping[int, NodeState] | None = None

    @classmethod
    def of(cls, graph: FunctionGraph) -> "GraphState":
        """The present state of a graph, its inputs and constants first."""
        ids = graph.ids
        nodes = {i: NodeState.of(v, (), ids) for v, i in ids.items() if v.clients or v in graph.declared}
        nodes |= {node.id: NodeState.of(node, tuple(node.inputs), ids) for node in graph.nodes}
        state = cls(None, {}, tuple(graph.outputs), ids, graph.interface)
        state._nodes = nodes
        return state

    def after(self, changed: Mapping[int, NodeState | None], outputs: tuple[Variable, ...]) -> "GraphState":
        """The state after some nodes were changed, added or removed (None)."""
        return GraphState(self, changed, outputs, self._ids, self.interface)

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

    @cached_property
    def output_reads(self) -> tuple[Read, ...]:
        """The results that the outputs read."""
        return _reads(self.outputs, self._ids)

    @cached_property
    def exits(self) -> frozenset[int]:
        """The constants that are outputs: only these constants are drawn."""
        return frozenset(self._ids[v] for v in self.outputs if isinstance(v, Constant))

    def drawn_nodes(self) -> set[int]:
        """The nodes that are drawn: applications, inputs, and the constants that are outputs."""
        return {n for n, node in self.nodes.items() if not isinstance(node.value, Constant)} | self.exits

    def __contains__(self, number: int) -> bool:
        """Whether a node is drawn."""
        node = self.nodes.get(number)
        return node is not None and (not isinstance(node.value, Constant) or number in self.exits)

    @cached_property
    def graph(self) -> Graph[NodeRecord]:
        """The nodes that are drawn, as records; those that did not change are the same objects in all states."""
        nodes = {number: state for number, state in self.nodes.items() if number in self}
        inputs = {n: tuple(source for source, _ in state.reads if source in nodes) for n, state in nodes.items()}
        outputs = tuple(source for source, _ in self.output_reads)
        return Graph[NodeRecord].from_unordered({n: state.record for n, state in nodes.items()}, inputs, outputs)

    def _order(self) -> list[int]:
        """All nodes, including constants, in topological order."""
        inputs = {number: tuple(source for source, _ in state.reads) for number, state in self.nodes.items()}
        return topological_order(self.nodes, inputs)

    def function_graph(self) -> FunctionGraph:
        """A fresh graph in this state."""
        made: dict[Read, Variable] = {}
        inputs: list[Variable] = []
        order = self._order()
        for number in order:
            state = self.nodes[number]
            value = state.value
            if isinstance(value, Apply):
                node = Apply(
                    value.op, [made[read] for read in state.reads], location=value.location, id=number, draw=value.draw
                )
                node.outputs = [
                    Variable(kind, node, v.index, v.name, v.device, v.requires_grad)
                    for v, kind in zip(value.outputs, state.types, strict=True)
                ]
                made.update({(number, i): v for i, v in enumerate(node.outputs)})
            elif isinstance(value, Constant):
                made[(number, 0)] = constant = Constant(value.data, value.name, value.trainable)
                constant.type = state.types[0]
            else:
                made[(number, 0)] = Variable(state.types[0], None, 0, value.name, value.device, value.requires_grad)
        declared = [n for n in sorted(order) if not isinstance(self.nodes[n].value, Apply | Constant)]
        inputs = [made[(number, 0)] for number in declared]
        graph = FunctionGraph(inputs, [made[read] for read in self.output_reads], clone=False)
        graph.interface = self.interface
        return graph


@dataclass(frozen=True, eq=False, repr=False)
class TensorSnapshot(LevelSnapshot[None]):
    """The state after a step, as a trace asks for it."""

    state: GraphState

    def make_graph(self) -> Graph[NodeRecord]:
        """The operators, inputs and constants."""
        return self.state.graph

    @property
    def size(self) -> tuple[int, int]:
        """Number of nodes that are drawn, twice: nothing is folded at this level."""
        size = len(self.state.drawn_nodes())
        return size, size

    def make_memory(self) -> None:
        """Operators have no buffers."""

    def make_stats(self) -> Mapping[str, int]:
        """Operators, constants, parameters (numbers in constants) and bytes that operators write."""
        values = [node.value for node in self.state.nodes.values()]
        applied = [value for value in values if isinstance(value, Apply)]
        constants = [value for value in values if isinstance(value, Constant)]
        written = [v.type.size_bytes for node in applied for v in node.outputs if isinstance(v.type, TensorType)]
        return {
            "operators": len(applied),
            "constants": len(constants),
            "parameters": sum(value.data.numel() for value in constants),
            "activation_bytes": sum(written),
        }

    def circuit(self) -> Any:
        """A module that computes this state."""
        return to_module(self.state.function_graph())

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """The results of the module for a tuple of arguments; mutable state is copied."""
        module = self.circuit()
        return run(deepcopy(module) if self.state.interface.mutations else module, x)


def run(module: Callable[..., Any], x: Any) -> tuple[torch.Tensor, ...]:
    """The tensors that a module returns for arguments; random operators start with the same seed each time."""
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        by_name = x.by_name if isinstance(x, Arguments) else {}
        given = module(*x, **by_name) if isinstance(x, tuple) else module(x)
    return tuple(value.detach() for value in pytree.tree_leaves(given) if isinstance(value, torch.Tensor))


def _make_record(value: Apply | Variable, inputs: Sequence[Variable], types: Sequence[ValueType]) -> NodeRecord:
    if isinstance(value, Apply):
        config: dict[str, Any] = {name: plain_setting(setting) for name, setting in value.op.settings.items()}
        config |= _results(types)
        location = value.location
        about = {"module": location.module, "source": location.line}
        kind = str(value.op.target).replace("::", ".")
        parameters: dict[str, ParameterRecord] = {}
        for name, variable in zip(value.op.input_names(), inputs, strict=True):
            if isinstance(variable, Constant):
                parameters[name if name not in parameters else f"{name} {len(parameters)}"] = _parameter(variable)
        known: dict[str, Any] = {name: text for name, text in about.items() if text}
        several = [v for v in inputs if v.owner is not None and len(v.owner.outputs) > 1]
        if several:
            known["reads"] = [f"%{v.owner.id}:{v.index}" for v in several if v.owner is not None]
        return NodeRecord(kind, 1, config, None, parameters, {}, known, *look_of(value.op.target))
    if isinstance(value, Constant):
        config = {**_parameter(value).nodes[0].config, **_results(types)}
        return NodeRecord("Constant", 1, config, about={"name": value.name} if value.name else {}, kind="leaf")
    return NodeRecord("Input", 1, {"name": value.name, **_results(types)}, scope=(), kind="input")


def _parameter(constant: Constant) -> ParameterRecord:
    """A constant as the parameter of the operator that reads it."""
    shape = constant.tensor_type.shape
    config: dict[str, Any] = {"shape": list(shape), "type": str(constant.type)}
    if constant.number is not None:
        config["value"] = plain_setting(constant.number)
    kind = "Parameter" if constant.trainable else "Constant"
    return ParameterRecord(
        shape, (ParameterNodeRecord(kind, 1, config, (), (constant.name or "constant",)),), ((0, 0),)
    )


def _results(types: Sequence[ValueType]) -> dict[str, Any]:
    """Types of results, and their bytes."""
    return {
        "results": [str(kind) for kind in types],
        "bytes": sum(kind.size_bytes for kind in types if isinstance(kind, TensorType)),
    }


def _reads(variables: Iterable[Variable], ids: Mapping[Variable, int]) -> tuple[Read, ...]:
    return tuple((v.owner.id, v.index) if v.owner is not None else (ids[v], 0) for v in variables)


def look_of(target: OpOverload) -> tuple[NodeKind, str]:
    """The kind and the title of an operator, or of a layer if it is a whole layer of a circuit."""
    name = target._schema.name.rpartition("::")[2]
    if target.namespace == NAMESPACE:
        kinds: dict[str, NodeKind] = {layer.__name__: layer.kind for layer in subclasses(TorchLayer)}
        return kinds.get(name, "operator"), type_title(name)
    return kind_of(name), name


def kind_of(name: str) -> NodeKind:
    """The kind of an operator that is no whole layer, by its name: `addmm`."""
    return "matmul" if name in CONTRACTIONS else "view" if name in MOVED else "operator"


def plain_setting(value: Any) -> Any:
    """A setting of an operator as JSON has it: tuples as lists, other objects as text."""
    if isinstance(value, tuple | list):
        return [plain_setting(item) for item in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)
