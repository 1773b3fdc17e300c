"""Random inputs of a circuit: generated on the CPU from a seed, equal for every step and device."""

from collections.abc import Mapping, Set

import torch
from torch import Tensor

from explorer.backend import TorchCircuit, TorchInputLayer
from explorer.backend.layers import TorchDiscreteLayer
from explorer.backend.layers.inputs import TorchContinuousLayer
from explorer.errors import CircuitError


def random_inputs(circuit: TorchCircuit, batch_size: int, seed: int = 0) -> Tensor:
    """Rows (B, D): uniform states for discrete variables, standard normal numbers for continuous ones.

    The dtype is int64 if all variables are discrete. A variable that several layers read gets values that all of them
    accept. Raises: CircuitError if a variable is read by any other layer: pass data instead.
    """
    states, real = variable_kinds(circuit)
    generator = torch.Generator().manual_seed(seed)
    columns: list[Tensor] = []
    for variable in range(circuit.num_variables):
        if variable in states:
            columns.append(torch.randint(states[variable], (batch_size,), generator=generator))
        elif variable in real:
            columns.append(torch.randn(batch_size, generator=generator))
        else:
            columns.append(torch.zeros(batch_size, dtype=torch.long))
    if not columns:
        return torch.zeros((batch_size, 0))
    discrete = all(not column.is_floating_point() for column in columns)
    return torch.stack([column if discrete else column.to(torch.get_default_dtype()) for column in columns], dim=1)


def variable_kinds(circuit: TorchCircuit) -> tuple[Mapping[int, int], Set[int]]:
    """Return the number of states of each discrete variable, and the continuous variables.

    Raises: CircuitError if a variable is read by any other layer.
    """
    states: dict[int, int] = {}
    real: set[int] = set()
    for node, layer in circuit.graph.nodes.items():
        if not isinstance(layer, TorchInputLayer):
            continue
        for variable in sorted({v for scope in layer.scope_idx for v in scope}):
            if isinstance(layer, TorchDiscreteLayer):
                states[variable] = min(layer.num_values, states.get(variable, layer.num_values))
            elif isinstance(layer, TorchContinuousLayer):
                real.add(variable)
            else:
                raise CircuitError(
                    f"layer {node} ({type(layer).__name__}) reads variable {variable}, whose values are "
                    f"unknown; pass data: x of shape (B, {circuit.num_variables})"
                )
    return states, real
