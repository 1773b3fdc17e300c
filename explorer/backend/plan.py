"""The evaluation plan of a circuit: the reads and parameters of each layer, and the values that can be freed.

The plan is made once, when the module is built. Index tensors are not part of it: the module holds them as buffers, and
the plan refers to them by position.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from explorer.backend.addressing import FoldIndexInfo, Read, direct_read, plan_read
from explorer.backend.layers import TorchInnerLayer, TorchInputLayer, TorchLayer
from explorer.backend.parameters import TorchLeafParameter, TorchParameter, TorchParameterNode, TorchParameterOp
from explorer.errors import DataTypeError
from explorer.graph import Graph, field_names, parameters_of
from explorer.symbolic import Scope, TensorParameter

Slots = Mapping[TensorParameter, tuple[int, int]]
"""For each leaf the position of its tensor in the circuit, and its slice."""


@dataclass(frozen=True, eq=False)
class PlannedRead:
    """A read and the position of its index tensor (-1 if it needs none)."""

    read: Read
    index: int


@dataclass(frozen=True, eq=False)
class PlannedNode:
    """One node of a parameter graph: where each operand is read; a leaf (`op` is None) reads tensors of the circuit."""

    node: int
    op: TorchParameterOp | None
    reads: tuple[PlannedRead, ...]


@dataclass(frozen=True, eq=False)
class PlannedParameter:
    """The evaluation of a parameter graph: its nodes in order, then where the result is read."""

    nodes: tuple[PlannedNode, ...]
    result: PlannedRead | None
    last: int


@dataclass(frozen=True, eq=False)
class PlannedLayer:
    """The evaluation of a layer.

    An inner layer has a `read`, an input layer the position `columns` of the tensor of its variables. `frees` are the
    activations with no later user. `may_alias` says that the activation may be a view of a parameter.
    """

    node: int
    layer: TorchLayer
    read: PlannedRead | None
    columns: int
    parameters: tuple[tuple[str, PlannedParameter], ...]
    frees: tuple[int, ...]
    may_alias: bool
    is_output: bool


@dataclass(frozen=True, eq=False)
class CircuitPlan:
    """The layers in order, the read of the outputs, and the tensors that reads and input layers refer to."""

    layers: tuple[PlannedLayer, ...]
    output: PlannedRead
    indices: tuple[Tensor, ...]
    columns: tuple[Tensor, ...]
    num_variables: int
    """The number of columns of x; some may not be read."""


def plan_circuit(
    graph: Graph[TorchLayer],
    fold_index: FoldIndexInfo | None,
    slots: Slots,
    tensor_folds: Sequence[int],
    num_variables: int,
) -> CircuitPlan:
    """Plan the evaluation of a circuit; `tensor_folds` are the numbers of slices of its tensors.

    `num_variables` is the number of columns of x.

    Raises: DataTypeError for a layer or parameter node of an unknown family.
    """
    planner = _Planner(graph, fold_index, slots, tensor_folds)
    layers = planner.layers()
    output = planner.outputs()
    return CircuitPlan(layers, output, tuple(planner.indices), tuple(planner.columns), num_variables)


class _Planner:
    """Collects the index tensors and the columns of variables while layers are planned."""

    def __init__(
        self, graph: Graph[TorchLayer], fold_index: FoldIndexInfo | None, slots: Slots, tensor_folds: Sequence[int]
    ) -> None:
        self.graph = graph
        self.fold_index = fold_index
        self.slots = slots
        self.tensor_folds = tensor_folds
        self.folds = {node: layer.num_folds for node, layer in graph.nodes.items()}
        self.indices: list[Tensor] = []
        self.columns: list[Tensor] = []
        self.column_of: dict[tuple[Scope, ...], int] = {}

    def layers(self) -> tuple[PlannedLayer, ...]:
        frees = _last_uses(self.graph)
        aliasing: set[int] = set()
        return tuple([self._layer(node, layer, frees, aliasing) for node, layer in self.graph.nodes.items()])

    def outputs(self) -> PlannedRead:
        if self.fold_index is not None:
            return self._with_index(plan_read(self.fold_index.out_fold_idx[:, None, :], self.folds))
        read = direct_read(self.graph.outputs)
        if len(self.graph.outputs) > 1:
            read = Read(read.kind, read.sources, read.arity, 1, read.pieces)
        return self._with_index(read)

    def _layer(
        self, node: int, layer: TorchLayer, frees: Mapping[int, tuple[int, ...]], aliasing: set[int]
    ) -> PlannedLayer:
        read, columns = None, -1
        if isinstance(layer, TorchInputLayer):
            columns = self._columns(layer)
            may_alias = layer.may_return_view
        elif isinstance(layer, TorchInnerLayer):
            read = self._inputs(node)
            sources_alias = not aliasing.isdisjoint(self.graph.inputs[node])
            may_alias = layer.may_return_view and (sources_alias or bool(all_parameters(layer)))
        else:
            kind = type(layer).__name__
            raise DataTypeError(f"layer {node} ({kind}) must be a TorchInputLayer or a TorchInnerLayer")
        if may_alias:
            aliasing.add(node)
        parameters = tuple((name, self._parameter(p)) for name, p in all_parameters(layer).items())
        is_output = node in self.graph.output_set
        return PlannedLayer(node, layer, read, columns, parameters, frees.get(node, ()), may_alias, is_output)

    def _columns(self, layer: TorchInputLayer) -> int:
        flat = [variable for scope in layer.scope_idx for variable in scope]
        position = self.column_of.setdefault(layer.scope_idx, len(self.columns))
        if position == len(self.columns):
            self.columns.append(torch.tensor(flat, dtype=torch.long))
        return position

    def _inputs(self, node: int) -> PlannedRead:
        if self.fold_index is None:
            return self._with_index(direct_read(self.graph.inputs[node]))
        return self._with_index(plan_read(self.fold_index.in_fold_idx[node], self.folds))

    def _parameter(self, parameter: TorchParameter) -> PlannedParameter:
        folds = {node: value.num_folds for node, value in parameter.graph.nodes.items()}
        steps: list[PlannedNode] = []
        for node, value in parameter.graph.nodes.items():
            if isinstance(value, TorchLeafParameter):
                steps.append(PlannedNode(node, None, (self._leaf(value),)))
                continue
            if not isinstance(value, TorchParameterOp):
                raise DataTypeError(f"{type(value).__name__} must be a TorchLeafParameter or a TorchParameterOp")
            steps.append(PlannedNode(node, value, self._operands(parameter, node, folds)))
        if parameter.fold_index is None:
            return PlannedParameter(tuple(steps), None, parameter.graph.outputs[0])
        result = self._with_index(plan_read(parameter.fold_index.out_fold_idx[:, None, :], folds))
        return PlannedParameter(tuple(steps), result, -1)

    def _operands(self, parameter: TorchParameter, node: int, folds: Mapping[int, int]) -> tuple[PlannedRead, ...]:
        if parameter.fold_index is None:
            return tuple(self._with_index(direct_read((source,))) for source in parameter.graph.inputs[node])
        table = parameter.fold_index.in_fold_idx[node]
        return tuple(self._with_index(plan_read(table[:, h : h + 1], folds)) for h in range(table.shape[1]))

    def _leaf(self, leaf: TorchLeafParameter) -> PlannedRead:
        pairs = [self.slots[symbolic] for symbolic in leaf.leaves]
        table = np.array(pairs, dtype=np.int64).reshape(-1, 1, 2)
        return self._with_index(plan_read(table, {tensor: self.tensor_folds[tensor] for tensor, _ in pairs}))

    def _with_index(self, read: Read) -> PlannedRead:
        if read.index is None:
            return PlannedRead(read, -1)
        self.indices.append(torch.from_numpy(read.index.copy()))
        return PlannedRead(read, len(self.indices) - 1)


def all_parameters(layer: TorchLayer) -> dict[str, TorchParameter]:
    """The parameters of a layer and of the layers inside it (`layer.probs`)."""
    found: dict[str, TorchParameter] = parameters_of(layer)
    for name in field_names(layer.__class__, "nested"):
        found |= {f"{name}.{inner}": parameter for inner, parameter in all_parameters(getattr(layer, name)).items()}
    return found


def parameter_nodes(graph: Graph[TorchLayer]) -> Iterator[TorchParameterNode]:
    """All parameter nodes of all layers, in order."""
    for layer in graph.nodes.values():
        for parameter in all_parameters(layer).values():
            yield from parameter.graph.nodes.values()


def _last_uses(graph: Graph[TorchLayer]) -> Mapping[int, tuple[int, ...]]:
    """The activations without a later user, for each layer: some inputs, or its own if it is dead."""
    last: dict[int, int] = {}
    for node, sources in graph.inputs.items():
        last[node] = node
        for source in sources:
            last[source] = node
    frees: dict[int, list[int]] = {}
    for node, user in last.items():
        if node not in graph.output_set:
            frees.setdefault(user, []).append(node)
    return {user: tuple(nodes) for user, nodes in frees.items()}
