"""A compiled circuit as a tensor graph."""

import torch
from torch import Tensor

from explorer.backend import TorchCircuit, TorchInputLayer
from explorer.backend.layers import TorchDiscreteLayer
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.torch_io.importing import from_module


def from_circuit(
    circuit: TorchCircuit,
    *,
    batch_size: int = 1,
    level: str = "functional",
    training: bool = False,
) -> FunctionGraph:
    """Export a circuit for rows (B, D) as a graph; with `training` its parameters may change.

    Raises: ExportError, UnknownNameError, as `from_module` does.
    """
    x = example_rows(circuit, batch_size)
    return from_module(circuit, (x,), level=level, training=training)


def example_rows(circuit: TorchCircuit, batch_size: int) -> Tensor:
    """Zeros (B, D) of a type that the circuit accepts: integers if all of its variables are discrete."""
    inputs = [layer for layer in circuit.graph.nodes.values() if isinstance(layer, TorchInputLayer) and layer.scope_idx]
    discrete = all(isinstance(layer, TorchDiscreteLayer) for layer in inputs)
    return torch.zeros(batch_size, circuit.num_variables, dtype=torch.long if discrete else None)
