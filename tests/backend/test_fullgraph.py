"""`torch.compile(fullgraph=True)` accepts every layer type: in training, for inference, frozen, and made fast."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import explorer
from explorer.backend import TorchCircuit, TorchLayer, TorchSumLayer
from explorer.backend.layers import TorchHadamardLayer
from explorer.optimize import put_rule_first
from explorer.rewrite import LayerOptPattern
from explorer.symbolic import (
    CategoricalLayer,
    CircuitBuilder,
    ExponentialLayer,
    GaussianLayer,
    HistogramLayer,
    LaplaceLayer,
    MultivariateGaussianLayer,
    RearrangeLayer,
    SoftmaxParameter,
    SoftplusParameter,
    TensorParameter,
)
from tests.backend.test_compile_and_export import one_of_each
from tests.backend.test_gradients_at_zero import UNITS, circuit_with
from tests.levels.modes import compile_circuit

ROWS = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]])


def gaussian() -> TorchCircuit:
    b = CircuitBuilder()
    layers = [
        GaussianLayer(
            scope=(v,),
            num_output_units=2,
            mean=TensorParameter((2,)),
            stddev=SoftplusParameter((TensorParameter((2,)),)),
        )
        for v in (0, 1)
    ]
    return compile_circuit(b.build(b.sum(b.hadamard(*map(b.add, layers)), num_units=1)))


def joint_gaussian() -> TorchCircuit:
    b = CircuitBuilder()
    layer = MultivariateGaussianLayer(
        scope=(0, 1),
        num_output_units=2,
        mean=TensorParameter((2, 2)),
        stddev=SoftplusParameter((TensorParameter((2, 2)),)),
        slope=TensorParameter((2, 2, 2)),
    )
    return compile_circuit(b.build(b.sum(b.add(layer), num_units=1)))


def other_densities() -> TorchCircuit:
    b = CircuitBuilder()

    def positive() -> SoftplusParameter:
        return SoftplusParameter((TensorParameter((2,)),))

    layers = [
        ExponentialLayer(scope=(0,), num_output_units=2, mean=positive()),
        LaplaceLayer(scope=(1,), num_output_units=2, location=TensorParameter((2,)), scale=positive()),
        HistogramLayer(
            scope=(1,),
            num_output_units=2,
            edges=(-1.0, 0.5, 2.0),
            probs=SoftmaxParameter((TensorParameter((2, 2)),), axis=1),
        ),
    ]
    first, *second = map(b.add, layers)
    return compile_circuit(b.build(b.sum(*(b.hadamard(first, one) for one in second), num_units=1)))


def rearranged() -> TorchCircuit:
    b = CircuitBuilder()
    coin = CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, logits=TensorParameter((2, 2)))
    twice = RearrangeLayer(num_input_units=2, num_output_units=4, sizes=(2, 2), axes=(-1, 0))
    return compile_circuit(b.build(b.sum(b.add(twice, [b.add(coin)]), num_units=1)))


def chain() -> TorchCircuit:
    compiler = explorer.TorchCompiler(disable=["Candecomp"])
    put_rule_first(compiler.rules, LayerOptPattern("Chains", (TorchSumLayer, TorchHadamardLayer)), "one layer")
    return compiler.compile(circuit_with("CPT"))


CIRCUITS: dict[str, Callable[[], TorchCircuit]] = {
    **{name: lambda name=name: compile_circuit(circuit_with(name)) for name in UNITS},
    "TensorDot": lambda: compile_circuit(circuit_with("TensorDot"), preset="handbook"),
    "gaussian": gaussian,
    "joint gaussian": joint_gaussian,
    "other densities": other_densities,
    "rearranged": rearranged,
    "chain": chain,
}

STATES: dict[str, tuple[bool, Callable[[TorchCircuit], nn.Module]]] = {
    "in training": (True, lambda circuit: circuit),
    "for inference": (False, lambda circuit: circuit.eval()),
    "frozen": (False, lambda circuit: circuit.freeze()),
    "fast": (False, lambda circuit: circuit.freeze().fast(backend="torch")),
}
"""Whether gradients are recorded, and the module that is compiled."""


def captured(module: nn.Module, x: Tensor) -> tuple[Tensor, list[torch.fx.GraphModule]]:
    """The output of the compiled module, and its graphs."""
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, _: list[Tensor]) -> Any:
        graphs.append(graph)
        return graph.forward

    torch.compiler.reset()
    compiled = torch.compile(module, fullgraph=True, backend=backend)
    compiled(x)
    return compiled(x), graphs


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*map(subclasses, kind.__subclasses__()))


def test_the_circuits_that_are_always_compiled_contain_every_layer_type():
    circuits = compile_circuit(one_of_each()), *(CIRCUITS[name]() for name, _ in ALWAYS)
    used = {type(layer) for circuit in circuits for layer in circuit.layers}
    ours = {kind for kind in subclasses(TorchLayer) if kind.__module__.startswith("explorer.backend.")}
    assert {kind for kind in ours - used if not kind.__abstractmethods__} == set()


SAME_LAYERS = (
    *("sum of two", "sum of sums", "softmax", "CPT of five", "Kronecker", "embedding", "constant"),
    *("CPT", "Tucker", "mixing", "evidence", "polynomial", "binomial", "gaussian", "probabilities"),
)
"""Circuits with layers that others have too, or that `test_compile_and_export.py` compiles in training."""
ALWAYS = (
    *((name, "in training") for name in CIRCUITS if name not in SAME_LAYERS),
    ("CPT", "frozen"),
    ("gaussian", "fast"),
)


@pytest.mark.parametrize(
    ("name", "state"),
    [
        # `make fuzz` compiles the rest
        pytest.param(*case, marks=() if case in ALWAYS else pytest.mark.fuzz, id="-".join(case))
        for case in product(CIRCUITS, STATES)
    ],
)
def test_every_layer_type_is_compiled_in_one_graph(name: str, state: str):
    gradients, module_of = STATES[state]
    circuit = CIRCUITS[name]()
    x = ROWS[:, : circuit.num_variables]
    with torch.set_grad_enabled(gradients):
        found, graphs = captured(module_of(circuit), x)
        torch.testing.assert_close(found, circuit(x), rtol=1e-12, atol=1e-12)
    assert len(graphs) == 1


@torch.no_grad()
def test_a_frozen_circuit_evaluates_no_parameter_in_its_graph():
    circuit = CIRCUITS["softmax"]()

    def evaluates_softmax(module: nn.Module) -> bool:
        _, (graph,) = captured(module, ROWS[:, :1])
        return any("softmax" in str(node.target) for node in graph.graph.nodes)

    assert evaluates_softmax(circuit)
    assert not evaluates_softmax(circuit.freeze())
    assert not evaluates_softmax(circuit.freeze().fast(backend="torch"))
