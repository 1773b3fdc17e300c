"""The compiled layers that kernel calls were lowered from, and the states of their tables."""

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit, TorchDiscreteLayer, TorchInputLayer, TorchLayer, TorchRearrangeLayer
from explorer.graph import nested_of
from explorer.runtime.plan.kernel_calls import KernelCall, Plan, Source


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
