"""No backend loses the terms that a weight of zero, or tiny ones, hide: in no value, and in no gradient."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import explorer
from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.runtime import fast
from explorer.symbolic import CircuitBuilder, ConstantInitializer, GaussianLayer, TensorParameter, constant
from tests.lost_terms import CASES, OPERATORS, Case, relapse, small_weights, sums_of_small_weights, two_states
from tests.runtime.circuits import assert_equal, doubled, has_compiler, without_certificate

pytestmark = has_compiler
BACKENDS = ("native", "torch")

FORMS: dict[str, Callable[[TorchCircuit, str], nn.Module]] = {
    "trainable": lambda circuit, backend: fast(circuit, backend=backend),
    "frozen": lambda circuit, backend: fast(circuit.freeze(), backend=backend),
}


@torch.no_grad()
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_the_definition(name: str, backend: str, form: str):
    circuit, x, wanted = CASES[name]()
    made = FORMS[form](TorchCompiler().compile(circuit), backend)
    for rows in (x, np.tile(x, (40, 1)), x[:1]):
        found = made(torch.from_numpy(rows).float()).flatten()
        np.testing.assert_allclose(found, np.resize(wanted, len(rows)), rtol=2e-6)


@torch.no_grad()
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("gap", [60.0, 300.0])
def test_tiny_weights_of_consecutive_sums(gap: float, backend: str):
    circuit, x, wanted = small_weights(gap)
    made = fast(TorchCompiler().compile(circuit), backend=backend)
    np.testing.assert_allclose(made(torch.from_numpy(x).float()).flatten(), wanted, rtol=2e-6)


@torch.no_grad()
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("gap", [60.0, 300.0])
@pytest.mark.parametrize("name", OPERATORS)
def test_weights_that_an_operator_makes_tiny(name: str, gap: float, backend: str):
    circuit, x, wanted = sums_of_small_weights(OPERATORS[name](gap))
    for form in FORMS.values():
        made = form(TorchCompiler().compile(circuit).float(), backend)
        np.testing.assert_allclose(made(torch.from_numpy(x).float()).flatten(), wanted, rtol=2e-6)


@without_certificate
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: two_states(16.0),
        lambda: two_states(40.0),
        lambda: relapse(16),
        lambda: small_weights(60.0),
        lambda: small_weights(300.0),
    ],
)
def test_gradients_are_those_of_double_precision(make: Callable[[], Case], backend: str):
    circuit, x, _ = make()
    compiled = TorchCompiler().compile(circuit)
    exact, rows = doubled(compiled), torch.from_numpy(x).float()
    made = fast(compiled, backend=backend)
    for module, given in ((made, rows), (exact, rows.double())):
        module(given).sum().backward()
    assert_equal(made(rows), exact(rows.double()))
    for found, wanted in zip(compiled.parameters(), exact.parameters(), strict=True):
        if wanted.grad is not None:
            assert found.grad is not None
            close(found.grad, wanted.grad)


@pytest.mark.parametrize(("far", "kind"), [(12.0, "layers"), (30.0, "double"), (30.0, "fast")])
def test_a_weight_of_zero_whose_term_would_count_has_its_gradient(far: float, kind: str):
    """At x = 0, the root 0.5 u + 0.5 N(1, 1) of u = w N(0, 1) + N(far, 1) grows by exp(0.5) with w."""
    weight = TensorParameter((1, 2), initializer=ConstantInitializer([[0.0, 1.0]]), name="w")
    builder = CircuitBuilder()
    means = {"mean": constant([0.0, far]), "stddev": constant([1.0, 1.0])}
    near = {"mean": constant([1.0]), "stddev": constant([1.0])}
    inner = builder.sum(builder.add(GaussianLayer(scope=(0,), num_output_units=2, **means)), num_units=1, weight=weight)
    outer = builder.add(GaussianLayer(scope=(0,), num_output_units=1, **near))
    root = builder.sum(inner, outer, num_units=1, weight=constant([[0.5, 0.5]]))
    compiled = TorchCompiler().compile(builder.build(root))
    compiled = compiled.double() if kind == "double" else compiled
    made = fast(compiled, backend="native") if kind == "fast" else compiled
    made(torch.zeros(1, 1, dtype=torch.float64 if kind == "double" else torch.float32)).sum().backward()
    number, row = compiled.leaf_slots["w"]
    gradient = compiled.tensors[number].grad
    assert gradient is not None
    assert gradient[row][0, 0].item() == pytest.approx(np.exp(0.5), rel=1e-4)


def close(found: Tensor, wanted: Tensor) -> None:
    """Where single precision holds them."""
    held = wanted.abs() < 1e30
    torch.testing.assert_close(found.double()[held], wanted[held], rtol=1e-4, atol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("level", ["compiled", "kernels"])
def test_the_circuit_of_every_step_has_all_terms(level: str):
    circuit, x, wanted = two_states(40.0)
    trace = explorer.record(circuit, level=level)
    for step in range(len(trace.steps)):
        found = trace.circuit_at(step)(torch.from_numpy(x).float()).flatten()
        np.testing.assert_allclose(found, wanted, rtol=2e-6)
