"""Products run at the levels below the circuit, and on the fast backends."""

import pytest
import torch

import explorer
from explorer.compiler import TorchCompiler
from explorer.symbolic import Circuit, CircuitBuilder, RearrangeLayer
from explorer.symbolic.operators import multiply
from explorer.templates.inputs import CategoricalInput


def product_with_every_operator() -> Circuit:
    """A product with rearranged and repeated units, and with the columns of weights in another order."""
    b, a = CircuitBuilder(), CircuitBuilder()
    x = [b.add(CategoricalInput(2)(v, 2)) for v in (0, 1)]
    one = b.build(b.sum(b.kronecker(*x), num_units=2))
    y = [a.add(CategoricalInput(2)(v, 2)) for v in (0, 1, 2)]
    inner = a.sum(a.hadamard(y[0], y[1]), num_units=3)
    other = a.build(a.hadamard(inner, a.sum(y[2], num_units=3)))
    return multiply(multiply(one, one), other)


def test_it_has_all_of_them():
    circuit = product_with_every_operator()
    found = {type(node).__name__ for _, p in circuit.parameters() for node in p.nodes()}
    assert found >= {"ReorderParameter", "KroneckerParameter"}
    assert any(isinstance(layer, RearrangeLayer) for layer in circuit.layers)


@pytest.mark.parametrize("level", ["program", pytest.param("tensor", marks=pytest.mark.fuzz)])
def test_a_product_has_its_value_at_every_step_below(level: str):
    circuit = product_with_every_operator()
    x = torch.tensor([[0, 1, 1], [1, 0, 1]])
    trace = explorer.record(circuit, level=level, batch_size=2)
    wanted = TorchCompiler(seed=0).compile(circuit)(x)
    for step in (trace.steps[0], trace.steps[-1]):
        torch.testing.assert_close(trace.circuit_at(step)(x), wanted)


@torch.no_grad()
def test_a_product_runs_on_the_kernels_with_a_certificate():
    circuit = TorchCompiler().compile(product_with_every_operator()).float()
    x = torch.tensor([[0, 1, 1], [1, 0, 1]])
    for backend in ("auto", "torch"):
        made = explorer.fast(circuit, backend=backend)
        torch.testing.assert_close(made(x), circuit(x))
        assert made.certificate is not None
