"""From a compiled circuit to kernel calls: one per fold of each layer, or several for a layer that combines steps.

Kernel calls refer to the layers that they were lowered from (`layer_of`).
"""

from collections.abc import Callable, Mapping
from itertools import count

import torch
from torch import Tensor

from explorer.backend import (
    EvaluatedCircuit,
    TorchChainLayer,
    TorchConstantValueLayer,
    TorchCPTLayer,
    TorchDiscreteLayer,
    TorchEvidenceLayer,
    TorchGaussianLayer,
    TorchHadamardLayer,
    TorchInnerLayer,
    TorchInputLayer,
    TorchKroneckerLayer,
    TorchLayer,
    TorchMixingLayer,
    TorchRearrangeLayer,
    TorchSumLayer,
    TorchTensorDotLayer,
    TorchTuckerLayer,
)
from explorer.errors import LoweringError
from explorer.graph import nested_of
from explorer.runtime.kernel_types import MAX_TABLE_STATES, Kind
from explorer.runtime.plan.kernel_calls import KernelCall, Plan, Source

MAX_TABLE_ENTRIES = 1 << 26
"""A discrete layer with more values, over all folds and units, is evaluated at the observed states only."""

COMPUTED: Mapping[type[TorchLayer], Kind] = {
    TorchSumLayer: Kind.SUM,
    TorchMixingLayer: Kind.MIXING,
    TorchCPTLayer: Kind.SUM,
    TorchTuckerLayer: Kind.TUCKER,
    TorchTensorDotLayer: Kind.TENSOR_DOT,
}
"""The layers that have one kernel call for each fold."""

Emit = Callable[[KernelCall], int]


def lower_to_plan(circuit: EvaluatedCircuit) -> Plan:
    """The kernel calls of a circuit, in the order of its layers.

    Raises: LoweringError for a layer that has no kernel calls, with its type and number.
    """
    calls: dict[int, KernelCall] = {}
    numbers = count()

    def emit(call: KernelCall) -> int:
        number = next(numbers)
        calls[number] = call
        return number

    values: dict[tuple[int, int], int] = {}
    for node, layer in circuit.graph.nodes.items():
        for fold in range(layer.num_folds):
            if isinstance(layer, TorchInputLayer):
                values[node, fold] = emit(_input(layer, Source(node, fold)))
            elif isinstance(layer, TorchInnerLayer):
                inputs = tuple(values[pair] for pair in inputs_of(circuit, node, fold))
                values[node, fold] = _inner(layer, Source(node, fold), inputs, calls, emit)
            else:
                raise LoweringError(f"layer {node} ({type(layer).__name__}) is neither an input nor an inner layer")
    return Plan(calls, tuple(values[pair] for pair in outputs_of(circuit)))


def inputs_of(circuit: EvaluatedCircuit, node: int, fold: int) -> list[tuple[int, int]]:
    """The layer and fold of each input of a fold of a layer."""
    index = circuit.fold_index
    if index is None:
        return [(source, 0) for source in circuit.graph.inputs[node]]
    return [(int(source), int(row)) for source, row in index.in_fold_idx[node][fold]]


def outputs_of(circuit: EvaluatedCircuit) -> list[tuple[int, int]]:
    """The layer and fold of each output of a circuit."""
    index = circuit.fold_index
    if index is None:
        return [(node, 0) for node in circuit.graph.outputs]
    return [(int(node), int(row)) for node, row in index.out_fold_idx]


def _input(layer: TorchInputLayer, source: Source) -> KernelCall:
    width, scope, kind = layer.num_output_units, tuple(layer.scope_idx[source.fold]), type(layer)
    if isinstance(layer, TorchGaussianLayer) and kind is TorchGaussianLayer and layer.mean.is_stored:
        return KernelCall(Kind.GAUSSIAN, width, (source,), variables=scope)
    if kind is TorchConstantValueLayer or kind is TorchEvidenceLayer:
        return KernelCall(Kind.TABLE, width, (source,))
    if isinstance(layer, TorchDiscreteLayer):
        entries = layer.num_values * layer.num_folds * width
        is_table = entries <= MAX_TABLE_ENTRIES and layer.num_values <= MAX_TABLE_STATES
        return KernelCall(Kind.TABLE if is_table else Kind.DENSITY, width, (source,), variables=scope)
    return KernelCall(Kind.DENSITY, width, (source,), variables=scope)


