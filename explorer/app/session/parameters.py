"""The present values of the parameters of one layer, or of one slice of a folded layer, of a live trace."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from explorer.backend import TorchCircuit, all_parameters
from explorer.backend.layers import TorchLayer
from explorer.backend.parameters import TorchLeafParameter, TorchParameter, TorchParameterOp
from explorer.compiler.operator_snapshot import OperatorSnapshot
from explorer.symbolic import TensorParameter
from explorer.views import NodeValue, TraceIndex, find_plate, with_values
from explorer_widgets.schema import DetailsView

MAX_OVERVIEW = 600
"""Maximum number of values with which the parameters of all slices are shown together."""
Slice = tuple[int, int]
"""A node of a parameter graph, and the number of its slice."""


def add_parameters(
    index: TraceIndex, step: int, ids: Sequence[int], number: int, found: DetailsView, *, before: bool = False
) -> DetailsView:
    """Add the values of slice `number` of a plate (the first one if there is no such slice) to its details."""
    plate = find_plate(index, step, ids, before=before)
    shown = found.get("closeup")
    if plate is None or shown is None or not index.trace.is_live:
        return found
    at, drawn = plate
    number = number if 0 <= number < len(drawn.cells) else 0
    trace = index.trace
    snapshot = index.step(at).snapshot
    is_before = isinstance(snapshot, OperatorSnapshot)  # operands have other leaves
    circuit: TorchCircuit = snapshot.circuit_with(drawn.cells[number].layer) if is_before else trace.compiled
    value_of, names = circuit.leaf_value, trace.leaf_names
    graph = snapshot.graph

    def values_of(cell: int) -> dict[str, list[NodeValue]]:
        node, fold = (drawn.node, cell) if drawn.node is not None else (drawn.cells[cell].layer, 0)
        layer: TorchLayer = graph.nodes[node]
        return {name: _nodes(parameter, fold, value_of, names) for name, parameter in all_parameters(layer).items()}

    def title_of(cell: int) -> str:
        return f"slice {cell}" if drawn.node is not None else f"layer #{drawn.cells[cell].layer}"

    values, count = values_of(number), len(drawn.cells)
    size = sum(nodes[-1].value.size for nodes in values.values())
    cells = range(count) if count > 1 and count * size <= MAX_OVERVIEW else ()
    overview = {
        f"{name}, {title_of(cell)}": nodes[-1].value for cell in cells for name, nodes in values_of(cell).items()
    }
    of = title_of(number) + (f" of {count}" if drawn.node is not None else "")
    parameters = with_values(shown["parameters"], number, of, values, overview)
    return {**found, "closeup": {**shown, "parameters": parameters}}


def _nodes(
    parameter: TorchParameter,
    fold: int,
    value_of: Callable[[TensorParameter], Tensor],
    names: Mapping[TensorParameter, str],
) -> list[NodeValue]:
    """Return the nodes that compute one slice of a parameter, in order."""
    last = (parameter.graph.outputs[0], 0)
    if parameter.fold_index is not None:
        node, number = parameter.fold_index.out_fold_idx[fold].tolist()
        last = (node, number)
    found: dict[Slice, tuple[int, NodeValue]] = {}
    tensors: dict[Slice, Tensor] = {}

    def visit(at: Slice) -> int:
        if at in found:
            return found[at][0]
        node, number = at
        value = parameter.graph.nodes[node]
        sources = [] if isinstance(value, TorchLeafParameter) else _operands(parameter, at)
        inputs = tuple(map(visit, sources))
        leaf = ""
        if isinstance(value, TorchLeafParameter):
            tensors[at] = value_of(value.leaves[number])
            leaf = names.get(value.leaves[number], "")
        elif isinstance(value, TorchParameterOp):
            tensors[at] = value.forward(*(tensors[source].unsqueeze(0) for source in sources)).squeeze(0)
        found[at] = (len(found), NodeValue(type(value).__name__, _numbers(tensors[at]), inputs, leaf))
        return found[at][0]

    visit(last)
    return [node for _, node in found.values()]


def _operands(parameter: TorchParameter, at: Slice) -> list[Slice]:
    node, number = at
    if parameter.fold_index is None:
        return [(source, 0) for source in parameter.graph.inputs[node]]
    return [(int(source), int(slot)) for source, slot in parameter.fold_index.in_fold_idx[node][number]]


def _numbers(value: Tensor) -> NDArray[np.float64]:
    """Return a tensor as numbers, complex ones by their absolute value."""
    return (value.abs() if value.is_complex() else value).detach().double().cpu().numpy()
