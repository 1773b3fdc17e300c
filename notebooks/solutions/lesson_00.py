"""Solutions of the exercises of lesson 0."""

import torch

import explorer
from explorer.graph import Graph
from explorer.symbolic import CategoricalLayer, Circuit, CircuitBuilder, ConstantValueLayer, constant


def solution_1() -> Circuit:
    """A mixture of two cases, each with probability one half: both coins show 0, or both show 1."""
    builder = CircuitBuilder()
    worlds = constant([[1.0, 0.0], [0.0, 1.0]])
    x = [builder.add(CategoricalLayer(scope=(v,), num_output_units=2, num_categories=2, probs=worlds)) for v in (0, 1)]
    return builder.build(builder.sum(builder.hadamard(*x), num_units=1, weight=constant([[0.5, 0.5]])))


def solution_2() -> float:
    """p(x0 = 1, x2 = 1) / p(x2 = 1), each in one pass that sums out all other variables."""
    seen = torch.tensor([[1, 0, 1]])  # without x3 and x4, the circuit reads three columns
    return (_marginal({1, 3, 4}, seen) / _marginal({0, 1, 3, 4}, seen)).item()


def solution_3() -> Circuit:
    """Multiply the second input of the sum by a fair coin for variable 1."""
    builder = CircuitBuilder()

    def coin(variable: int, heads: float) -> int:
        probs = constant([[1 - heads, heads]])
        return builder.add(CategoricalLayer(scope=(variable,), num_output_units=1, num_categories=2, probs=probs))

    a = coin(0, 0.3)
    both = [builder.hadamard(a, coin(1, heads)) for heads in (0.9, 0.5)]
    return builder.build(builder.sum(*both, num_units=1, weight=constant([[0.5, 0.5]])))


def _marginal(out: set[int], rows: torch.Tensor) -> torch.Tensor:
    """Evaluate the circuit `blackboard` with the input layers of some variables replaced by the constant 1."""
    circuit = explorer.gallery.load_named("blackboard")
    layers = dict(circuit.graph.nodes)
    for node, layer in circuit.graph.nodes.items():
        if isinstance(layer, CategoricalLayer) and layer.scope[0] in out:
            ones = constant([1.0] * layer.num_output_units)
            layers[node] = ConstantValueLayer(num_output_units=layer.num_output_units, value=ones)
    summed = Circuit(Graph(layers, circuit.graph.inputs, circuit.graph.outputs))
    return explorer.TorchCompiler(semiring="sum-product").compile(summed)(rows)
