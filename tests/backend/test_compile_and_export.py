"""`torch.compile` takes a circuit as one graph, `torch.export` as well; both give the circuit's values."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    GaussianLayer,
    MixingWeightParameter,
    Parameterization,
    PolynomialLayer,
    SoftmaxParameter,
    SoftplusParameter,
    TensorParameter,
    constant,
)
from explorer.templates import load_named
from tests.levels.modes import MODE_IDS, MODES, Mode, compiled, layer_types, some_input

BOTH_ENDS = pytest.mark.parametrize("mode", [MODES[0], MODES[-1]], ids=(MODE_IDS[0], MODE_IDS[-1]))


def one_of_each() -> Circuit:
    """Every input layer, a Hadamard and a Kronecker product, a mixing sum, evidence and a constant."""
    b = CircuitBuilder()
    parameters = Parameterization("softmax")

    def positive(*shape: int) -> SoftplusParameter:
        return SoftplusParameter((TensorParameter(shape),))

    coin = CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=parameters((2, 2)))
    layers = [
        coin,
        EmbeddingLayer(scope=(1,), num_output_units=2, num_states=3, weight=positive(2, 3)),
        BinomialLayer(scope=(2,), num_output_units=2, total_count=3, logits=TensorParameter((2,))),
        GaussianLayer(scope=(3,), num_output_units=2, mean=TensorParameter((2,)), stddev=positive(2)),
        PolynomialLayer(scope=(4,), num_output_units=2, degree=2, coeff=positive(2, 3)),
        ConstantValueLayer(num_output_units=2, value=positive(2)),
        EvidenceLayer(num_output_units=2, layer=coin, observation=constant([1])),
    ]
    x = [b.add(layer) for layer in layers]
    left = b.sum(b.hadamard(*x[:4]), num_units=2)
    right = b.sum(b.kronecker(*x[4:]), num_units=2)
    mixing = MixingWeightParameter((SoftmaxParameter((TensorParameter((2, 2)),)),))
    return b.build(b.sum(b.hadamard(left, right), b.hadamard(right, left), num_units=2, weight=mixing))


def data() -> Tensor:
    x = some_input(one_of_each(), batch=4)
    assert x is not None
    return x


def coins() -> TorchCircuit:
    b = CircuitBuilder()
    given = {"num_output_units": 1, "num_categories": 3, "probs": constant([[0.2, 0.3, 0.5]])}
    layers = [b.add(CategoricalLayer(scope=(v,), **given)) for v in range(2)]
    embedding = EmbeddingLayer(scope=(2,), num_output_units=1, num_states=3, weight=constant([[1.0, 2.0, 3.0]]))
    return compiled(b.build(*layers, b.add(embedding)))


def assert_equal(found: Tensor, wanted: Tensor) -> None:
    np.testing.assert_allclose(found.detach(), wanted.detach(), rtol=1e-12, atol=1e-12)


def test_the_circuit_of_this_file_has_every_layer_that_optimization_makes_of_it():
    assert set(layer_types(compiled(one_of_each()))) >= {"CPT", "Tucker", "Mixing", "Evidence", "Polynomial"}


@BOTH_ENDS
def test_a_circuit_compiles_to_one_graph_with_its_values(mode: Mode):
    torch.compiler.reset()
    circuit, x = compiled(one_of_each(), **mode), data()
    wanted = circuit(x)
    graphs: list[Any] = []

    def backend(graph: torch.fx.GraphModule, _: list[Tensor]) -> Any:
        graphs.append(graph)
        return graph.forward

    fast = torch.compile(circuit, fullgraph=True, backend=backend)
    assert_equal(fast(x), wanted)
    assert_equal(fast(x), wanted)
    assert len(graphs) == 1


@pytest.mark.parametrize("semiring", ["lse-sum", "complex-lse-sum"])
def test_a_compiled_graph_has_the_same_gradients(semiring: str):
    torch.compiler.reset()
    circuit, x = compiled(load_named("blackboard"), semiring), torch.tensor([[0, 0, 0, 0, 0], [1, 0, 1, 1, 0]])
    gradients = []
    for module in (circuit, torch.compile(circuit, fullgraph=True, backend="aot_eager")):
        circuit.zero_grad()
        torch.real(module(x)).sum().backward()
        gradients.append([None if p.grad is None else p.grad.clone() for p in circuit.parameters()])
    for plain, found in zip(*gradients, strict=True):
        assert (plain is None) == (found is None)
        if plain is not None:
            np.testing.assert_allclose(found, plain, rtol=1e-9, atol=1e-12)


@BOTH_ENDS
def test_a_circuit_is_exported_with_its_values(mode: Mode):
    circuit, x = compiled(one_of_each(), **mode).eval(), data()
    exported = torch.export.export(circuit, (x,))
    assert_equal(exported.module()(x), circuit(x))


def test_an_exported_circuit_takes_any_batch():
    circuit = compiled(load_named("blackboard")).eval()
    x = torch.tensor([[0, 0, 0, 0, 0], [1, 0, 1, 1, 0]])
    exported = torch.export.export(circuit, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=2)},)).module()
    more = torch.cat([x, x, 1 - x])
    assert_equal(exported(more), circuit(more))


def test_an_illegal_category_gives_nan_where_checks_cannot_run():
    """All of them in one batch: to compile and to export a circuit takes long."""
    torch.compiler.reset()
    circuit = coins()
    bad = [3.0, -1.0, 100.0, 0.5, float("nan")]
    x = torch.tensor([[0.0, 1.0, 2.0], *([0.0, value, value] for value in bad)])
    fast = torch.compile(circuit, fullgraph=True, backend="eager")
    exported = torch.export.export(circuit.eval(), (x[:1].repeat(len(x), 1),)).module()
    legal = circuit(x[:1])
    for found in (fast(x), exported(x)):
        assert_equal(found[:1], legal)
        assert torch.isnan(found[1:]).squeeze(-1).tolist() == [[False, True, True]] * len(bad)


def test_illegal_whole_numbers_give_nan_where_checks_cannot_run():
    torch.compiler.reset()
    fast = torch.compile(coins(), fullgraph=True, backend="eager")
    found = fast(torch.tensor([[0, 3, 2], [-1, 1, 2]]))
    assert torch.isnan(found).squeeze(-1).tolist() == [[False, True, False], [True, False, False]]


def test_an_illegal_count_gives_nan_where_checks_cannot_run():
    torch.compiler.reset()
    b = CircuitBuilder()
    layer = BinomialLayer(scope=(0,), num_output_units=1, total_count=3, probs=constant([0.5]))
    fast = torch.compile(compiled(b.build(b.add(layer))), fullgraph=True, backend="eager")
    found = fast(torch.tensor([[0.0], [4.0], [-1.0], [6.0], [0.5]]))
    assert torch.isnan(found).ravel().tolist() == [False, True, True, True, True]