def _inner(
    layer: TorchInnerLayer, source: Source, inputs: tuple[int, ...], calls: Mapping[int, KernelCall], emit: Emit
) -> int:
    """Emit the calls of a fold of a layer, and return the number of its values."""
    width = layer.num_output_units
    kind = type(layer)  # a subclass may compute something else
    if isinstance(layer, TorchChainLayer) and kind is TorchChainLayer:
        below, above = (Source(source.layer, source.fold, f"{source.part}{name}.") for name in ("below", "above"))
        return _inner(layer.above, above, (_inner(layer.below, below, inputs, calls, emit),), calls, emit)
    if kind is TorchHadamardLayer:
        return inputs[0] if len(inputs) == 1 else emit(KernelCall(Kind.PRODUCT, width, (source,), inputs))
    if isinstance(layer, TorchRearrangeLayer) and kind is TorchRearrangeLayer:
        is_identity = layer.units_read == tuple(range(layer.num_input_units))
        return inputs[0] if is_identity else emit(KernelCall(Kind.REARRANGE, width, (source,), inputs))
    if kind is TorchKroneckerLayer:
        return _kronecker(source, inputs, calls, emit)
    if kind is TorchTuckerLayer and len(inputs) != 2:
        return emit(KernelCall(Kind.SUM, width, (source,), (_kronecker(source, inputs, calls, emit),)))
    if kind in COMPUTED:
        terms = len(inputs) if kind in (TorchSumLayer, TorchMixingLayer) else 1
        return emit(KernelCall(COMPUTED[kind], width, (source,), inputs, terms))
    raise LoweringError(
        f"layer {source.layer} ({kind.__name__}) has no kernel call: the backend 'torch' runs its circuit"
    )


def _kronecker(source: Source, inputs: tuple[int, ...], calls: Mapping[int, KernelCall], emit: Emit) -> int:
    """The product of all combinations, two inputs at a time, in which the first input varies slowest."""
    left = inputs[0]
    for right in inputs[1:]:
        left = emit(KernelCall(Kind.KRONECKER, calls[left].width * calls[right].width, (source,), (left, right)))
    return left


def layer_of(circuit: EvaluatedCircuit, source: Source) -> TorchLayer:
    """The compiled layer of a source."""
    layer = circuit.graph.nodes[source.layer]
    for name in source.part.split(".")[:-1]:
        layer = nested_of(layer)[name]
    return layer


def units_read(circuit: EvaluatedCircuit, call: KernelCall) -> tuple[int, ...]:
    """For each value of a call that rearranges, the position of the value that it reads."""
    layer = layer_of(circuit, call.sources[0])
    assert isinstance(layer, TorchRearrangeLayer)
    return layer.units_read


def input_table(plan: Plan, table: KernelCall) -> KernelCall:
    """The table of an input layer that a table was combined from; the table itself if it was not combined."""
    while table.inputs:
        table = plan.calls[table.inputs[0]]
    return table


def num_states(circuit: EvaluatedCircuit, plan: Plan, number: int) -> int:
    """The number of rows V of a table: the values of its variable, or 1 if it has none."""
    layer = layer_of(circuit, input_table(plan, plan.calls[number]).sources[0])
    return layer.num_values if isinstance(layer, TorchDiscreteLayer) else 1


def states_of(layer: TorchInputLayer, device: torch.device) -> Tensor:
    """All values (F, V, 1) of the variable of a discrete layer; (F, 1, 0) for a layer without a variable."""
    count = layer.num_values if isinstance(layer, TorchDiscreteLayer) else 1
    states = torch.arange(count, device=device).view(1, -1, 1)
    return states.expand(layer.num_folds, -1, -1)[:, :, : layer.num_variables]
